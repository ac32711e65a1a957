//! Tool arguments that HTTP requests repeat in headers: `x-mcp-header` in input schemas.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mcpgen_types::codec::Cursor;

/// An invalid `x-mcp-header` in an input schema. Clients must ignore the tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("x-mcp-header of {argument:?}: {why}")]
pub struct HeaderError {
    /// The path of the argument: property names, separated by dots.
    pub argument: String,
    /// The reason.
    pub why: &'static str,
}

/// A header and the argument that it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The header's name without the prefix `Mcp-Param-`.
    pub name: String,
    /// The property names that lead to the argument.
    pub path: Vec<String>,
}

/// Returns the headers that an input schema declares.
///
/// # Errors
///
/// Fails if an `x-mcp-header` is not a non-empty header name, repeats another name (ignoring case), is not on a string,
/// an integer or a boolean, or is not reached through `properties` only. Also fails if `properties` are nested more
/// than 32 levels deep.
pub fn headers(schema: Cursor<'_>) -> Result<Vec<Header>, HeaderError> {
    let mut found = BTreeMap::new();
    properties(schema, &mut Vec::new(), &mut found)?;
    Ok(found.into_values().collect())
}

fn properties(
    schema: Cursor<'_>,
    path: &mut Vec<String>,
    found: &mut BTreeMap<String, Header>,
) -> Result<(), HeaderError> {
    if path.len() > DEEPEST {
        return Err(HeaderError { argument: path.join("."), why: "nested too deeply" });
    }
    // A schema below any other keyword may apply to several values, or to none.
    let elsewhere = |keyword: &str| keyword != "properties" && keyword != "x-mcp-header" && !DATA.contains(&keyword);
    if members(schema).any(|(keyword, value)| elsewhere(&keyword) && mentions(value, DEEPEST)) {
        return Err(HeaderError { argument: path.join("."), why: "only allowed within `properties`" });
    }
    for (name, property) in schema.get("properties").into_iter().flat_map(members) {
        path.push(name.into_owned());
        if let Some(header) = property.get("x-mcp-header") {
            let wrong = |why| HeaderError { argument: path.join("."), why };
            let header = header.as_str().ok_or_else(|| wrong("must be a string"))?;
            let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            if header.is_empty() {
                return Err(wrong("must not be empty"));
            }
            if !header.bytes().all(is_token) {
                return Err(wrong("must be a valid header name"));
            }
            if !is_primitive(property.get("type")) {
                return Err(wrong("the argument must be a string, an integer or a boolean"));
            }
            let known = Header { name: header.clone().into_owned(), path: path.clone() };
            if found.insert(header.to_ascii_lowercase(), known).is_some() {
                return Err(wrong("another argument has the same header name, ignoring case"));
            }
        }
        properties(property, path, found)?;
        path.pop();
    }
    Ok(())
}

/// How deep to search for headers.
const DEEPEST: usize = 32;

/// Keywords that contain data rather than schemas.
const DATA: [&str; 4] = ["default", "const", "enum", "examples"];

/// Returns whether a value contains an `x-mcp-header`, or is nested too deeply to tell.
fn mentions(value: Cursor<'_>, deepest: usize) -> bool {
    if value.is_array() {
        return value.elements().into_iter().flatten().any(|value| down(value, deepest));
    }
    let is_schema = |keyword: &str| !DATA.contains(&keyword);
    members(value).any(|(keyword, value)| keyword == "x-mcp-header" || is_schema(&keyword) && down(value, deepest))
}

fn down(value: Cursor<'_>, deepest: usize) -> bool {
    deepest == 0 || mentions(value, deepest - 1)
}

fn is_primitive(kind: Option<Cursor<'_>>) -> bool {
    matches!(kind.and_then(Cursor::as_str).as_deref(), Some("string" | "integer" | "boolean"))
}

/// Returns an object's members. Empty unless the value is an object.
fn members(value: Cursor<'_>) -> impl Iterator<Item = (Cow<'_, str>, Cursor<'_>)> {
    let members = value.is_object().then(|| value.members().ok()).flatten();
    members.into_iter().flatten().filter_map(|(name, value)| Some((name.as_str()?, value)))
}

#[cfg(test)]
mod tests {
    use mcpgen_types::Json;
    use serde_json::{Value, json};

    use super::*;

    fn declared(schema: &Value) -> Result<Vec<Header>, HeaderError> {
        Json::from(schema).read(headers).expect("JSON")
    }

    #[test]
    fn rejects_invalid_header_annotations() {
        let string = |header: Value| json!({ "type": "string", "x-mcp-header": header });
        let cases = [
            (json!({ "a": string(json!("Region")) }), None),
            (json!({ "a": { "type": "integer", "x-mcp-header": "A" }, "b": string(json!("B")) }), None),
            (json!({ "a": { "type": "boolean", "x-mcp-header": "A" } }), None),
            (json!({ "a": { "type": "object", "properties": { "b": string(json!("B")) } } }), None),
            (json!({ "a": string(json!("")) }), Some("a")),
            (json!({ "a": string(json!("two words")) }), Some("a")),
            (json!({ "a": string(json!("a:b")) }), Some("a")),
            (json!({ "a": string(json!("ä")) }), Some("a")),
            (json!({ "a": string(json!("a\r\nb")) }), Some("a")),
            (json!({ "a": string(json!(1)) }), Some("a")),
            (json!({ "a": string(json!("X")), "b": string(json!("x")) }), Some("b")),
            (json!({ "a": { "type": "array", "x-mcp-header": "A" } }), Some("a")),
            (json!({ "a": { "x-mcp-header": "A" } }), Some("a")),
            (json!({ "a": { "type": "number", "x-mcp-header": "A" } }), Some("a")),
            (json!({ "a": { "type": "array", "items": string(json!("A")) } }), Some("a")),
            (json!({ "a": { "oneOf": [string(json!(""))] } }), Some("a")),
            (json!({ "a": { "type": "string", "default": { "x-mcp-header": 1 } } }), None),
            (json!({ "a": { "type": "object", "properties": { "b": string(json!("")) } } }), Some("a.b")),
        ];
        for (properties, wrong) in cases {
            let schema = json!({ "type": "object", "properties": properties });
            let found = declared(&schema);
            assert_eq!(found.as_ref().err().map(|error| error.argument.as_str()), wrong, "{schema}");
        }
        let elsewhere = json!({ "$defs": { "a": { "type": "string", "x-mcp-header": "A" } } });
        assert!(declared(&elsewhere).is_err());
        let deep = (0..40).fold(string(json!("A")), |inside, _| json!({ "properties": { "a": inside } }));
        assert!(declared(&deep).is_err());
        let nested = json!({ "properties": { "a": { "type": "object", "properties": { "b": string(json!("B")) } } } });
        let found = declared(&nested).expect("one");
        assert_eq!(found, [Header { name: "B".to_owned(), path: vec!["a".to_owned(), "b".to_owned()] }]);
    }
}
