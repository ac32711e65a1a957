//! Reads the arguments of a tool from the command line, by the tool's input schema.

use mcpgen_types::{Json, JsonObject};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::quoted;

/// The maximum number of references and combined schemas inside each other that are followed.
const MAX_DEPTH: usize = 16;

/// Reads the values of `--arg`. Without a schema, or a type in it, a value is JSON if it can be read as JSON, and otherwise a
/// string.
pub(crate) fn typed(tool: &str, pairs: &[(String, String)], schema: Option<&Value>) -> Result<JsonObject, Failure> {
    let mut arguments = JsonObject::new();
    for (name, text) in pairs {
        let property = schema.and_then(|schema| schema.get("properties")?.get(name));
        let types = property.zip(schema).and_then(|(property, root)| types(property, root, MAX_DEPTH));
        let value = value(text, types.as_deref()).ok_or_else(|| {
            let expected = types.unwrap_or_default().join(" or ");
            let remedy = "or pass all arguments with --json";
            Failure::Usage(format!(
                "--arg {name}: the tool `{tool}` expects {expected}, found {}; correct it, {remedy}",
                quoted(text)
            ))
        })?;
        if arguments.insert(name, value).is_some() {
            return Err(Failure::Usage(format!("--arg {name} is given twice; pass a list with --arg {name}='[…]'")));
        }
    }
    Ok(arguments)
}

/// Reads the value of `--json`.
pub(crate) fn object(text: &str) -> Result<JsonObject, Failure> {
    let value = Json::parse(text).map_err(|error| Failure::Usage(format!("--json is not JSON: {error}")))?;
    JsonObject::try_from(value.as_ref()).map_err(|_| {
        let found = type_of(&value.to_value());
        Failure::Usage(format!("--json is not a JSON object, but {found}; write {{\"NAME\": VALUE}}"))
    })
}

/// Reads a value of one of these types. JSON of a type comes first, so that a tool that accepts numbers and strings gets a
/// number; what only a string can be is the text as it is.
fn value(text: &str, types: Option<&[&str]>) -> Option<Value> {
    let json = serde_json::from_str(text).ok().filter(|json| is_exact(text, json));
    let Some(types) = types else { return Some(json.unwrap_or_else(|| text.into())) };
    let of_type =
        json.filter(|json| !json.is_string()).and_then(|json| types.iter().find_map(|name| as_type(&json, name)));
    of_type.or_else(|| types.contains(&"a string").then(|| text.into()))
}

/// Returns whether a number that was read is the one in the text: integers beyond 64 bits become doubles.
fn is_exact(text: &str, json: &Value) -> bool {
    let is_integer = text.trim().trim_start_matches('-').chars().all(|c| c.is_ascii_digit());
    !(is_integer && json.is_f64())
}

/// Returns the value if it has this type. A whole number with a fraction of zero is an integer.
fn as_type(json: &Value, name: &str) -> Option<Value> {
    match (name, json.as_f64()) {
        ("an integer", Some(number)) if json.is_f64() => {
            // 2^53: larger doubles are not exact integers.
            (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then(|| (number as i64).into())
        }
        ("an integer", number) => number.map(|_| json.clone()),
        _ => (type_of(json) == name).then(|| json.clone()),
    }
}

/// Returns the type of a value in words.
fn type_of(json: &Value) -> &'static str {
    match json {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Returns the types that a schema accepts, in words. `None` if it does not limit them.
fn types(schema: &Value, root: &Value, depth: usize) -> Option<Vec<&'static str>> {
    let depth = depth.checked_sub(1)?;
    let inner = |schema: &Value| types(schema, root, depth);
    let list = |keyword: &str| schema.get(keyword).and_then(Value::as_array);
    let mut limits = Vec::new();
    if let Some(pointer) = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#')) {
        limits.extend(root.pointer(pointer).and_then(inner));
    }
    let named = schema.get("type").and_then(Value::as_str).into_iter();
    let named: Vec<&str> = named.chain(list("type").into_iter().flatten().filter_map(Value::as_str)).collect();
    if !named.is_empty() {
        // A type that is not known may be any.
        limits.extend(named.into_iter().map(in_words).collect::<Option<Vec<_>>>());
    }
    if let Some(constants) = list("enum").map(Vec::as_slice).or(schema.get("const").map(std::slice::from_ref)) {
        limits.push(constants.iter().map(type_of).collect());
    }
    limits.extend(list("allOf").into_iter().flatten().filter_map(inner));
    for alternatives in ["anyOf", "oneOf"].into_iter().filter_map(list) {
        let all: Option<Vec<_>> = alternatives.iter().map(inner).collect();
        limits.extend(all.map(|all| all.concat()));
    }
    let accepted = limits.into_iter().reduce(both)?;
    // A schema that accepts nothing says nothing about types.
    (!accepted.is_empty()).then_some(accepted)
}

