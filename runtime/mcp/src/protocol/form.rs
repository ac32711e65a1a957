//! Checks a user's answers against the fields of a form.

use mcpgen_types::v2026_07_28::{ElicitRequestFormParams, ElicitResult};
use mcpgen_types::{Value, counted};

/// The value of a form field is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
#[non_exhaustive]
pub struct FormError {
    /// The name of the field.
    pub field: String,
    /// What is wrong, in words for the user.
    pub reason: String,
}

impl FormError {
    pub(crate) fn new(field: &str, reason: impl Into<String>) -> Self {
        Self { field: field.to_owned(), reason: reason.into() }
    }
}

/// Checks the values of an accepted form.
///
/// # Errors
///
/// Names the first field that is missing or does not match its schema.
pub(crate) fn check_form(form: &ElicitRequestFormParams, answer: &ElicitResult) -> Result<(), FormError> {
    let answers = answer.content.as_ref().and_then(|content| mcpgen_types::to_value(content).ok());
    let answers = answers.as_ref().and_then(Value::as_object);
    let schema = &form.requested_schema;
    if let Some(missing) =
        schema.required.iter().flatten().find(|name| answers.is_none_or(|answers| !answers.contains_key(name.as_str())))
    {
        return Err(FormError::new(missing, "the required field is missing"));
    }
    for (name, field) in schema.properties.iter() {
        if let Some(answer) = answers.and_then(|answers| answers.get(name.as_str())) {
            let field = mcpgen_types::to_value(field).unwrap_or_default();
            check_field(&field, answer).map_err(|why| FormError::new(name, why))?;
        }
    }
    Ok(())
}

/// Checks a value against its field's schema. `format` is an annotation and is not checked.
///
/// # Errors
///
/// Says what was expected.
pub(crate) fn check_field(field: &Value, answer: &Value) -> Result<(), String> {
    match field.get("type").and_then(Value::as_str) {
        Some("string") => {
            let text = answer.as_str().ok_or_else(|| mismatch("string", answer))?;
            within(field, ("minLength", "maxLength"), text.chars().count() as f64, "characters")?;
            one_of(field, answer)
        }
        Some("boolean") if !answer.is_boolean() => Err(mismatch("boolean", answer)),
        Some(kind @ ("number" | "integer")) => {
            let number = answer.as_f64().filter(|number| kind == "number" || number.fract() == 0.0);
            within(field, ("minimum", "maximum"), number.ok_or_else(|| mismatch(kind, answer))?, "")
        }
        Some("array") => {
            let items = answer.as_array().ok_or_else(|| mismatch("array", answer))?;
            within(field, ("minItems", "maxItems"), items.len() as f64, "items")?;
            items.iter().try_for_each(|item| one_of(field.get("items").unwrap_or(&Value::Null), item))
        }
        _ => Ok(()),
    }
}

/// Checks a number against its bounds. `least` and `most` name the keywords that set them.
fn within(field: &Value, (least, most): (&str, &str), number: f64, unit: &str) -> Result<(), String> {
    let bound = |name: &str| field.get(name).and_then(Value::as_f64);
    // Only lengths have a unit, and they are whole numbers.
    let in_words = |bound: f64| if unit.is_empty() { bound.to_string() } else { counted(bound as u64, unit) };
    match (bound(least), bound(most)) {
        (Some(least), _) if number < least => Err(format!("expected at least {}, found {number}", in_words(least))),
        (_, Some(most)) if number > most => Err(format!("expected at most {}, found {number}", in_words(most))),
        _ => Ok(()),
    }
}

/// Checks that a value is one of the field's options. Accepts any value if the field has none.
fn one_of(field: &Value, answer: &Value) -> Result<(), String> {
    let list = |name: &str| field.get(name).and_then(Value::as_array);
    let constants = ["oneOf", "anyOf"].into_iter().find_map(list);
    let options: Vec<&Value> = match (list("enum"), constants) {
        (Some(options), _) => options.iter().collect(),
        (None, Some(titled)) => titled.iter().filter_map(|option| option.get("const")).collect(),
        (None, None) => return Ok(()),
    };
    if options.contains(&answer) {
        return Ok(());
    }
    let options: Vec<String> = options.into_iter().map(Value::to_string).collect();
    Err(format!("expected one of {}", options.join(", ")))
}

fn mismatch(expected: &str, found: &Value) -> String {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("expected {expected}, found {found}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(content: Value, expected: Result<(), &str>) {
        let form = json!({ "message": "?", "requestedSchema": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": { "type": "string", "minLength": 2, "maxLength": 3 },
                "age": { "type": "integer", "minimum": 0, "maximum": 150 },
                "share": { "type": "number" },
                "agrees": { "type": "boolean" },
                "colour": { "type": "string", "enum": ["red", "blue"] },
                "size": { "type": "string", "oneOf": [{ "const": "s", "title": "Small" }] },
                "days": { "type": "array", "minItems": 1, "items": { "type": "string", "enum": ["mo", "tu"] } },
            },
        }});
        let form: ElicitRequestFormParams = mcpgen_types::from_value(form).expect("params");
        let mut answer = json!({ "action": "accept" });
        if !content.is_null() {
            answer["content"] = content.clone();
        }
        let answer: ElicitResult = mcpgen_types::from_value(answer).expect("a result");
        let checked = check_form(&form, &answer).map_err(|error| error.to_string());
        assert_eq!(checked, expected.map_err(str::to_owned), "{content}");
    }

    #[test]
    fn checks_every_field() {
        check(json!({ "name": "ann" }), Ok(()));
        check(json!({ "name": "äöü", "other": 1 }), Ok(()));
        check(Value::Null, Err("name: the required field is missing"));
        check(json!({ "name": 1 }), Err("name: expected string, found number"));
        check(json!({ "name": "a" }), Err("name: expected at least 2 characters, found 1"));
        check(json!({ "name": "anna" }), Err("name: expected at most 3 characters, found 4"));
        for (field, good, bad, why) in [
            ("age", json!(1.0), json!(1.5), "expected integer, found number"),
            ("age", json!(150), json!(151), "expected at most 150, found 151"),
            ("age", json!(0), json!(-1), "expected at least 0, found -1"),
            ("share", json!(0.5), json!("0.5"), "expected number, found string"),
            ("agrees", json!(false), json!("no"), "expected boolean, found string"),
            ("colour", json!("red"), json!("Red"), "expected one of \"red\", \"blue\""),
            ("size", json!("s"), json!("Small"), "expected one of \"s\""),
            ("days", json!(["mo"]), json!([]), "expected at least 1 item, found 0"),
            ("days", json!(["tu", "mo"]), json!(["we"]), "expected one of \"mo\", \"tu\""),
            ("days", json!(["tu"]), json!("tu"), "expected array, found string"),
        ] {
            check(json!({ "name": "ann", field: good }), Ok(()));
            check(json!({ "name": "ann", field: bad }), Err(&format!("{field}: {why}")));
        }
    }
}
