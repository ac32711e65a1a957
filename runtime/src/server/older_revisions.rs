//! What the newest revision says, in the words of older ones: what they lack is left out, and what they cannot say is
//! refused.

use std::cell::Cell;

use mcpgen_types::codec::{Elements, Encode, Members, Node, Object};
use mcpgen_types::{JsonObject, RawJson, Revision, Value};

/// What a revision cannot say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revision {revision} cannot say {what}")]
pub(crate) struct Unsaid {
    revision: &'static str,
    what: &'static str,
}

/// A kind of object: its members that were not always there, and those that have such members themselves.
struct Kind(&'static [(&'static str, Since, Inside)]);

/// The revision that a member came with.
type Since = Revision;

/// What stands in a member.
#[derive(Clone, Copy)]
enum Inside {
    Anything,
    /// By itself, or in an array.
    Of(&'static Kind),
}

use Inside::{Anything, Of};

const V1: Revision = Revision::V2024_11_05;
const V2: Revision = Revision::V2025_03_26;
const V3: Revision = Revision::V2025_06_18;
const V4: Revision = Revision::V2025_11_25;
const V5: Revision = Revision::V2026_07_28;

static TOOL: Kind = Kind(&[
    ("_meta", V3, Anything),
    ("title", V3, Anything),
    ("outputSchema", V3, Anything),
    ("annotations", V2, Anything),
    ("icons", V4, Anything),
    ("execution", V4, Anything),
]);
static ANNOTATIONS: Kind = Kind(&[("lastModified", V3, Anything)]);
static RESOURCE: Kind = Kind(&[
    ("_meta", V3, Anything),
    ("title", V3, Anything),
    ("icons", V4, Anything),
    ("annotations", V1, Of(&ANNOTATIONS)),
]);
static CONTENTS: Kind = Kind(&[("_meta", V3, Anything)]);
/// Content that was not always there, by its type.
static NEW_CONTENT: [(&str, Since, &str); 4] = [
    ("audio", V2, "content of type `audio`"),
    ("resource_link", V3, "content of type `resource_link`"),
    ("tool_use", V4, "content of type `tool_use`"),
    ("tool_result", V4, "content of type `tool_result`"),
];
/// Of whichever type.
static CONTENT: Kind = Kind(&[
    ("_meta", V3, Anything),
    ("annotations", V1, Of(&ANNOTATIONS)),
    ("resource", V1, Of(&CONTENTS)),
    ("title", V3, Anything),
    ("icons", V4, Anything),
]);
static ARGUMENT: Kind = Kind(&[("title", V3, Anything)]);
static PROMPT: Kind = Kind(&[
    ("_meta", V3, Anything),
    ("title", V3, Anything),
    ("icons", V4, Anything),
    ("arguments", V1, Of(&ARGUMENT)),
]);
static MESSAGE: Kind = Kind(&[("content", V1, Of(&CONTENT))]);
static SAMPLING: Kind = Kind(&[("messages", V1, Of(&MESSAGE))]);

/// What every result of the newest revision says.
macro_rules! result {
    ($($member:literal, $since:expr, $inside:expr);* $(;)?) => {
        Kind(&[
            ("resultType", V5, Anything),
            ("ttlMs", V5, Anything),
            ("cacheScope", V5, Anything),
            $(($member, $since, $inside)),*
        ])
    };
}

/// A result whose members have always been there.
static PLAIN: Kind = result! {};
static RESULTS: &[(&str, Kind)] = &[
    ("tools/list", result! { "tools", V1, Of(&TOOL) }),
    ("tools/call", result! { "content", V1, Of(&CONTENT); "structuredContent", V3, Anything }),
    ("resources/list", result! { "resources", V1, Of(&RESOURCE) }),
    ("resources/templates/list", result! { "resourceTemplates", V1, Of(&RESOURCE) }),
    ("resources/read", result! { "contents", V1, Of(&CONTENTS) }),
    ("prompts/list", result! { "prompts", V1, Of(&PROMPT) }),
    ("prompts/get", result! { "messages", V1, Of(&MESSAGE) }),
    ("completion/complete", result! {}),
];

/// A result as a revision has it.
pub(crate) fn result<T: Encode>(method: &str, revision: Revision, result: &T) -> Result<RawJson, Unsaid> {
    let kind = RESULTS.iter().find(|(known, _)| *known == method).map_or(&PLAIN, |(_, kind)| kind);
    let words = Words::of(revision);
    // A value that is not decoded has its members inside.
    let decoded = match result.encode() {
        Node::Json(result) => mcpgen_types::from_str::<Value>(result).ok(),
        _ => None,
    };
    let node = decoded.as_ref().map_or_else(|| result.encode(), Encode::encode);
    words.said(RawJson::from(&words.fitted(node, kind)))
}

/// What a revision has no words for is noted while a value is written.
struct Words {
    revision: Revision,
    unsaid: Cell<Option<&'static str>>,
}

impl Words {
    fn of(revision: Revision) -> Self {
        Self { revision, unsaid: Cell::new(None) }
    }

