//! Decodes results that deviate from the schema.
//!
//! Decoding is strict by default: a server responds to invalid params with error -32602, and a client returns an error
//! for an invalid result. A client can decode results leniently, to work with servers that deviate. Lenient decoding
//! repairs a short list of known [deviations](Deviation), reports each repair, and rejects everything else. Servers
//! always decode strictly, so that clients learn about their errors.

use std::fmt;

use mcpgen_types::codec::Decode;
use mcpgen_types::convert::ConvertErrorKind;
use mcpgen_types::{Error, ErrorKind, RawJson, Value};
use serde_json::json;
use tower::BoxError;

use crate::protocol::conversion::ConversionError;

/// How results are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DecodePolicy {
    /// Rejects results that do not match the schema.
    #[default]
    Strict,
    /// Repairs known deviations.
    Lenient,
}

/// A repair of one deviation.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// An optional member is `null`. The member is removed.
    Null,
    /// The result of a tool has `structuredContent` but no `content`. The structured content is added as text.
    NoContent,
    /// A tool has no `inputSchema`. A schema that accepts any object is added.
    NoInputSchema,
    /// The `inputSchema` of a tool has no `type`. The type `object`, the only possible one, is added.
    NoSchemaType,
    /// The result of a tool is in the member `toolResult`, as in drafts before 2024-11-05. It is moved out of it.
    ToolResult,
    /// An item of a list is invalid, for this reason. The item is removed.
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
            Deviation::Item(why) => write!(f, "{path}: removed: {why}"),
        }
    }
}

/// The maximum number of repairs in one result.
const MOST_REPAIRS: usize = 64;

/// The lists from which invalid items are removed.
const LISTS: [&str; 8] =
    ["tools", "resources", "resourceTemplates", "prompts", "roots", "contents", "content", "skills"];

/// Decodes a result, and returns it with the repairs that were necessary.
///
/// # Errors
///
/// Fails if the result does not match the schema, and the policy is strict, the deviation is unknown, or the result
/// needs more than 64 repairs.
pub fn decode<T: Decode>(result: &RawJson, policy: DecodePolicy) -> Result<(T, Vec<Repair>), Error> {
    decode_with(result, policy, |result| Ok(result.decode()?))
}

/// Why a result could not be decoded: where, and whether a member is missing.
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
    /// Creates the problem of a result that cannot be converted to the newest types.
    pub(super) fn converting(error: ConversionError) -> Self {
        let ConversionError::Value { error: value, .. } = &error else {
            return Self { path: String::new(), is_missing: false, error: error.into() };
        };
        let is_missing = matches!(value.kind(), ConvertErrorKind::Value(ErrorKind::Missing));
        Self { path: value.path().to_owned(), is_missing, error: error.into() }
    }
}

/// Like [`decode`], with a function that decodes the result.
pub(super) fn decode_with<T, E: fmt::Display>(
    result: &RawJson,
    policy: DecodePolicy,
    decode: impl Fn(&RawJson) -> Result<T, Problem<E>>,
) -> Result<(T, Vec<Repair>), E> {
    let mut problem = match decode(result) {
        Ok(decoded) => return Ok((decoded, Vec::new())),
        Err(problem) if policy == DecodePolicy::Strict => return Err(problem.error),
        Err(problem) => problem,
    };
    let Ok(mut value) = result.decode::<Value>() else { return Err(problem.error) };
    let (mut repairs, mut removed) = (Vec::new(), Vec::new());
    while repairs.len() < MOST_REPAIRS {
        let Some(repair) = repair(&mut value, &problem, &mut removed) else { return Err(problem.error) };
        repairs.push(repair);
        match decode(&RawJson::from(&value)) {
            Ok(decoded) => return Ok((decoded, repairs)),
            Err(next) => problem = next,
        }
    }
    Err(problem.error)
}

/// Repairs one deviation. `removed` contains the list and the original index of each item that was removed.
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

fn has_content(tool_result: Option<&Value>) -> bool {
    tool_result.and_then(Value::as_object).is_some_and(|inner| inner.contains_key("content"))
}

/// Returns the index that an item had before other items were removed.
fn original_index(list: &str, index: usize, removed: &[(String, usize)]) -> usize {
    let of_list = removed.iter().filter(|(known, _)| known == list);
    of_list.fold(index, |index, (_, removed)| if *removed <= index { index + 1 } else { index })
}

/// Converts the index in a path to the original index.
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
    use mcpgen_types::v2026_07_28::{CallToolResult, ListToolsResult};

    use super::*;

    #[track_caller]
    fn check<T: Decode + mcpgen_types::codec::Encode>(value: Value, expected: Option<(Value, &[&str])>) {
        let raw = RawJson::from(&value);
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
        check::<ListToolsResult>(list(json!({})), None);
        check::<ListToolsResult>(list(json!(vec![1; MOST_REPAIRS + 1])), None);
    }
}
