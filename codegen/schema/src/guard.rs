//! Guards: the conditions that select a union's variant.

use std::fmt;

use crate::check::{Check, MemberChecks};
use crate::json::Json;
use crate::json_types::JsonTypes;
use crate::limits::Length;

/// Conditions for one variant. The first guard whose conditions all hold selects its variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// All must hold. Empty means "otherwise".
    pub when: Vec<Condition>,
    /// The index of the variant in the union.
    pub variant: usize,
}

/// A condition on a document. A path consists of object keys; `0` also means the first item of an array.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// The value has one of these JSON types.
    Type(JsonTypes),
    /// The value at the path equals one of these.
    Value(Vec<String>, Vec<Json>),
    /// There is a value at the path.
    Present(Vec<String>),
    /// There is no value at the path.
    Absent(Vec<String>),
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |segments: &[String]| {
            if segments.is_empty() { "the value".to_owned() } else { format!("`{}`", segments.join(".")) }
        };
        match self {
            Condition::Type(types) => write!(f, "JSON type {}", types.names().collect::<Vec<_>>().join(" or ")),
            Condition::Value(segments, values) => {
                let values: Vec<String> = values.iter().map(Json::to_string).collect();
                write!(f, "{} is {}", path(segments), values.join(" or "))
            }
            Condition::Present(segments) => write!(f, "{} is present", path(segments)),
            Condition::Absent(segments) => write!(f, "{} is absent", path(segments)),
        }
    }
}

/// Returns a check that accepts a document if the variant that the guards select accepts it.
pub fn decided(guards: &[Guard], variants: &[Check]) -> Check {
    guards.iter().rev().fold(Check::Nothing, |otherwise, guard| {
        let when = Check::All(guard.when.iter().map(Condition::to_check).collect());
        Check::If(Box::new([when, variants[guard.variant].clone(), otherwise]))
    })
}

/// Returns a check that requires a value at a path and applies `check` to it.
pub fn at_path(path: &[String], check: Check) -> Check {
    let Some((name, rest)) = path.split_first() else { return check };
    let below = at_path(rest, check);
    let members = MemberChecks { named: vec![(name.clone(), below.clone())], ..MemberChecks::default() };
    let object =
        [Check::Type(JsonTypes::OBJECT), Check::Required(vec![name.clone()]), Check::Members(Box::new(members))];
    let object = Check::All(object.into());
    if name != "0" {
        return object;
    }
    let count = Check::ItemCount(Length { min: 1, max: None });
    let array = [Check::Type(JsonTypes::ARRAY), count, Check::Items(vec![below], None)];
    Check::Any(vec![object, Check::All(array.into())])
}

impl Condition {
    /// Returns the condition as a check.
    pub fn to_check(&self) -> Check {
        match self {
            Condition::Type(types) => Check::Type(*types),
            Condition::Value(path, values) => at_path(path, Check::Values(values.clone())),
            Condition::Present(path) => at_path(path, Check::Anything),
            Condition::Absent(path) => Check::Not(Box::new(at_path(path, Check::Anything))),
        }
    }
}
