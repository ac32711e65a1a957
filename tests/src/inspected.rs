//! What `mcpgen inspect` says of a schema, in the judge's words.

use crate::judge::{Condition, Rule};
use mcpgen::Protocol;
use serde_json::Value;

/// What `mcpgen inspect --format json` writes.
///
/// # Panics
///
/// If it cannot, or if the form is not the documented one.
#[must_use]
pub fn inspected(protocol: &Protocol) -> Value {
    let report = mcpgen::inspect::inspect(protocol).unwrap_or_else(|error| panic!("{error}"));
    let report: Value = serde_json::from_str(&report.to_json()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report["version"], 1, "the documented form");
    report
}

/// The generator's rules, of a union as `inspect` tells it. `None` if a member cannot be found in the schema's `anyOf`.
#[must_use]
pub fn rules(union: &Value, members: &[Value]) -> Option<Vec<Rule>> {
    let rule = |guard: &Value| {
        let when = list(&guard["when"]).iter().map(condition).collect();
        Some((when, member(union, text(&guard["variant"]), members)?))
    };
    list(&union["guards"]).iter().map(rule).collect()
}

fn condition(condition: &Value) -> Condition {
    let path = || list(&condition["path"]).iter().map(|step| text(step).to_owned()).collect();
    match text(&condition["kind"]) {
        "present" => Condition::Present(path()),
        "absent" => Condition::Absent(path()),
        "value" => Condition::OneOf(path(), list(&condition["any_of"]).iter().map(Value::to_string).collect()),
        "type" => Condition::Type(list(&condition["types"]).iter().map(|name| text(name).to_owned()).collect()),
        other => panic!("no such condition is documented: {other}"),
    }
}

/// Where the member stands in the schema's `anyOf`: by its name, or if it has none there, by its place.
fn member(union: &Value, name: &str, members: &[Value]) -> Option<usize> {
    let named = members.iter().position(|member| reference(member) == Some(name));
    named.or_else(|| {
        let listed = list(&union["variants"]);
        let index = listed.iter().position(|listed| listed == name)?;
        (listed.len() == members.len() && reference(&members[index]).is_none()).then_some(index)
    })
}

/// The definition that a schema is a reference to.
#[must_use]
pub fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// A list of the report.
///
/// # Panics
///
/// If it is none.
#[must_use]
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or_else(|| panic!("no list: {value}"), Vec::as_slice)
}

/// A string of the report.
///
/// # Panics
///
/// If it is none.
#[must_use]
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no string: {value}"))
}
