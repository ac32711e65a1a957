//! Compares a document with its conversion. They may differ only where the conversion lists a loss or where one of the
//! rules here applies.

use mcpgen_proof::json_equal;
use serde_json::{Map, Value, json};

/// Members that may be absent instead of having these values. Written by hand, because the test does not use the rules.
const DEFAULTS: &[(&str, &str)] = &[
    ("resultType", "\"complete\""),
    ("ttlMs", "0"),
    ("cacheScope", "\"private\""),
    ("mode", "\"form\""),
    ("_meta", "{}"),
    ("params", "{}"),
    ("io.modelcontextprotocol/clientCapabilities", "{}"),
];

/// Required members that a conversion adds, with any value.
const ADDED: &[&str] = &[
    "_meta",
    "params",
    "elicitationId",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities",
];

/// Members that no conversion may leave out, because the rest would have another meaning. `diff` only compares what
/// revisions accept, so it may call such a step compatible.
const NEEDED: &[&str] = &["resultType", "task", "tools", "toolChoice", "inputResponses", "requestState"];

/// Returns whether a rule refuses to leave out the member at a JSON pointer.
pub(super) fn is_needed(pointer: &str) -> bool {
    pointer.rsplit('/').next().is_some_and(|name| NEEDED.contains(&name))
}

/// Returns the document without identifiers, which every conversion creates anew.
pub(super) fn without_identifiers(document: &Value) -> Value {
    match document {
        Value::Array(items) => items.iter().map(without_identifiers).collect(),
        Value::Object(members) => {
            let others = members.iter().filter(|(name, _)| *name != "elicitationId");
            others.map(|(name, value)| (name.clone(), without_identifiers(value))).collect()
        }
        scalar => scalar.clone(),
    }
}

/// Returns the first difference that neither a loss nor a rule explains.
pub(super) fn unexplained(source: &Value, lost: &[&str], converted: &Value) -> Option<String> {
    let mut expected = source.clone();
    for path in lost {
        remove(&mut expected, path);
    }
    differs(&expected, converted).map(|difference| format!("{difference}\nexpected {expected}"))
}

fn remove(document: &mut Value, pointer: &str) {
    let Some((parent, name)) = pointer.rsplit_once('/') else { return };
    let name = name.replace("~1", "/").replace("~0", "~");
    if let Some(Value::Object(members)) = document.pointer_mut(parent) {
        members.remove(&name);
    }
}

fn differs(expected: &Value, found: &Value) -> Option<String> {
    match (expected, found) {
        (Value::Object(a), Value::Object(b)) => differing_member(a, b),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a.iter().zip(b).find_map(|(a, b)| differs(a, b)),
        // A list of one content block means the same as the block.
        (Value::Array(a), b) if a.len() == 1 => differs(&a[0], b),
        (a, Value::Array(b)) if b.len() == 1 => differs(a, &b[0]),
        (a, b) => (!json_equal(a, b)).then(|| format!("{a} became {b}")),
    }
}

fn differing_member(expected: &Map<String, Value>, found: &Map<String, Value>) -> Option<String> {
    let respelled = respelled(expected);
    let expected = if found.contains_key("oneOf") { expected } else { respelled.as_ref().unwrap_or(expected) };
    let left_out = expected.iter().filter(|(name, _)| !found.contains_key(*name));
    for (name, value) in left_out {
        if !is_default(name, value) {
            return Some(format!("`{name}` is missing without a loss"));
        }
    }
    let added = found.iter().filter(|(name, _)| !expected.contains_key(*name));
    for (name, value) in added {
        if !is_default(name, value) && !ADDED.contains(&name.as_str()) && *value != json!("2.0") {
            return Some(format!("`{name}` was added with the value {value}"));
        }
    }
    // Conversions add a random `elicitationId`.
    let kept = expected.iter().filter(|(name, _)| *name != "elicitationId");
    kept.into_iter().find_map(|(name, value)| differs(value, found.get(name)?))
}

/// Returns a schema of titled choices as 2025-06-18 writes it.
fn respelled(schema: &Map<String, Value>) -> Option<Map<String, Value>> {
    let choices = schema.get("oneOf")?.as_array()?;
    let column = |name: &str| choices.iter().map(|choice| choice.get(name).cloned()).collect::<Option<Vec<_>>>();
    let (values, names) = (column("const")?, column("title")?);
    let mut other = schema.clone();
    other.remove("oneOf");
    other.insert("enum".to_owned(), values.into());
    other.insert("enumNames".to_owned(), names.into());
    Some(other)
}

fn is_default(name: &str, value: &Value) -> bool {
    let default = DEFAULTS.iter().find(|(known, _)| *known == name);
    default.is_some_and(|(_, default)| serde_json::from_str(default).is_ok_and(|default| json_equal(&default, value)))
}
