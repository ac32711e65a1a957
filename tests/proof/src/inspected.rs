//! Converts reports of `mcpgen inspect` to rules for the judge.

use crate::judge::{Condition, Rule};
use mcpgen::Protocol;
use serde_json::Value;

/// Returns the report that `mcpgen inspect --format json` writes.
///
/// # Panics
///
/// Panics if inspecting fails, or if the report does not have the documented format.
#[must_use]
pub fn inspected(protocol: &Protocol) -> Value {
    let report = mcpgen_model::inspect::inspect(protocol).unwrap_or_else(|error| panic!("{error}"));
    let report: Value = serde_json::from_str(&report.to_json()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report["version"], 1, "the version of the documented format");
    report
}

/// Returns the generator's rules for a union in the report, or `None` if the schema's `anyOf` lacks a member that they
/// choose.
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
        other => panic!("undocumented kind of condition: {other}"),
    }
}

/// Returns the index of a member in the schema's `anyOf`: by its name, by its position if it is not a reference, or by
/// its JSON type.
fn member(union: &Value, name: &str, members: &[Value]) -> Option<usize> {
    let by_name = || members.iter().position(|member| reference(member) == Some(name));
    let by_position = || {
        let listed = list(&union["variants"]);
        let index = listed.iter().position(|listed| listed == name)?;
        (listed.len() == members.len() && reference(&members[index]).is_none()).then_some(index)
    };
    // A member with several types is several variants.
    let by_type = || {
        let name = if name.starts_with("list of ") { "array" } else { name };
        let has_type = |member: &Value| match &member["type"] {
            Value::Array(names) => names.iter().any(|other| other == name),
            one => one == name,
        };
        let mut found = (0..members.len()).filter(|index| has_type(&members[*index]));
        found.next().filter(|_| found.next().is_none())
    };
    by_name().or_else(by_position).or_else(by_type)
}

/// Returns the definition that a schema refers to, or `None` if the schema is not a reference.
#[must_use]
pub fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// Returns a value of the report as a list.
///
/// # Panics
///
/// Panics if the value is not an array.
#[must_use]
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or_else(|| panic!("not an array: {value}"), Vec::as_slice)
}

/// Returns a value of the report as a string.
///
/// # Panics
///
/// Panics if the value is not a string.
#[must_use]
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a string: {value}"))
}
