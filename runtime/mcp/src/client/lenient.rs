//! Decodes results that deviate from the schema.
//!
//! Decoding is strict by default: a server answers invalid params with error -32602, and a client returns an error for
//! an invalid result. To work with servers that deviate, a client can decode results leniently. This repairs a short
//! list of known [deviations](Deviation), reports each repair, and rejects everything else. Servers always decode
//! strictly, so that clients learn of their errors.
//!
//! Cache hints are repaired under either policy: the specification tells clients to treat a missing or invalid `ttlMs`
//! as 0, and without a valid `cacheScope` only `private` is safe.

use std::fmt;

use mcpgen_types::codec::Decode;
use mcpgen_types::convert::ConvertErrorKind;
use mcpgen_types::{Error, ErrorKind, Json, Value};
use serde_json::json;
use tower::BoxError;

use crate::protocol::conversion::ConversionError;

/// How strictly to decode results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DecodePolicy {
    /// Rejects results that do not match the schema. Only cache hints are repaired.
    #[default]
    Strict,
    /// Repairs known deviations.
    Lenient,
}

/// A repair of one deviation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The location in the original result, as a JSON pointer.
    pub path: String,
    /// The deviation that was repaired.
    pub deviation: Deviation,
}

/// A known deviation from the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deviation {
    /// An optional member is `null`. It is removed.
    Null,
    /// The result of a tool has `structuredContent` but no `content`. The structured content is added as text.
    NoContent,
    /// A tool has no `inputSchema`. A schema that accepts any object is added.
    NoInputSchema,
    /// The `inputSchema` of a tool has no `type`. The type `object`, the only possible one, is added.
    NoSchemaType,
    /// The result of a tool is wrapped in `toolResult`, as in drafts before 2024-11-05. It is unwrapped.
    ToolResult,
    /// A cache hint is missing or invalid. It is set to this JSON text: `0` for `ttlMs`, `"private"` for `cacheScope`.
    CacheHint(&'static str),
    /// An annotation is invalid, for this reason. It is removed, and what it annotates stays.
    Annotation(String),
    /// A list item is invalid, for this reason. It is removed.
    Item(String),
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, deviation } = self;
        match deviation {
            Deviation::Null => write!(f, "{path}: null, removed"),
            Deviation::NoContent => write!(f, "{path}: missing, created from structuredContent"),
            Deviation::NoInputSchema => write!(f, "{path}: missing, any object is accepted"),
            Deviation::NoSchemaType => write!(f, "{path}: missing, set to \"object\""),
            Deviation::ToolResult => write!(f, "{path}: missing, taken from toolResult"),
            Deviation::CacheHint(value) => write!(f, "{path}: missing or invalid, set to {value}"),
            Deviation::Annotation(why) | Deviation::Item(why) => write!(f, "{path}: removed: {why}"),
        }
    }
}

/// The maximum number of repairs in one result.
const MOST_REPAIRS: usize = 64;

/// Lists whose invalid items are removed.
const LISTS: [&str; 8] =
    ["tools", "resources", "resourceTemplates", "prompts", "roots", "contents", "content", "skills"];

/// Decodes a result, and returns it with the repairs that were necessary.
///
/// # Errors
///
/// Fails if the result deviates from the schema in a way that the policy does not repair, or if it needs more than 64
/// repairs.
pub fn decode<T: Decode>(result: &Json, policy: DecodePolicy) -> Result<(T, Vec<Repair>), Error> {
    decode_with(result, policy, |result| Ok(result.decode()?))
}

/// Where decoding failed, and whether a member is missing.
pub(super) struct Problem<E> {
    path: String,
    is_missing: bool,
    error: E,
}

impl<E> From<Error> for Problem<E>
where
    E: From<Error>,
{
    fn from(error: Error) -> Self {
        Self { path: error.path(), is_missing: matches!(error.kind(), ErrorKind::Missing), error: error.into() }
    }
}

