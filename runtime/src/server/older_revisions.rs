//! Converts values of the newest revision to older revisions.
//!
//! Members that an older revision lacks are removed. Values that it cannot express are errors.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

use mcpgen_types::codec::{Elements, Encode, Members, Node, Object};
use mcpgen_types::{ErrorCode, ErrorObject, JsonObject, RawJson, Revision, Value};

use crate::service::context::Context;

/// A value cannot be expressed in a revision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revision {revision} does not support {what}")]
pub(crate) struct UnsupportedValue {
    revision: &'static str,
    what: &'static str,
}

/// A kind of object: the members that later revisions added, and the members that contain such objects.
struct Shape(&'static [(&'static str, Since, Inside)]);

/// The revision that introduced a member.
type Since = Revision;

/// The content of a member.
#[derive(Clone, Copy)]
enum Inside {
    Anything,
    /// One object, or an array of objects.
    Of(&'static Shape),
}

use Inside::{Anything, Of};

const V1: Revision = Revision::V2024_11_05;
const V2: Revision = Revision::V2025_03_26;
const V3: Revision = Revision::V2025_06_18;
const V4: Revision = Revision::V2025_11_25;
const V5: Revision = Revision::V2026_07_28;

static TOOL: Shape = Shape(&[
    ("_meta", V3, Anything),
    ("title", V3, Anything),
    ("outputSchema", V3, Anything),
    ("annotations", V2, Anything),
    ("icons", V4, Anything),
    ("execution", V4, Anything),
]);
static ANNOTATIONS: Shape = Shape(&[("lastModified", V3, Anything)]);
static RESOURCE: Shape = Shape(&[
    ("_meta", V3, Anything),
    ("title", V3, Anything),
    ("icons", V4, Anything),
    ("annotations", V1, Of(&ANNOTATIONS)),
]);
static CONTENTS: Shape = Shape(&[("_meta", V3, Anything)]);
/// Content types that later revisions introduced.
static NEW_CONTENT: [(&str, Since, &str); 4] = [
    ("audio", V2, "content of type `audio`"),
    ("resource_link", V3, "content of type `resource_link`"),
    ("tool_use", V4, "content of type `tool_use`"),
    ("tool_result", V4, "content of type `tool_result`"),
];
/// Content of any type.
static CONTENT: Shape = Shape(&[
    ("_meta", V3, Anything),
    ("annotations", V1, Of(&ANNOTATIONS)),
    ("resource", V1, Of(&CONTENTS)),
    ("title", V3, Anything),
    ("icons", V4, Anything),
]);
static ARGUMENT: Shape = Shape(&[("title", V3, Anything)]);
static PROMPT: Shape = Shape(&[
    ("_meta", V3, Anything),
    ("title", V3, Anything),
    ("icons", V4, Anything),
    ("arguments", V1, Of(&ARGUMENT)),
]);
static MESSAGE: Shape = Shape(&[("content", V1, Of(&CONTENT))]);
static SAMPLING: Shape = Shape(&[("messages", V1, Of(&MESSAGE))]);

/// A kind of result. Every result of the newest revision has the first three members.
macro_rules! result {
    ($($member:literal, $since:expr, $inside:expr);* $(;)?) => {
        Shape(&[
            ("resultType", V5, Anything),
            ("ttlMs", V5, Anything),
            ("cacheScope", V5, Anything),
            $(($member, $since, $inside)),*
        ])
    };
}

/// A result without members that later revisions added.
static PLAIN: Shape = result! {};
static RESULTS: &[(&str, Shape)] = &[
    ("tools/list", result! { "tools", V1, Of(&TOOL) }),
    ("tools/call", result! { "content", V1, Of(&CONTENT); "structuredContent", V3, Anything }),
    ("resources/list", result! { "resources", V1, Of(&RESOURCE) }),
    ("resources/templates/list", result! { "resourceTemplates", V1, Of(&RESOURCE) }),
    ("resources/read", result! { "contents", V1, Of(&CONTENTS) }),
    ("prompts/list", result! { "prompts", V1, Of(&PROMPT) }),
    ("prompts/get", result! { "messages", V1, Of(&MESSAGE) }),
    ("completion/complete", result! {}),
];

/// Encodes a result for the revision of the request.
///
/// # Errors
///
/// The revision does not support the result's `resultType` or content.
pub(super) fn encode<T: Encode>(context: &Context, value: &T) -> Result<RawJson, ErrorObject> {
    if !context.revision().is_legacy() {
        return Ok(RawJson::from(value));
    }
    result(context.method(), context.revision(), value).map_err(|error| {
        tracing::warn!(method = context.method(), %error, "the revision of the request cannot express the result");
        ErrorObject::new(ErrorCode::INTERNAL_ERROR, error.to_string())
    })
}

/// Converts a result to a revision.
///
/// # Errors
///
/// The revision does not support the result's `resultType` or content.
pub(crate) fn result<T: Encode>(method: &str, revision: Revision, result: &T) -> Result<RawJson, UnsupportedValue> {
    let kind = RESULTS.iter().find(|(known, _)| *known == method).map_or(&PLAIN, |(_, kind)| kind);
    let converter = Converter::of(revision);
    // Raw JSON has to be decoded before its members can be filtered.
    let decoded = match result.encode() {
        Node::Json(result) => mcpgen_types::from_str::<Value>(result).ok(),
        _ => None,
    };
    let node = decoded.as_ref().map_or_else(|| result.encode(), Encode::encode);
    converter.finish(RawJson::from(&converter.filtered(node, kind)))
}

/// Records unsupported values while a value is written.
struct Converter {
    revision: Revision,
    unsupported: Cell<Option<&'static str>>,
}

impl Converter {
    fn of(revision: Revision) -> Self {
        Self { revision, unsupported: Cell::new(None) }
    }