    /// A value that is written without what the revision lacks.
    fn fitted<'a>(&'a self, node: Node<'a>, kind: &'static Kind) -> Fitted<'a> {
        match plain(node) {
            Node::Object(object) => {
                if std::ptr::eq(kind, &raw const CONTENT) {
                    self.check_content(object);
                }
                Fitted::Object(Filter { object, kind, words: self })
            }
            node => Fitted::Else(node),
        }
    }

    fn check_content(&self, content: &dyn Object) {
        let new = NEW_CONTENT.iter().filter(|(_, since, _)| self.revision < *since);
        for (name, _, what) in new {
            if has(content, "type", |kind| is_text(kind, name)) {
                self.unsaid.set(Some(what));
            }
        }
    }

    /// What was written, if all of it could be said.
    fn said<T>(&self, written: T) -> Result<T, Unsaid> {
        self.unsaid.get().map_or(Ok(written), |what| Err(Unsaid { revision: self.revision.as_str(), what }))
    }
}

/// A value in the words of a revision.
enum Fitted<'a> {
    Object(Filter<'a>),
    Else(Node<'a>),
}

impl Encode for Fitted<'_> {
    fn encode(&self) -> Node<'_> {
        match self {
            Self::Object(filter) => Node::Object(filter),
            Self::Else(node) => *node,
        }
    }
}

/// An object without the members that a revision lacks.
struct Filter<'a> {
    object: &'a dyn Object,
    kind: &'static Kind,
    words: &'a Words,
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
            self.words.unsaid.set(Some("that it needs input, in an answer"));
        }
        if self.words.revision < *since || !may_be(name, node, self.words.revision) {
            return;
        }
        match (inside, plain(node)) {
            (Anything, node) => out.node(name, node),
            (Of(kind), Node::Array(elements)) if !elements.is_empty() => {
                let fitted = |index| self.words.fitted(elements.element(index), kind);
                let each = Each { first: fitted(0), others: (1..elements.len()).map(fitted).collect() };
                out.node(name, Node::Array(&each));
            }
            (Of(kind), node) => out.member(name, &self.words.fitted(node, kind)),
        }
    }
}

/// Elements in the words of a revision. There is mostly one, which takes no memory of its own.
struct Each<'a> {
    first: Fitted<'a>,
    others: Vec<Fitted<'a>>,
}

impl Elements for Each<'_> {
    fn len(&self) -> usize {
        1 + self.others.len()
    }

    fn element(&self, index: usize) -> Node<'_> {
        index.checked_sub(1).map_or(&self.first, |index| &self.others[index]).encode()
    }
}

/// Whether a revision that has a member has it with this value. Objects were all that there was.
fn may_be(name: &str, node: Node<'_>, revision: Revision) -> bool {
    match (name, plain(node)) {
        ("structuredContent" | "outputSchema", _) if revision >= V5 => true,
        ("structuredContent", node) => matches!(node, Node::Object(_)),
        ("outputSchema", Node::Object(schema)) => has(schema, "type", |kind| is_text(kind, "object")),
        ("outputSchema", _) => false,
        _ => true,
    }
}

/// Arrays and objects of serde_json's are arrays and objects.
fn plain(node: Node<'_>) -> Node<'_> {
    match node {
        Node::Value(Value::Array(elements)) => Node::Array(elements),
        Node::Value(Value::Object(object)) => Node::Object(object),
        node => node,
    }
}

/// Whether an object has such a member.
fn has(object: &dyn Object, wanted: &str, is_such: impl Fn(Node<'_>) -> bool) -> bool {
    let mut found = false;
    object.members(&mut Members::new(&mut |name, node| found |= name == wanted && is_such(node)));
    found
}

fn is_text(node: Node<'_>, wanted: &str) -> bool {
    match node {
        Node::Str(text) => text == wanted,
        Node::Value(value) => value == wanted,
        _ => false,
    }
}

/// The params of a request to the client, as a revision with such requests has them.
pub(crate) fn params(method: &str, revision: Revision, mut params: JsonObject) -> Result<JsonObject, Unsaid> {
    let cannot = |what| Err(Unsaid { revision: revision.as_str(), what });
    match method {
        "elicitation/create" if revision < V3 => cannot("`elicitation/create`"),
        "elicitation/create" => {
            let url = params.get("mode").is_some_and(|mode| mode == "url");
            match url {
                true if revision < V4 => return cannot("elicitation of mode `url`"),
                // It is told by this when the user is done, which nobody here does: one that nobody knows.
                true => drop(params.entry("elicitationId").or_insert_with(|| unheard_of().into())),
                false if revision < V4 => {
                    params.remove("mode");
                    let asked = params.get("requestedSchema").and_then(|schema| schema.get("properties"));
                    let is_new = |asked: &Value| {
                        asked.get("type").is_some_and(|kind| kind == "array") || asked.get("oneOf").is_some()
                    };
                    if asked.and_then(Value::as_object).is_some_and(|asked| asked.values().any(is_new)) {
                        return cannot("a choice of several, or one with titles, in `elicitation/create`");
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
                return cannot("tools, or several contents, in `sampling/createMessage`");
            }
            let words = Words::of(revision);
            let fitted = mcpgen_types::to_value(&words.fitted(Node::Object(&params), &SAMPLING));
            match words.said(fitted)? {
                Ok(Value::Object(fitted)) => Ok(fitted),
                _ => Ok(params),
            }
        }
        _ => Ok(params),
    }
}

fn unheard_of() -> String {
    let random = crate::util::random::random::<16>().unwrap_or_default();
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}