impl Problem<BoxError> {
    pub(super) fn converting(error: ConversionError) -> Self {
        let ConversionError::Value { error: value, .. } = &error else {
            return Self { path: String::new(), is_missing: false, error: error.into() };
        };
        let is_missing = matches!(value.kind(), ConvertErrorKind::Value(ErrorKind::Missing));
        Self { path: value.path().to_owned(), is_missing, error: error.into() }
    }
}

impl<E> Problem<E> {
    /// Returns the invalid cache hint, if that is the problem, and its safe value.
    fn cache_hint(&self) -> Option<(&'static str, &'static str)> {
        match self.path.as_str() {
            "/ttlMs" => Some(("ttlMs", "0")),
            "/cacheScope" => Some(("cacheScope", "\"private\"")),
            _ => None,
        }
    }
}

/// Like [`decode`], but with the given decoding function.
pub(super) fn decode_with<T, E: fmt::Display>(
    result: &Json,
    policy: DecodePolicy,
    decode: impl Fn(&Json) -> Result<T, Problem<E>>,
) -> Result<(T, Vec<Repair>), E> {
    let mut problem = match decode(result) {
        Ok(decoded) => return Ok((decoded, Vec::new())),
        Err(problem) if policy == DecodePolicy::Strict && problem.cache_hint().is_none() => return Err(problem.error),
        Err(problem) => problem,
    };
    let Some(mut value) = crate::tree::tree(result) else { return Err(problem.error) };
    let (mut repairs, mut removed) = (Vec::new(), Vec::new());
    while repairs.len() < MOST_REPAIRS {
        let repaired = match (problem.cache_hint(), policy) {
            (Some(hint), _) => repair_cache_hint(&mut value, hint),
            (None, DecodePolicy::Lenient) => repair(&mut value, &problem, &mut removed),
            (None, DecodePolicy::Strict) => None,
        };
        let Some(repair) = repaired else { return Err(problem.error) };
        repairs.push(repair);
        match decode(&Json::from(&value)) {
            Ok(decoded) => return Ok((decoded, repairs)),
            Err(next) => problem = next,
        }
    }
    Err(problem.error)
}

/// Repairs a cache hint. The `ttlMs` of a task is not one: it says how long the server keeps the task.
fn repair_cache_hint(result: &mut Value, (name, safe): (&str, &'static str)) -> Option<Repair> {
    let members = result.as_object_mut().filter(|members| !members.contains_key("taskId"))?;
    members.insert(name.to_owned(), serde_json::from_str(safe).ok()?);
    Some(Repair { path: format!("/{name}"), deviation: Deviation::CacheHint(safe) })
}

/// Repairs one deviation. `removed` holds the list and original index of each removed item.
fn repair<E: fmt::Display>(
    value: &mut Value,
    Problem { path, is_missing, error }: &Problem<E>,
    removed: &mut Vec<(String, usize)>,
) -> Option<Repair> {
    let (parent, member) = path.rsplit_once('/')?;
    let member = member.replace("~1", "/").replace("~0", "~");
    let original_path = with_original_index(path, removed);
    let known = |deviation| Some(Repair { path: original_path.clone(), deviation });
    if let Some(object) = value.pointer_mut(parent).and_then(Value::as_object_mut) {
        match member.as_str() {
            _ if object.get(&member).is_some_and(Value::is_null) => {
                object.remove(&member);
                return known(Deviation::Null);
            }
            "content" if *is_missing && parent.is_empty() && object.contains_key("structuredContent") => {
                let text = object["structuredContent"].to_string();
                object.insert(member, json!([{ "type": "text", "text": text }]));
                return known(Deviation::NoContent);
            }
            "content" if *is_missing && parent.is_empty() && has_content(object.get("toolResult")) => {
                if let Some(Value::Object(inner)) = object.remove("toolResult") {
                    object.extend(inner);
                }
                return known(Deviation::ToolResult);
            }
            "type" if *is_missing && parent.ends_with("/inputSchema") => {
                object.insert(member, json!("object"));
                return known(Deviation::NoSchemaType);
            }
            "inputSchema" if *is_missing => {
                object.insert(member, json!({ "type": "object" }));
                return known(Deviation::NoInputSchema);
            }
            _ => {}
        }
    }
    if let Some(annotation) = remove_annotation(value, path) {
        let path = with_original_index(annotation, removed);
        return Some(Repair { path, deviation: Deviation::Annotation(error.to_string()) });
    }
    let mut segments = path.split('/').skip(1);
    let (list, index) = (segments.next()?, segments.next()?.parse::<usize>().ok()?);
    let items = value.get_mut(list)?.as_array_mut()?;
    if !LISTS.contains(&list) || index >= items.len() {
        return None;
    }
    items.remove(index);
    let original_index = original_index(list, index, removed);
    removed.push((list.to_owned(), original_index));
    removed.sort();
    Some(Repair { path: format!("/{list}/{original_index}"), deviation: Deviation::Item(error.to_string()) })
}

/// Removes the annotation at or above a path, or all annotations if they are not an object. Returns the path of what
/// was removed.
fn remove_annotation<'p>(value: &mut Value, path: &'p str) -> Option<&'p str> {
    let (mut end, mut is_inside) = (0, false);
    for segment in path.split('/').skip(1) {
        match segment {
            _ if is_inside => {
                end += 1 + segment.len();
                break;
            }
            // Inside these members, `annotations` may mean anything.
            "inputSchema" | "outputSchema" | "structuredContent" | "_meta" => return None,
            segment => is_inside = segment == "annotations",
        }
        end += 1 + segment.len();
    }
    let (parent, member) = path[..end].rsplit_once('/').filter(|_| is_inside)?;
    let member = member.replace("~1", "/").replace("~0", "~");
    value.pointer_mut(parent)?.as_object_mut()?.remove(&member)?;
    Some(&path[..end])
}