    /// Wraps a value so that it is written without the members that the revision lacks.
    fn filtered<'a>(&'a self, node: Node<'a>, kind: &'static Shape) -> Filtered<'a> {
        match node {
            Node::Object(object) => {
                if std::ptr::eq(kind, &raw const CONTENT) {
                    self.check_content(object);
                }
                Filtered::Object(Filter { object, kind, converter: self })
            }
            node => Filtered::Else(node),
        }
    }

    fn check_content(&self, content: &dyn Object) {
        let new = NEW_CONTENT.iter().filter(|(_, since, _)| self.revision < *since);
        for (name, _, what) in new {
            if has(content, "type", |kind| is_text(kind, name)) {
                self.unsupported.set(Some(what));
            }
        }
    }

    /// Returns `written` if the revision supports all of it.
    fn finish<T>(&self, written: T) -> Result<T, UnsupportedValue> {
        self.unsupported
            .get()
            .map_or(Ok(written), |what| Err(UnsupportedValue { revision: self.revision.as_str(), what }))
    }
}

/// A value, filtered for a revision.
enum Filtered<'a> {
    Object(Filter<'a>),
    Else(Node<'a>),
}

impl Encode for Filtered<'_> {
    fn encode(&self) -> Node<'_> {
        match self {
            Self::Object(filter) => Node::Object(filter),
            Self::Else(node) => *node,
        }
    }
}

/// An object that is written without the members that the revision lacks.
struct Filter<'a> {
    object: &'a dyn Object,
    kind: &'static Shape,
    converter: &'a Converter,
}

impl Object for Filter<'_> {
    fn members(&self, out: &mut Members<'_>) {
        self.object.members(&mut Members::new(&mut |name, node| self.member(name, node, out)));
    }
}

impl Filter<'_> {
    fn member(&self, name: &str, node: Node<'_>, out: &mut Members<'_>) {
        let Some((_, since, inside)) = self.kind.0.iter().find(|(known, ..)| *known == name) else {
            return out.node(name, node);
        };
        if name == "resultType" && is_text(node, "input_required") {
            self.converter.unsupported.set(Some("results of type `input_required`"));
        }
        if self.converter.revision < *since || !is_allowed(name, node, self.converter.revision) {
            return;
        }
        match (inside, node) {
            (Anything, node) => out.node(name, node),
            (Of(kind), Node::Array(elements)) if !elements.is_empty() => {
                let filtered = |index| self.converter.filtered(elements.element(index), kind);
                let each = Each { first: filtered(0), others: (1..elements.len()).map(filtered).collect() };
                out.node(name, Node::Array(&each));
            }
            (Of(kind), node) => out.member(name, &self.converter.filtered(node, kind)),
        }
    }
}

