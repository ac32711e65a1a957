//! How much memory a message takes while it is handled.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcpgen_types::codec::{Cursor, Document};

use crate::jsonrpc::json::Picked;

/// The memory of a message, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// The text and its index, which may be several times as large as the text.
    pub held: usize,
    /// An estimate of the decoded values, which exist in addition while the message is handled. Free-form JSON, such as
    /// a tool's arguments, counts as a copy of its text.
    pub decoded: usize,
}

/// Paths to the free-form JSON in a method's messages, such as `["arguments"]`. `"*"` matches every element of an
/// array. Such JSON stays text, so it takes less memory than decoded values.
#[derive(Clone, Copy, Debug, Default)]
pub struct FreeForm {
    /// Paths in the params.
    pub params: &'static [&'static [&'static str]],
    /// Paths in the result.
    pub result: &'static [&'static [&'static str]],
}

impl Memory {
    /// Estimates the memory of a message or batch. In a response, nothing counts as free-form; use
    /// [`of_response`](Self::of_response).
    pub(crate) fn of(document: &Document<'_>, free_form: &dyn Fn(&str) -> FreeForm) -> Self {
        let root = document.root();
        let estimate = root.decoded_bytes();
        // Most messages are small, and looking for free-form JSON in them costs more than it saves.
        let surplus = match (estimate > SMALL).then(|| root.elements()) {
            None => 0,
            Some(Ok(messages)) => messages.map(|it| free_form_surplus(it, free_form)).sum(),
            Some(Err(_)) => free_form_surplus(root, free_form),
        };
        Self { held: document.owned_bytes(), decoded: estimate.saturating_sub(surplus) }
    }

    /// Estimates the memory of a response. It does not name its method, so `free_form` has to be passed.
    pub(crate) fn of_response(document: &Document<'_>, free_form: FreeForm) -> Self {
        let root = document.root();
        let [result] = Picked::values(root, &["result"]);
        let surplus = result.map_or(0, |result| surplus(result, free_form.result));
        Self { held: document.owned_bytes(), decoded: root.decoded_bytes().saturating_sub(surplus) }
    }

    /// Returns `held` plus `decoded`.
    #[must_use]
    pub fn total(self) -> usize {
        self.held.saturating_add(self.decoded)
    }
}

/// Estimates up to this size, in bytes, are used without looking for free-form JSON.
const SMALL: usize = 16 << 10;

/// Returns how much [`Cursor::decoded_bytes`] overestimates the free-form JSON in a request or notification.
fn free_form_surplus(message: Cursor<'_>, free_form: &dyn Fn(&str) -> FreeForm) -> usize {
    let [method, params] = Picked::values(message, &["method", "params"]);
    let method = method.and_then(Cursor::as_str);
    method.zip(params).map_or(0, |(method, params)| surplus(params, free_form(&method).params))
}

fn surplus(value: Cursor<'_>, paths: &[&[&str]]) -> usize {
    paths.iter().map(|path| surplus_at(value, path)).sum()
}

fn surplus_at(value: Cursor<'_>, path: &[&str]) -> usize {
    let Some((segment, below)) = path.split_first() else {
        return value.decoded_bytes().saturating_sub(value.range().len());
    };
    match *segment {
        "*" => value.elements().into_iter().flatten().map(|element| surplus_at(element, below)).sum(),
        name => {
            let members = value.members().into_iter().flatten();
            members
                .filter(|(key, _)| key.as_str().as_deref() == Some(name))
                .map(|(_, value)| surplus_at(value, below))
                .sum()
        }
    }
}

/// Memory that counts toward a connection's total until dropped.
#[derive(Debug)]
pub(crate) struct TakenMemory {
    total: Arc<AtomicUsize>,
    bytes: usize,
}

impl TakenMemory {
    pub(crate) fn new(total: &Arc<AtomicUsize>, bytes: usize) -> Self {
        total.fetch_add(bytes, Ordering::Relaxed);
        Self { total: Arc::clone(total), bytes }
    }
}

impl Drop for TakenMemory {
    fn drop(&mut self) {
        self.total.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Memory for decoded arguments. Counts toward the transport's budget and the connection's total until dropped.
#[derive(Debug)]
pub struct DecodedMemory {
    pub(crate) _of_connection: Option<TakenMemory>,
    pub(crate) _of_transport: Option<TransportMemory>,
}

/// A share of a transport's budget, released when dropped.
#[derive(Debug)]
pub struct TransportMemory {
    budget: TransportBudget,
    bytes: usize,
}

impl Drop for TransportMemory {
    fn drop(&mut self) {
        self.budget.0.release(self.bytes);
    }
}

/// A transport's budget, which the transport attaches to a message's [extensions](super::Inbound::extensions).
#[derive(Clone)]
pub struct TransportBudget(pub Arc<dyn MessageBudget>);

impl TransportBudget {
    /// Takes memory for a message. Returns `None` if the budget does not allow it.
    #[must_use]
    pub fn take(&self, bytes: usize) -> Option<TransportMemory> {
        self.0.take(bytes).then(|| TransportMemory { budget: self.clone(), bytes })
    }
}

impl fmt::Debug for TransportBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportBudget").finish_non_exhaustive()
    }
}

/// A budget from which messages take memory while they are handled.
pub trait MessageBudget: Send + Sync {
    /// Takes memory if the budget allows it or no other message holds any. Returns whether it did.
    fn take(&self, bytes: usize) -> bool;

    /// Releases memory that was taken.
    fn release(&self, bytes: usize);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_form_json_counts_as_its_text() {
        let load = format!("[{}]", vec![r#"{"a":0}"#; 1000].join(","));
        let request =
            |method: &str, params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let arguments = format!(r#"{{"name":"a","arguments":{load}}}"#);
        let schemas = format!(r#"[{{"name":"a","input":{{"x":{load}}}}},{{"name":"b","output":{load}}}]"#);
        let free_form = |method: &str| match method {
            "call" => FreeForm { params: &[&["arguments"]], result: &[&["structured"]] },
            "list" => FreeForm { params: &[], result: &[&["all", "*", "input"], &["all", "*", "output"]] },
            _ => FreeForm::default(),
        };
        let table: [(String, Option<&str>, bool); 9] = [
            (request("call", &arguments), None, true),
            (format!("[{},1]", request("call", &arguments)), None, true),
            (request("call", &format!(r#"{{"name":"a","other":{load}}}"#)), None, false),
            (request("list", &arguments), None, false),
            (request("other", &arguments), None, false),
            (format!(r#"{{"id":1,"result":{{"structured":{load}}}}}"#), Some("call"), true),
            (format!(r#"{{"id":1,"result":{{"content":{load}}}}}"#), Some("call"), false),
            (format!(r#"{{"id":1,"result":{{"all":{schemas}}}}}"#), Some("list"), true),
            (format!(r#"{{"id":1,"result":{{"all":{schemas}}}}}"#), Some("other"), false),
        ];
        for (text, response_to, is_free_form) in table {
            let document = Document::read(&*text).expect("JSON");
            let memory = match response_to {
                Some(method) => Memory::of_response(&document, free_form(method)),
                None => Memory::of(&document, &free_form),
            };
            assert_eq!(memory.held, document.owned_bytes());
            let estimate = document.root().decoded_bytes();
            let shown = text.get(..80).unwrap_or(&text);
            match is_free_form {
                true => assert!((text.len() - 100..text.len() + 2000).contains(&memory.decoded), "{shown}: {memory:?}"),
                false => assert_eq!(memory.decoded, estimate, "{shown}"),
            }
        }
    }
}
