//! Reading what is not quite right. The types are exact; not all peers are.
//!
//! The strict reading is the default everywhere: a server tells a client what is wrong, by -32602, and a client tells its
//! user. A client that has to get along with whatever there is reads leniently, which repairs a short list of known
//! [deviations](Deviation), reports each repair, and refuses everything else as before. A server never does: whoever asks
//! wrongly is there to be told.

use std::fmt;

use mcpgen_types::codec::Decode;
use mcpgen_types::{Error, ErrorKind, RawJson, Value};
use serde_json::json;

/// How results are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DecodePolicy {
    /// They are what the schema says, or errors.
    #[default]
    Strict,
    /// Known deviations are repaired.
    Lenient,
}

/// Something that was repaired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Where, as a JSON pointer.
    pub path: String,
    /// What was wrong.
    pub deviation: Deviation,
}

/// What is repaired.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deviation {
    /// `null` for an optional member that is not there: left out.
    Null,
    /// A result of a tool that has `structuredContent` and no `content`: the same as text.
    NoContent,
    /// A tool without `inputSchema`: it takes any object.
    NoInputSchema,
    /// An item of a list that is none, for this reason: left out.
    Item(String),
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, deviation } = self;
        match deviation {
            Deviation::Null => write!(f, "{path}: null, left out"),
            Deviation::NoContent => write!(f, "{path}: missing, made of structuredContent"),
            Deviation::NoInputSchema => write!(f, "{path}: missing, any object is taken"),
            Deviation::Item(why) => write!(f, "{path}: left out, {why}"),
        }
    }
}

/// How much is repaired in one result.
const MOST_REPAIRS: usize = 64;

/// The lists that may do without one of their items.
const LISTS: [&str; 7] = ["tools", "resources", "resourceTemplates", "prompts", "roots", "contents", "content"];

/// Reads a result, and says what was repaired.
///
/// # Errors
///
/// It is not what it must be, and no deviation that is known.
pub fn decode<T: Decode>(result: &RawJson, policy: DecodePolicy) -> Result<(T, Vec<Repair>), Error> {
    let mut error = match result.decode() {
        Ok(decoded) => return Ok((decoded, Vec::new())),
        Err(error) if policy == DecodePolicy::Strict => return Err(error),
        Err(error) => error,
    };
    let Ok(mut value) = result.decode::<Value>() else { return Err(error) };
    let (mut repairs, mut gone) = (Vec::new(), Vec::new());
    while repairs.len() < MOST_REPAIRS {
        let Some(repair) = repair(&mut value, &error, &mut gone) else { return Err(error) };
        repairs.push(repair);
        match mcpgen_types::from_value(value.clone()) {
            Ok(decoded) => return Ok((decoded, repairs)),
            Err(next) => error = next,
        }
    }
    Err(error)
}

/// Repairs one thing. `gone` are the items that were left out, by their list, as they were counted by the server.
fn repair(value: &mut Value, error: &Error, gone: &mut Vec<(String, usize)>) -> Option<Repair> {
    let path = error.path();
    let (parent, member) = path.rsplit_once('/')?;
    let member = member.replace("~1", "/").replace("~0", "~");
    let said = as_counted(&path, gone);
    let known = |deviation| Some(Repair { path: said.clone(), deviation });
    let is_missing = matches!(error.kind(), ErrorKind::Missing);
    if let Some(object) = value.pointer_mut(parent).and_then(Value::as_object_mut) {
        match member.as_str() {
            _ if object.get(&member).is_some_and(Value::is_null) => {
                object.remove(&member);
                return known(Deviation::Null);
            }
            "content" if is_missing && parent.is_empty() && object.contains_key("structuredContent") => {
                let text = object["structuredContent"].to_string();
                object.insert(member, json!([{ "type": "text", "text": text }]));
                return known(Deviation::NoContent);
            }
            "inputSchema" if is_missing => {
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
    let counted = counted(list, index, gone);
    gone.push((list.to_owned(), counted));
    gone.sort();
    Some(Repair { path: format!("/{list}/{counted}"), deviation: Deviation::Item(error.to_string()) })
}

/// The index that an item had before others were left out.
fn counted(list: &str, index: usize, gone: &[(String, usize)]) -> usize {
    let of_list = gone.iter().filter(|(known, _)| known == list);
    of_list.fold(index, |index, (_, gone)| if *gone <= index { index + 1 } else { index })
}

/// A path, with that index.
fn as_counted(path: &str, gone: &[(String, usize)]) -> String {
    let mut segments: Vec<String> = path.split('/').map(str::to_owned).collect();
    if let [_, list, index, ..] = segments.as_mut_slice()
        && let Ok(number) = index.parse()
    {
        *index = counted(list, number, gone).to_string();
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
                mcpgen_types::to_value(&decoded).expect("JSON"),
                repairs.iter().map(ToString::to_string).collect::<Vec<_>>(),
            )
        });
        let expected = expected.map(|(value, repairs)| (value, repairs.iter().map(|it| (*it).to_owned()).collect()));
        assert_eq!(lenient, expected, "{value}");
    }

    #[test]
    fn known_deviations_are_repaired_and_nothing_else() {
        let result = |mut more: Value| {
            more["resultType"] = json!("complete");
            more
        };
        let text = |text: &str| json!([{ "type": "text", "text": text }]);
        check::<CallToolResult>(result(json!({ "content": [] })), Some((result(json!({ "content": [] })), &[])));
        check::<CallToolResult>(
            result(json!({ "content": [], "isError": null, "_meta": null })),
            Some((result(json!({ "content": [] })), &["/_meta: null, left out", "/isError: null, left out"])),
        );
        check::<CallToolResult>(
            result(json!({ "structuredContent": { "a": 1 } })),
            Some((
                result(json!({ "structuredContent": { "a": 1 }, "content": text("{\"a\":1}") })),
                &["/content: missing, made of structuredContent"],
            )),
        );
        // `null` is what a tool may give.
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
                &["/tools/0/inputSchema: missing, any object is taken", "/tools/1/title: null, left out"],
            )),
        );
        check::<ListToolsResult>(
            list(json!([1, good, { "name": 5, "inputSchema": { "type": "object" } }])),
            Some((
                list(json!([good])),
                &[
                    "/tools/0: left out, ListToolsResult: tools[0]: expected object, found number",
                    "/tools/2: left out, ListToolsResult: tools[1].name: expected string, found number",
                ],
            )),
        );
        check::<ListToolsResult>(list(json!({})), None);
        check::<ListToolsResult>(list(json!(vec![1; MOST_REPAIRS + 1])), None);
    }
}
