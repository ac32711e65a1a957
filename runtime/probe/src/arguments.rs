//! Reads a tool's arguments, and answers to forms, from the command line, guided by their schemas.

use std::collections::HashSet;

use mcpgen_types::{Json, JsonObject, JsonRef};

use crate::failure::Failure;
use crate::output::quoted;

/// How many nested references and combined schemas to follow.
const MAX_DEPTH: usize = 16;

/// What gets the values of an option. Error messages name it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Recipient<'a> {
    /// The tool with this name gets the values of `--arg`.
    Tool(&'a str),
    /// The form with this message gets the values of `--answer`.
    Form(&'a str),
}

impl Recipient<'_> {
    fn mismatch(self, name: &str, expected: &str, found: &str) -> Failure {
        let found = quoted(found);
        Failure::Usage(match self {
            Recipient::Tool(tool) => format!(
                "--arg {name}: the tool `{tool}` expects {expected}, found {found}; correct it, or pass all arguments with \
                 --json"
            ),
            Recipient::Form(message) => {
                format!("--answer {name}: the question {} expects {expected}, found {found}", quoted(message))
            }
        })
    }
}

pub(crate) fn check_names(option: &str, pairs: &[(String, String)]) -> Result<(), Failure> {
    let mut names = HashSet::new();
    match pairs.iter().find(|(name, _)| !names.insert(name)) {
        Some((name, _)) => {
            Err(Failure::Usage(format!("{option} {name} is given twice; to pass a list, write it as JSON")))
        }
        None => Ok(()),
    }
}

/// Reads values. If the schema gives no type, a value is JSON if it can be read as JSON, and otherwise a string.
/// Numbers keep their digits.
pub(crate) fn typed(
    recipient: Recipient<'_>,
    pairs: &[(String, String)],
    schema: Option<JsonRef<'_>>,
) -> Result<JsonObject, Failure> {
    let mut values = JsonObject::new();
    for (name, text) in pairs {
        let property = schema.and_then(|schema| schema.get("properties")?.get(name));
        let types = property.zip(schema).and_then(|(property, root)| types(property, root, MAX_DEPTH));
        let value = value(text, types.as_deref());
        values.insert(
            name,
            value.ok_or_else(|| recipient.mismatch(name, &types.unwrap_or_default().join(" or "), text))?,
        );
    }
    Ok(values)
}

pub(crate) fn object(text: &str) -> Result<JsonObject, Failure> {
    let value = Json::parse(text).map_err(|error| Failure::Usage(format!("--json is not JSON: {error}")))?;
    JsonObject::try_from(value.as_ref()).map_err(|_| {
        let found = type_of(value.as_ref());
        Failure::Usage(format!("--json is not a JSON object, but {found}; write {{\"NAME\": VALUE}}"))
    })
}

/// Reads a value of one of these types. JSON takes precedence, so that a tool that accepts numbers and strings gets a
/// number; otherwise the text itself is the string.
fn value(text: &str, types: Option<&[&str]>) -> Option<Json> {
    let json = Json::parse(text).ok();
    let Some(types) = types else { return Some(json.unwrap_or_else(|| text.into())) };
    let json = json.filter(|json| type_of(json.as_ref()) != "a string");
    let of_type = json.and_then(|json| types.iter().find_map(|name| as_type(&json, name)));
    of_type.or_else(|| types.contains(&"a string").then(|| text.into()))
}

/// The value, if it has this type. `1.0` is an integer.
fn as_type(json: &Json, name: &str) -> Option<Json> {
    let found = type_of(json.as_ref());
    match name {
        "an integer" if found == "a number" => integer(json),
        _ => (found == name).then(|| json.clone()),
    }
}

/// The number as an integer with all its digits.
fn integer(number: &Json) -> Option<Json> {
    let text = number.text();
    if text.contains(['e', 'E']) {
        // Beyond 2^53, doubles are no longer exact integers.
        let value = number.as_f64().filter(|value| value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0);
        return value.map(|value| (value as i64).into());
    }
    match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => Json::parse(whole).ok(),
        Some(_) => None,
        None => Some(number.clone()),
    }
}

