//! Finds out what a request does, and so which scopes it needs.

use std::fmt;

use mcpgen_sdk::jsonrpc::envelope::{Frame, MOST_IN_BATCH};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) method: String,
    pub(super) subject: Option<String>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default)]
    params: Option<Params<'a>>,
}

/// The members stay text, because a tree of values would take many times as much memory.
#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
}

/// Returns the operations in a message or batch. Fails if the body is not JSON-RPC, or if a relevant member occurs
/// twice.
pub(super) fn operations(body: &[u8]) -> Result<Vec<Operation>, serde_json::Error> {
    let messages = match Frame::is_batch(body) {
        true => serde_json::from_slice::<Batch<'_>>(body)?.0,
        false => vec![serde_json::from_slice(body)?],
    };
    let operation = |message: Message<'_>| {
        let subject = message.params.and_then(|params| params.name.or(params.uri));
        let subject = subject.and_then(|subject| serde_json::from_str(subject.get()).ok());
        Some(Operation { method: message.method?, subject })
    };
    Ok(messages.into_iter().filter_map(operation).collect())
}

/// A batch of at most [`MOST_IN_BATCH`] messages. Reading a longer one fails: the endpoint would reject it anyway.
struct Batch<'a>(Vec<Message<'a>>);

impl<'de> Deserialize<'de> for Batch<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Messages)
    }
}

struct Messages;

impl<'de> Visitor<'de> for Messages {
    type Value = Batch<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {MOST_IN_BATCH} messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Batch<'de>, A::Error> {
        let mut messages = Vec::new();
        while let Some(message) = list.next_element()? {
            if messages.len() == MOST_IN_BATCH {
                return Err(A::Error::invalid_length(MOST_IN_BATCH + 1, &self));
            }
            messages.push(message);
        }
        Ok(Batch(messages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_operations_of_messages() {
        let long = |count| format!("[{}]", vec![r#"{"method":"a"}"#; count].join(","));
        // The body, and each method with its target; `None` for an error.
        type Row = (&'static str, Option<&'static [(&'static str, Option<&'static str>)]>);
        let table: &[Row] = &[
            (r#"{"method":"tools/call","params":{"name":"a","uri":"b"}}"#, Some(&[("tools/call", Some("a"))])),
            (r#"{"method":"resources/read","params":{"uri":"b"}}"#, Some(&[("resources/read", Some("b"))])),
            (r#"{"\u006dethod":"tools\/call","params":{"n\u0061me":"\u0061"}}"#, Some(&[("tools/call", Some("a"))])),
            (r#"{"method":"a","params":{"name":{"b":[1]},"uri":"c"}}"#, Some(&[("a", None)])),
            (r#"{"method":"a","params":{"name":null,"uri":"c"}}"#, Some(&[("a", Some("c"))])),
            (r#" [{"method":"a"},{"result":{}},{"method":"b"}]"#, Some(&[("a", None), ("b", None)])),
            (r#"{"id":1,"result":{"method":"a"}}"#, Some(&[])),
            (r#"{"method":"a","method":"b"}"#, None),
            (r#"{"method":"a","params":{},"params":{"name":"b"}}"#, None),
            (r#"{"method":"a","params":{"name":"a","n\u0061me":"b"}}"#, None),
            (r#"{"method":1}"#, None),
            (r#"{"method":"a"} {"method":"b"}"#, None),
            ("\u{feff}{}", None),
            ("[[]", None),
            ("", None),
        ];
        for (body, expected) in table {
            let found = operations(body.as_bytes()).ok();
            let found = found.as_ref().map(|found| {
                found.iter().map(|found| (found.method.as_str(), found.subject.as_deref())).collect::<Vec<_>>()
            });
            assert_eq!(found.as_deref(), *expected, "{body}");
        }
        assert_eq!(operations(long(MOST_IN_BATCH).as_bytes()).expect("a batch").len(), MOST_IN_BATCH);
        assert!(operations(long(MOST_IN_BATCH + 1).as_bytes()).is_err());
    }
}
