//! Reads selected members from the params of any request, without decoding the rest.

use std::sync::Arc;

use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_types::codec::{Cursor, Decode};
use mcpgen_types::{Json, JsonObject};

use crate::protocol::input_requests::InputByKey;
use crate::protocol::methods::subject_member;

/// The members that transports and rules read from params. Absent or invalid members are skipped here, and reported
/// when the params are decoded.
#[derive(Clone, Copy, Debug)]
pub struct RequestView<'p> {
    /// The metadata of the request.
    pub meta: Option<Cursor<'p>>,
    /// The name of a tool or prompt, or the URI of a resource. `None` for methods that use these members for something
    /// else.
    pub subject: Option<Cursor<'p>>,
    /// The ID of a task.
    pub task_id: Option<Cursor<'p>>,
    /// The arguments of a tool or prompt.
    pub arguments: Option<Cursor<'p>>,
    input_responses: Option<Cursor<'p>>,
    request_state: Option<Cursor<'p>>,
}

impl<'p> RequestView<'p> {
    /// Reads the params of a message.
    #[must_use]
    pub fn of(method: &str, params: Cursor<'p>) -> Self {
        const NAMES: [&str; 7] = ["_meta", "name", "uri", "taskId", "arguments", "inputResponses", "requestState"];
        let [meta, name, uri, task_id, arguments, input_responses, request_state] = Picked::values(params, &NAMES);
        let subject = match (name, uri) {
            (None, None) => None,
            _ => match subject_member(method) {
                Some("name") => name,
                Some(_) => uri,
                None => None,
            },
        };
        Self { meta, subject, task_id, arguments, input_responses, request_state }
    }
}

/// The params that a request's context keeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParamsView {
    pub(crate) meta: Arc<JsonObject>,
    /// The name of a tool or prompt, or the URI of a resource.
    pub(crate) subject: Option<Arc<str>>,
    /// The input for the next round. Boxed because few requests have it.
    pub(crate) round: Option<Box<Round>>,
}

/// A client's input for the next round of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    /// The member `inputResponses`.
    pub(crate) responses: InputByKey,
    /// The member `requestState`.
    pub(crate) state: Option<String>,
}

impl ParamsView {
    /// Skips absent and invalid members, which are reported when the params are decoded.
    pub(crate) fn at(method: &str, params: Option<&Json>, interner: &mut ParamsInterner) -> Self {
        let params_view = params.and_then(|params| params.read(|params| Self::of(method, params, interner)).ok());
        params_view.unwrap_or_else(|| Self { meta: interner.meta(None), ..Self::default() })
    }

    fn of(method: &str, params: Cursor<'_>, interner: &mut ParamsInterner) -> Self {
        let RequestView { meta, subject, input_responses: responses, request_state: state, .. } =
            RequestView::of(method, params);
        let round = || {
            let responses = responses.and_then(|responses| InputByKey::decode(responses).ok());
            Box::new(Round { responses: responses.unwrap_or_default(), state: state.and_then(|it| it.string().ok()) })
        };
        Self {
            meta: interner.meta(meta),
            subject: subject.and_then(Cursor::as_str).map(|subject| interner.subject(&subject)),
            round: (responses.is_some() || state.is_some()).then(round),
        }
    }
}

fn object(json: Cursor<'_>) -> Option<JsonObject> {
    JsonObject::decode(json).ok()
}

/// Reuses values of earlier messages, which saves allocations.
#[derive(Debug, Default)]
pub(crate) struct ParamsInterner {
    subjects: Vec<Arc<str>>,
    /// The last `_meta`, as text and decoded.
    meta: Option<(Box<str>, Arc<JsonObject>)>,
    nothing: Arc<JsonObject>,
}

/// The maximum number of targets to keep.
const SUBJECTS: usize = 32;
/// The maximum length of a target or `_meta` to keep, in bytes.
const LONGEST: usize = 2048;

impl ParamsInterner {
    fn subject(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.subjects.iter().find(|known| &***known == text) {
            return Arc::clone(known);
        }
        let subject = Arc::<str>::from(text);
        if text.len() <= LONGEST {
            if self.subjects.len() == SUBJECTS {
                self.subjects.clear();
            }
            self.subjects.push(Arc::clone(&subject));
        }
        subject
    }

    fn meta(&mut self, json: Option<Cursor<'_>>) -> Arc<JsonObject> {
        let Some(json) = json else { return Arc::clone(&self.nothing) };
        if let Some((_, known)) = self.meta.as_ref().filter(|(text, _)| **text == *json.text()) {
            return Arc::clone(known);
        }
        let Some(meta) = object(json).map(Arc::new) else { return Arc::clone(&self.nothing) };
        if json.text().len() <= LONGEST {
            self.meta = Some((json.text().into(), Arc::clone(&meta)));
        }
        meta
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn view(params: &serde_json::Value, interner: &mut ParamsInterner) -> ParamsView {
        ParamsView::at("tools/call", Some(&Json::from(params)), interner)
    }

    #[test]
    fn reuses_equal_values() {
        let interner = &mut ParamsInterner::default();
        let params = |name: &str, token: u32| json!({ "name": name, "_meta": { "progressToken": token } });
        let first = view(&params("a", 1), interner);
        let again = view(&params("a", 1), interner);
        assert!(Arc::ptr_eq(&first.meta, &again.meta));
        assert!(first.subject.zip(again.subject).is_some_and(|(first, again)| Arc::ptr_eq(&first, &again)));
        let other = view(&params("b", 2), interner);
        assert_eq!((other.subject.as_deref(), other.meta.text()), (Some("b"), r#"{"progressToken":2}"#));
        let without = view(&json!({ "name": "a" }), interner);
        assert_eq!((without.subject.as_deref(), without.meta.len()), (Some("a"), 0));
        assert_eq!(view(&json!({ "_meta": 5 }), interner).meta.len(), 0);
    }

    #[test]
    fn limits_what_it_caches() {
        let interner = &mut ParamsInterner::default();
        let long = "x".repeat(LONGEST + 1);
        for number in 0..1000 {
            let name = format!("{number}{}", if number % 2 == 0 { &long } else { "" });
            let params_view = view(&json!({ "name": name, "_meta": { "long": long } }), interner);
            assert_eq!(params_view.subject.as_deref(), Some(&*name));
            assert_eq!(*params_view.meta, json!({ "long": long }));
        }
        assert!(
            interner.subjects.len() <= SUBJECTS && interner.subjects.iter().all(|subject| subject.len() <= LONGEST)
        );
        assert!(interner.meta.is_none());
    }
}
