//! Guards: conditions that select the variant of a union.

use std::fmt;

use crate::json::Json;
use crate::json_types::JsonTypes;

/// Conditions that select a variant. The first guard of a union whose conditions all hold selects its variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// The conditions. Empty for "otherwise".
    pub when: Vec<Condition>,
    /// The variant, by its index in the union.
    pub variant: usize,
}

/// A condition on a document. Paths consist of object keys, and `0` for the first item of an array.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// The JSON type is one of these.
    Type(JsonTypes),
    /// The value at the path is one of these.
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