/// A value's type in words.
fn type_of(json: JsonRef<'_>) -> &'static str {
    match json.text().as_bytes().first() {
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        Some(b'"') => "a string",
        Some(b'[') => "an array",
        Some(b'{') => "an object",
        _ => "a number",
    }
}

/// The types that a schema without references accepts, in words.
pub(crate) fn type_names(schema: JsonRef<'_>) -> Option<String> {
    types(schema, schema, MAX_DEPTH).map(|types| types.join(" or "))
}

/// The types that a schema accepts, in words. `None` if it accepts any type.
fn types(schema: JsonRef<'_>, root: JsonRef<'_>, depth: usize) -> Option<Vec<&'static str>> {
    let depth = depth.checked_sub(1)?;
    let inner = |schema: JsonRef<'_>| types(schema, root, depth);
    let list = |keyword: &str| schema.get(keyword).into_iter().flat_map(JsonRef::elements);
    let mut limits = Vec::new();
    let target = schema.get("$ref").and_then(JsonRef::as_str);
    if let Some(pointer) = target.as_deref().and_then(|target| target.strip_prefix('#')) {
        limits.extend(root.pointer(pointer).and_then(inner));
    }
    let named = schema.get("type").and_then(JsonRef::as_str).into_iter();
    let named: Vec<_> = named.chain(list("type").filter_map(JsonRef::as_str)).collect();
    if !named.is_empty() {
        // An unknown type sets no limit.
        limits.extend(named.iter().map(|name| in_words(name)).collect::<Option<Vec<_>>>());
    }
    if let Some(constants) = schema.get("enum").filter(|constants| constants.is_array()) {
        limits.push(constants.elements().map(type_of).collect());
    } else if let Some(constant) = schema.get("const") {
        limits.push(vec![type_of(constant)]);
    }
    limits.extend(list("allOf").filter_map(inner));
    for keyword in ["anyOf", "oneOf"] {
        if schema.get(keyword).is_some_and(JsonRef::is_array) {
            let all: Option<Vec<_>> = list(keyword).map(inner).collect();
            limits.extend(all.map(|all| all.concat()));
        }
    }
    let accepted = limits.into_iter().reduce(both)?;
    // A schema that accepts nothing says nothing about types.
    (!accepted.is_empty()).then_some(accepted)
}

/// The types in both lists. Integers are numbers.
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

/// A JSON Schema type in words.
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
    use serde_json::{Value, json};

    use super::*;

    fn read(schema: &Value, text: &str) -> Result<JsonObject, String> {
        let pair = ("x".to_owned(), text.to_owned());
        let schema = Json::from(schema);
        typed(Recipient::Tool("t"), &[pair], Some(schema.as_ref())).map_err(|error| error.to_string())
    }

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
            // The schema sets no limit on the type.
            (json!({}), "1", Ok(json!(1))),
            (json!({}), "a", Ok(json!("a"))),
            (json!({ "anyOf": [string(), {}] }), "1", Ok(json!(1))),
            (json!({ "$ref": "#/properties/x" }), "1", Ok(json!(1))),
            (json!({ "$ref": "#/nowhere", "type": "future" }), "1", Ok(json!(1))),
        ] {
            let schema = json!({ "properties": { "x": schema }, "$defs": { "text": string() } });
            match (read(&schema, text), expected) {
                (Ok(read), Ok(expected)) => assert_eq!(read, json!({ "x": expected }), "{schema} {text}"),
                (Err(error), Err(part)) => {
                    let part = format!("--arg x: the tool `t` expects {part}");
                    assert!(error.starts_with(&part), "{schema} {text}: {error}");
                }
                (read, expected) => panic!("{schema} {text}: {read:?} instead of {expected:?}"),
            }
        }
    }

    /// Numbers are sent as they were written, at any precision.
    #[test]
    fn numbers_keep_their_digits() {
        const LONG: &str = "12345678901234567890123";
        for (schema, text, expected) in [
            (json!({ "type": "integer" }), LONG, LONG),
            (json!({ "type": "integer" }), "-12345678901234567890123", "-12345678901234567890123"),
            (json!({ "type": "integer" }), "12345678901234567890123.0", LONG),
            (json!({ "type": "integer" }), "1e3", "1000"),
            (json!({ "type": "number" }), LONG, LONG),
            (json!({ "type": "number" }), "0.1234567890123456789012345", "0.1234567890123456789012345"),
            (json!({ "type": "number" }), "1.0", "1.0"),
            (json!({ "type": ["string", "number"] }), LONG, LONG),
            (json!({}), LONG, LONG),
            (json!({ "type": "object" }), r#"{"a":[12345678901234567890123]}"#, r#"{"a":[12345678901234567890123]}"#),
            (json!({ "type": "string" }), LONG, r#""12345678901234567890123""#),
            (json!({ "type": "string" }), "1.0", r#""1.0""#),
        ] {
            let schema = json!({ "properties": { "x": schema } });
            assert_eq!(read(&schema, text).expect(text).text(), format!(r#"{{"x":{expected}}}"#), "{schema} {text}");
        }
        let text = format!(r#"{{"a":{LONG}}}"#);
        assert_eq!(object(&text).expect("an object").text(), text);
    }

    #[test]
    fn an_argument_is_given_once() {
        let pair = || ("x".to_owned(), "1".to_owned());
        assert!(check_names("--arg", &[pair()]).is_ok());
        let error = check_names("--arg", &[pair(), pair()]).expect_err("twice").to_string();
        assert_eq!(error, "--arg x is given twice; to pass a list, write it as JSON");
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