fn has_content(tool_result: Option<&Value>) -> bool {
    tool_result.and_then(Value::as_object).is_some_and(|inner| inner.contains_key("content"))
}

/// Returns the index that an item had before others were removed.
fn original_index(list: &str, index: usize, removed: &[(String, usize)]) -> usize {
    let of_list = removed.iter().filter(|(known, _)| known == list);
    of_list.fold(index, |index, (_, removed)| if *removed <= index { index + 1 } else { index })
}

fn with_original_index(path: &str, removed: &[(String, usize)]) -> String {
    let mut segments: Vec<String> = path.split('/').map(str::to_owned).collect();
    if let [_, list, index, ..] = segments.as_mut_slice()
        && let Ok(number) = index.parse()
    {
        *index = original_index(list, number, removed).to_string();
    }
    segments.join("/")
}

#[cfg(test)]
mod tests {
    use mcpgen_types::v2026_07_28::{
        CallToolResult, DiscoverResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, ReadResourceResult,
    };

    use super::*;

    #[track_caller]
    fn check<T: Decode + mcpgen_types::codec::Encode>(value: Value, expected: Option<(Value, &[&str])>) {
        let raw = Json::from(&value);
        let strict = decode::<T>(&raw, DecodePolicy::Strict);
        assert_eq!(strict.is_ok(), expected.as_ref().is_some_and(|(_, repairs)| repairs.is_empty()), "{value}");
        let lenient = decode::<T>(&raw, DecodePolicy::Lenient).ok().map(|(decoded, repairs)| {
            (
                mcpgen_types::to_value(&decoded).expect("serializable result"),
                repairs.iter().map(ToString::to_string).collect::<Vec<_>>(),
            )
        });
        let expected = expected.map(|(value, repairs)| (value, repairs.iter().map(|it| (*it).to_owned()).collect()));
        assert_eq!(lenient, expected, "{value}");
    }

