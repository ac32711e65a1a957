//! What the newest revision says, in the words of older ones: what they lack is left out, and what they cannot say is
//! refused.

use mcpgen_types::{JsonObject, Revision, Value};

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
    One(&'static Kind),
    Each(&'static Kind),
}

use Inside::{Anything, Each, One};

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
    ("annotations", V1, One(&ANNOTATIONS)),
]);
static CONTENTS: Kind = Kind(&[("_meta", V3, Anything)]);
/// Of whichever type.
static CONTENT: Kind = Kind(&[
    ("_meta", V3, Anything),
    ("annotations", V1, One(&ANNOTATIONS)),
    ("resource", V1, One(&CONTENTS)),
    ("title", V3, Anything),
    ("icons", V4, Anything),
]);
static ARGUMENT: Kind = Kind(&[("title", V3, Anything)]);
static PROMPT: Kind = Kind(&[
    ("_meta", V3, Anything),
    ("title", V3, Anything),
    ("icons", V4, Anything),
    ("arguments", V1, Each(&ARGUMENT)),
]);
static MESSAGE: Kind = Kind(&[("content", V1, One(&CONTENT))]);

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

static RESULTS: &[(&str, Kind)] = &[
    ("tools/list", result! { "tools", V1, Each(&TOOL) }),
    ("tools/call", result! { "content", V1, Each(&CONTENT); "structuredContent", V3, Anything }),
    ("resources/list", result! { "resources", V1, Each(&RESOURCE) }),
    ("resources/templates/list", result! { "resourceTemplates", V1, Each(&RESOURCE) }),
    ("resources/read", result! { "contents", V1, Each(&CONTENTS) }),
    ("prompts/list", result! { "prompts", V1, Each(&PROMPT) }),
    ("prompts/get", result! { "messages", V1, Each(&MESSAGE) }),
    ("completion/complete", result! {}),
];

/// A result as a revision has it.
pub(crate) fn result(method: &str, revision: Revision, mut result: JsonObject) -> Result<JsonObject, Unsaid> {
    if result.get("resultType").is_some_and(|kind| kind == "input_required") {
        return Err(Unsaid { revision: revision.as_str(), what: "that it needs input, in an answer" });
    }
    if let Some((_, kind)) = RESULTS.iter().find(|(known, _)| *known == method) {
        kind.fit(revision, &mut result)?;
    }
    Ok(result)
}

impl Kind {
    fn fit(&self, revision: Revision, object: &mut JsonObject) -> Result<(), Unsaid> {
        for (name, since, inside) in self.0 {
            let Some(value) = object.get_mut(*name) else { continue };
            if revision < *since || !may_be(name, value, revision) {
                object.remove(*name);
                continue;
            }
            match inside {
                Anything => {}
                One(kind) => kind.fit_value(revision, value)?,
                Each(kind) => {
                    for value in value.as_array_mut().into_iter().flatten() {
                        kind.fit_value(revision, value)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn fit_value(&self, revision: Revision, value: &mut Value) -> Result<(), Unsaid> {
        let Some(object) = value.as_object_mut() else { return Ok(()) };
        if std::ptr::eq(self, &raw const CONTENT) {
            let (since, what) = match object.get("type").and_then(Value::as_str) {
                Some("audio") => (V2, "content of type `audio`"),
                Some("resource_link") => (V3, "content of type `resource_link`"),
                Some("tool_use") => (V4, "content of type `tool_use`"),
                Some("tool_result") => (V4, "content of type `tool_result`"),
                _ => (V1, ""),
            };
            if revision < since {
                return Err(Unsaid { revision: revision.as_str(), what });
            }
        }
        self.fit(revision, object)
    }
}

/// Whether a revision that has a member has it with this value. Objects were all that there was.
fn may_be(name: &str, value: &Value, revision: Revision) -> bool {
    match name {
        "structuredContent" => revision >= V5 || value.is_object(),
        "outputSchema" => revision >= V5 || value.get("type").is_some_and(|kind| kind == "object"),
        _ => true,
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
            for message in params.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten() {
                match message.get_mut("content") {
                    Some(Value::Array(contents)) => {
                        contents.iter_mut().try_for_each(|content| CONTENT.fit_value(revision, content))?;
                    }
                    Some(content) => CONTENT.fit_value(revision, content)?,
                    None => {}
                }
            }
            Ok(params)
        }
        _ => Ok(params),
    }
}

fn unheard_of() -> String {
    let random = crate::seal::random::<16>().unwrap_or_default();
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}
