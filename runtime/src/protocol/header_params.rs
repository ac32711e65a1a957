//! Arguments that are sent as HTTP headers too: `x-mcp-header` in the schema of a tool's arguments.

use std::collections::BTreeMap;

use mcpgen_types::{JsonObject, Value};

/// What is wrong with an `x-mcp-header`. A client leaves out a tool that has such a one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("x-mcp-header of {argument:?}: {why}")]
pub struct HeaderError {
    /// The argument, by the names that lead to it.
    pub argument: String,
    /// What is wrong.
    pub why: &'static str,
}

/// A header, and the argument that it has the value of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The header's name behind `Mcp-Param-`.
    pub name: String,
    /// The names that lead to the argument.
    pub path: Vec<String>,
}

/// The headers of a schema of arguments.
///
/// # Errors
///
/// One of them is not as it must be.
pub fn headers(schema: &JsonObject) -> Result<Vec<Header>, HeaderError> {
    let mut found = BTreeMap::new();
    properties(schema, &mut Vec::new(), &mut found)?;
    Ok(found.into_values().collect())
}

fn properties(
    schema: &JsonObject,
    path: &mut Vec<String>,
    found: &mut BTreeMap<String, Header>,
) -> Result<(), HeaderError> {
    if path.len() > DEEPEST {
        return Err(HeaderError { argument: path.join("."), why: "too deep to be looked at" });
    }
    // Only what `properties` lead to has one value.
    let elsewhere = schema.iter().filter(|(keyword, _)| *keyword != "properties" && !DATA.contains(&keyword.as_str()));
    if elsewhere.filter(|(keyword, _)| *keyword != "x-mcp-header").any(|(_, value)| mentions(value, DEEPEST)) {
        return Err(HeaderError { argument: path.join("."), why: "below something else than `properties`" });
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let Some(property) = property.as_object() else { continue };
        path.push(name.clone());
        if let Some(header) = property.get("x-mcp-header") {
            let wrong = |why| HeaderError { argument: path.join("."), why };
            let header = header.as_str().ok_or_else(|| wrong("not a string"))?;
            let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            if header.is_empty() {
                return Err(wrong("empty"));
            }
            if !header.bytes().all(is_token) {
                return Err(wrong("not a name of a header"));
            }
            if !is_primitive(property.get("type")) {
                return Err(wrong("the argument is no string, integer or boolean"));
            }
            let known = Header { name: header.to_owned(), path: path.clone() };
            if found.insert(header.to_ascii_lowercase(), known).is_some() {
                return Err(wrong("another argument has the same, upper and lower case aside"));
            }
        }
        properties(property, path, found)?;
        path.pop();
    }
    Ok(())
}

/// How deep arguments are looked at.
const DEEPEST: usize = 32;

/// Keywords whose values are no schemas.
const DATA: [&str; 4] = ["default", "const", "enum", "examples"];

/// Whether there is a header anywhere in some schemas; what is too deep to be looked at may have one.
fn mentions(value: &Value, deepest: usize) -> bool {
    match value {
        Value::Object(object) => {
            object.contains_key("x-mcp-header")
                || object.iter().any(|(keyword, value)| !DATA.contains(&keyword.as_str()) && down(value, deepest))
        }
        Value::Array(values) => values.iter().any(|value| down(value, deepest)),
        _ => false,
    }
}

fn down(value: &Value, deepest: usize) -> bool {
    deepest == 0 || mentions(value, deepest - 1)
}

fn is_primitive(kind: Option<&Value>) -> bool {
    matches!(kind.and_then(Value::as_str), Some("string" | "integer" | "boolean"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_are_as_they_must_be() {
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
            let found = headers(schema.as_object().expect("an object"));
            assert_eq!(found.as_ref().err().map(|error| error.argument.as_str()), wrong, "{schema}");
        }
        let elsewhere = json!({ "$defs": { "a": { "type": "string", "x-mcp-header": "A" } } });
        assert!(headers(elsewhere.as_object().expect("an object")).is_err());
        let deep = (0..40).fold(string(json!("A")), |inside, _| json!({ "properties": { "a": inside } }));
        assert!(headers(deep.as_object().expect("an object")).is_err());
        let nested = json!({ "properties": { "a": { "type": "object", "properties": { "b": string(json!("B")) } } } });
        let found = headers(nested.as_object().expect("an object")).expect("one");
        assert_eq!(found, [Header { name: "B".to_owned(), path: vec!["a".to_owned(), "b".to_owned()] }]);
    }
}