    #[test]
    fn repairs_only_known_deviations() {
        let result = |mut more: Value| {
            more["resultType"] = json!("complete");
            more
        };
        let text = |text: &str| json!([{ "type": "text", "text": text }]);
        check::<CallToolResult>(result(json!({ "content": [] })), Some((result(json!({ "content": [] })), &[])));
        check::<CallToolResult>(
            result(json!({ "content": [], "isError": null, "_meta": null })),
            Some((result(json!({ "content": [] })), &["/_meta: null, removed", "/isError: null, removed"])),
        );
        check::<CallToolResult>(
            result(json!({ "structuredContent": { "a": 1 } })),
            Some((
                result(json!({ "structuredContent": { "a": 1 }, "content": text("{\"a\":1}") })),
                &["/content: missing, created from structuredContent"],
            )),
        );
        check::<CallToolResult>(
            result(json!({ "toolResult": { "content": text("a"), "isError": true } })),
            Some((
                result(json!({ "content": text("a"), "isError": true })),
                &["/content: missing, taken from toolResult"],
            )),
        );
        check::<CallToolResult>(result(json!({ "toolResult": "a" })), None);
        // `null` is valid structured content.
        check::<CallToolResult>(
            result(json!({ "content": [], "structuredContent": null })),
            Some((result(json!({ "content": [], "structuredContent": null })), &[])),
        );
        check::<CallToolResult>(result(json!({})), None);
        check::<CallToolResult>(result(json!({ "content": "text" })), None);
        check::<CallToolResult>(result(json!({ "content": [], "isError": "no" })), None);
        let annotated = |annotations: Value| {
            let block = json!({ "type": "text", "text": "a", "annotations": annotations });
            result(json!({ "content": [5, block] }))
        };
        let of = "CallToolResult: content[0]";
        for (annotations, kept, path, why) in [
            (
                json!({ "audience": ["user", "system"], "priority": 1 }),
                Some(json!({ "priority": 1 })),
                "/annotations/audience",
                ".annotations.audience[1]: expected one of \"user\", \"assistant\", found \"system\"",
            ),
            (
                json!({ "priority": "high" }),
                Some(json!({})),
                "/annotations/priority",
                ".annotations.priority: expected number, found string",
            ),
            (json!(["user"]), None, "/annotations", ".annotations: expected object, found array"),
        ] {
            let mut expected = result(json!({ "content": text("a") }));
            if let Some(kept) = kept {
                expected["content"][0]["annotations"] = kept;
            }
            let repairs = [
                "/content/0: removed: CallToolResult: content[0]: expected object, found number",
                &format!("/content/1{path}: removed: {of}{why}"),
            ];
            check::<CallToolResult>(annotated(annotations), Some((expected, &repairs)));
        }
        let list = |tools: Value| result(json!({ "tools": tools, "ttlMs": 0, "cacheScope": "private" }));
        let good = json!({ "name": "a", "inputSchema": { "type": "object" } });
        check::<ListToolsResult>(
            list(json!([{ "name": "a" }, { "name": "a", "title": null, "inputSchema": { "type": "object" } }])),
            Some((
                list(json!([good, good])),
                &["/tools/0/inputSchema: missing, any object is accepted", "/tools/1/title: null, removed"],
            )),
        );
        check::<ListToolsResult>(
            list(json!([{ "name": "a", "inputSchema": {} }])),
            Some((list(json!([good])), &["/tools/0/inputSchema/type: missing, set to \"object\""])),
        );
        check::<ListToolsResult>(
            list(json!([{ "name": "a", "inputSchema": { "type": "string" } }])),
            Some((
                list(json!([])),
                &[
                    "/tools/0: removed: ListToolsResult: tools[0].inputSchema.type: expected constant \"object\", found \"string\"",
                ],
            )),
        );
        check::<ListToolsResult>(
            list(json!([1, good, { "name": 5, "inputSchema": { "type": "object" } }])),
            Some((
                list(json!([good])),
                &[
                    "/tools/0: removed: ListToolsResult: tools[0]: expected object, found number",
                    "/tools/2: removed: ListToolsResult: tools[1].name: expected string, found number",
                ],
            )),
        );
        // A property with this name is not an annotation.
        check::<mcpgen_types::v2025_11_25::ListToolsResult>(
            json!({ "tools": [{ "name": "a", "inputSchema": { "type": "object", "properties": { "annotations": 5 } } }] }),
            Some((
                json!({ "tools": [] }),
                &[
                    "/tools/0: removed: ListToolsResult: tools[0].inputSchema.properties.annotations: expected object, found number",
                ],
            )),
        );
        check::<ListToolsResult>(list(json!({})), None);
        check::<ListToolsResult>(list(json!(vec![1; MOST_REPAIRS + 1])), None);
    }