/// Returns the types in both lists, without repetitions. Integers are numbers.
fn both(a: Vec<&'static str>, b: Vec<&'static str>) -> Vec<&'static str> {
    let accepts =
        |types: &[&str], name: &str| types.contains(&name) || (name == "an integer" && types.contains(&"a number"));
    let mut common: Vec<&str> = Vec::new();
    for name in a.iter().filter(|name| accepts(&b, name)).chain(b.iter().filter(|name| accepts(&a, name))) {
        if !common.contains(name) {
            common.push(name);
        }
    }
    common
}

/// Returns a type of JSON Schema in words.
fn in_words(name: &str) -> Option<&'static str> {
    Some(match name {
        "null" => "null",
        "boolean" => "a boolean",
        "integer" => "an integer",
        "number" => "a number",
        "string" => "a string",
        "array" => "an array",
        "object" => "an object",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_schema_decides_the_type() {
        let string = || json!({ "type": "string" });
        for (schema, text, expected) in [
            (string(), "1", Ok(json!("1"))),
            (string(), "true", Ok(json!("true"))),
            (string(), "\"a\"", Ok(json!("\"a\""))),
            (string(), "12345678901234567890123", Ok(json!("12345678901234567890123"))),
            (json!({ "type": "number" }), "2.5", Ok(json!(2.5))),
            (json!({ "type": "number" }), "1", Ok(json!(1))),
            (json!({ "type": "integer" }), "1", Ok(json!(1))),
            (json!({ "type": "integer" }), "1.0", Ok(json!(1))),
            (json!({ "type": "integer" }), "1.5", Err("an integer, found \"1.5\"")),
            (json!({ "type": "integer" }), "12345678901234567890123", Err("an integer")),
            (json!({ "type": "number" }), "one", Err("a number, found \"one\"")),
            (json!({ "type": "boolean" }), "true", Ok(json!(true))),
            (json!({ "type": "boolean" }), "yes", Err("a boolean, found \"yes\"")),
            (json!({ "type": "object" }), r#"{"a": 1}"#, Ok(json!({ "a": 1 }))),
            (json!({ "type": "object" }), "[]", Err("an object")),
            (json!({ "type": "array" }), "[1]", Ok(json!([1]))),
            (json!({ "type": ["string", "null"] }), "null", Ok(json!(null))),
            (json!({ "type": ["integer", "null"] }), "x", Err("an integer or null")),
            (json!({ "type": ["string", "number"] }), "1", Ok(json!(1))),
            (json!({ "enum": ["1", "2"] }), "1", Ok(json!("1"))),
            (json!({ "enum": [1, 2] }), "1", Ok(json!(1))),
            (json!({ "const": "1" }), "1", Ok(json!("1"))),
            (json!({ "anyOf": [string(), { "type": "null" }] }), "1", Ok(json!("1"))),
            (json!({ "oneOf": [{ "type": "integer" }, { "type": "boolean" }] }), "x", Err("an integer or a boolean")),
            (json!({ "allOf": [{ "type": ["string", "number"] }, { "type": "string" }] }), "1", Ok(json!("1"))),
            (json!({ "allOf": [{ "type": "number" }, { "type": "integer" }] }), "1.5", Err("an integer")),
            (json!({ "$ref": "#/$defs/text" }), "1", Ok(json!("1"))),
            // Nothing limits the type.
            (json!({}), "1", Ok(json!(1))),
            (json!({}), "a", Ok(json!("a"))),
            (json!({}), "12345678901234567890123", Ok(json!("12345678901234567890123"))),
            (json!({ "anyOf": [string(), {}] }), "1", Ok(json!(1))),
            (json!({ "$ref": "#/properties/x" }), "1", Ok(json!(1))),
            (json!({ "$ref": "#/nowhere", "type": "future" }), "1", Ok(json!(1))),
        ] {
            let schema = json!({ "properties": { "x": schema }, "$defs": { "text": string() } });
            let read =
                typed("t", &[("x".to_owned(), text.to_owned())], Some(&schema)).map_err(|error| error.to_string());
            match (read, expected) {
                (Ok(read), Ok(expected)) => assert_eq!(read, json!({ "x": expected }), "{schema} {text}"),
                (Err(error), Err(part)) => {
                    let part = format!("--arg x: the tool `t` expects {part}");
                    assert!(error.starts_with(&part), "{schema} {text}: {error}");
                }
                (read, expected) => panic!("{schema} {text}: {read:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn an_argument_is_given_once() {
        let pair = || ("x".to_owned(), "1".to_owned());
        assert_eq!(typed("t", &[pair()], None).expect("arguments"), json!({ "x": 1 }));
        let error = typed("t", &[pair(), pair()], None).expect_err("twice").to_string();
        assert_eq!(error, "--arg x is given twice; pass a list with --arg x='[…]'");
    }

    #[test]
    fn arguments_are_an_object() {
        assert_eq!(object(r#"{"a": 1.0}"#).expect("an object").text(), r#"{"a":1.0}"#);
        for (text, expected) in [
            ("[]", "--json is not a JSON object, but an array; write {\"NAME\": VALUE}"),
            ("1", "--json is not a JSON object, but a number; write {\"NAME\": VALUE}"),
            ("{a: 1}", "--json is not JSON: key must be a string at line 1 column 2"),
        ] {
            assert_eq!(object(text).expect_err(text).to_string(), expected);
        }
    }
}