/// Array elements, filtered for a revision. Most arrays have one element, which is stored without an allocation.
struct Each<'a> {
    first: Filtered<'a>,
    others: Vec<Filtered<'a>>,
}

impl Elements for Each<'_> {
    fn len(&self) -> usize {
        1 + self.others.len()
    }

    fn element(&self, index: usize) -> Node<'_> {
        index.checked_sub(1).map_or(&self.first, |index| &self.others[index]).encode()
    }
}

/// Returns whether a revision that has the member allows this value.
///
/// Before 2026-07-28, `structuredContent` has to be an object, and `outputSchema` a schema of type `object`.
fn is_allowed(name: &str, node: Node<'_>, revision: Revision) -> bool {
    match (name, node) {
        ("structuredContent" | "outputSchema", _) if revision >= V5 => true,
        ("structuredContent", node) => matches!(node, Node::Object(_)),
        ("outputSchema", Node::Object(schema)) => has(schema, "type", |kind| is_text(kind, "object")),
        ("outputSchema", _) => false,
        _ => true,
    }
}

/// Returns whether an object has the member `wanted` with a value that matches `is_such`.
fn has(object: &dyn Object, wanted: &str, is_such: impl Fn(Node<'_>) -> bool) -> bool {
    let mut found = false;
    object.members(&mut Members::new(&mut |name, node| found |= name == wanted && is_such(node)));
    found
}

fn is_text(node: Node<'_>, wanted: &str) -> bool {
    matches!(node, Node::Str(text) if text == wanted)
}

/// Converts the params of a server's request to a revision, in which servers must be able to send requests.
///
/// # Errors
///
/// The revision does not support the method, or a part of its params.
pub(crate) fn params(method: &str, revision: Revision, mut params: JsonObject) -> Result<JsonObject, UnsupportedValue> {
    let cannot = |what| Err(UnsupportedValue { revision: revision.as_str(), what });
    match method {
        "elicitation/create" if revision < V3 => cannot("`elicitation/create`"),
        "elicitation/create" => {
            let url = params.get("mode").is_some_and(|mode| mode == "url");
            match url {
                true if revision < V4 => return cannot("mode `url` in `elicitation/create`"),
                // The server would use this ID to notify the client of the completion, which this runtime does not
                // do. A random ID is enough.
                true => drop(params.entry("elicitationId").or_insert_with(|| random_id().into())),
                false if revision < V4 => {
                    params.remove("mode");
                    let asked = params.get("requestedSchema").and_then(|schema| schema.get("properties"));
                    let is_new = |asked: &Value| {
                        asked.get("type").is_some_and(|kind| kind == "array") || asked.get("oneOf").is_some()
                    };
                    if asked.and_then(Value::as_object).is_some_and(|asked| asked.values().any(is_new)) {
                        return cannot("multi-select or titled choices in `elicitation/create`");
                    }
                }
                false => {}
            }
            Ok(params)
        }
        "sampling/createMessage" => {
            let tools = ["tools", "toolChoice"].into_iter().any(|name| params.contains_key(name));
            let several = params.get("messages").and_then(Value::as_array).into_iter().flatten();
            let several = several.into_iter().any(|message| message.get("content").is_some_and(Value::is_array));
            if revision < V4 && (tools || several) {
                return cannot("tools or multiple content blocks in `sampling/createMessage`");
            }
            let converter = Converter::of(revision);
            let filtered = mcpgen_types::to_value(&converter.filtered(Node::Object(&params), &SAMPLING));
            match converter.finish(filtered)? {
                Ok(Value::Object(filtered)) => Ok(filtered),
                _ => Ok(params),
            }
        }
        _ => Ok(params),
    }
}

fn random_id() -> String {
    // The ID need not be secret, so the random keys of hash maps are enough.
    let random = || RandomState::new().hash_one(());
    format!("{:016x}{:016x}", random(), random())
}