    #[track_caller]
    fn check_cache_hints<T: Decode + mcpgen_types::codec::Encode>(result: &Value) {
        // `None` omits the member.
        let ttls = [None, Some(json!(null)), Some(json!(-1)), Some(json!(1.5)), Some(json!("60")), Some(json!(60))];
        let scopes = [None, Some(json!(null)), Some(json!("shared")), Some(json!(1)), Some(json!("public"))];
        for (ttl, scope) in ttls.iter().flat_map(|ttl| scopes.iter().map(move |scope| (ttl, scope))) {
            let mut sent = result.clone();
            sent.as_object_mut().expect("a result").extend(
                [("ttlMs", ttl), ("cacheScope", scope)]
                    .into_iter()
                    .filter_map(|(name, hint)| Some((name.to_owned(), hint.clone()?))),
            );
            let mut expected = result.clone();
            let (valid_ttl, valid_scope) = (*ttl == Some(json!(60)), *scope == Some(json!("public")));
            expected["ttlMs"] = json!(if valid_ttl { 60 } else { 0 });
            expected["cacheScope"] = json!(if valid_scope { "public" } else { "private" });
            for policy in [DecodePolicy::Strict, DecodePolicy::Lenient] {
                let (decoded, repairs) = decode::<T>(&Json::from(&sent), policy).expect("a repaired result");
                assert_eq!(mcpgen_types::to_value(&decoded).expect("serializable result"), expected, "{sent}");
                let mut repairs: Vec<String> = repairs.iter().map(ToString::to_string).collect();
                repairs.sort();
                let repaired = [
                    (!valid_scope).then_some("/cacheScope: missing or invalid, set to \"private\""),
                    (!valid_ttl).then_some("/ttlMs: missing or invalid, set to 0"),
                ];
                assert_eq!(repairs, repaired.into_iter().flatten().collect::<Vec<_>>(), "{sent}");
            }
        }
    }

    #[test]
    fn repairs_cache_hints_under_either_policy() {
        check_cache_hints::<DiscoverResult>(&json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {},
        }));
        check_cache_hints::<ListToolsResult>(&json!({ "resultType": "complete", "tools": [] }));
        check_cache_hints::<ListResourcesResult>(&json!({ "resultType": "complete", "resources": [] }));
        check_cache_hints::<ListResourceTemplatesResult>(&json!({ "resultType": "complete", "resourceTemplates": [] }));
        check_cache_hints::<ListPromptsResult>(&json!({ "resultType": "complete", "prompts": [] }));
        check_cache_hints::<ReadResourceResult>(&json!({ "resultType": "complete", "contents": [] }));
    }

    #[test]
    fn strict_decoding_repairs_nothing_else() {
        let list = json!({ "resultType": "complete", "tools": [{ "name": "a", "inputSchema": {} }] });
        let error = decode::<ListToolsResult>(&Json::from(&list), DecodePolicy::Strict).expect_err("an invalid tool");
        assert!(error.to_string().contains("tools[0].inputSchema.type: missing required member"), "{error}");
    }

    /// The `ttlMs` of a task says how long the server keeps it.
    #[test]
    fn does_not_repair_the_ttl_of_a_task() {
        let task = json!({
            "resultType": "task", "taskId": "a", "status": "working", "ttlMs": "60",
            "createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z",
        });
        for policy in [DecodePolicy::Strict, DecodePolicy::Lenient] {
            let decoded = decode::<mcpgen_types::ext::tasks::CreateTaskResult>(&Json::from(&task), policy);
            assert_eq!(decoded.expect_err("an invalid task").path(), "/ttlMs");
        }
    }
}
