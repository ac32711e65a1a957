//! Decisions of unions: ordered guards, each leading to one variant.
//!
//! Most unions of the protocol overlap by the letter of the schema, because objects are open. A decision makes them
//! functions: the first guard that holds names the variant, and the union accepts what that variant accepts. So it never
//! accepts what `anyOf` refuses.

use std::fmt;

use crate::json::Json;
use crate::schema::json_types::JsonTypes;

/// The decision of a union.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// In order; the first that holds decides.
    pub guards: Vec<Guard>,
    /// Variants that another variant contains: (the variant, the one that contains it).
    pub absorbed: Vec<(usize, usize)>,
    /// Whether two variants are not shown to exclude each other, so that the decision refuses what `anyOf` accepts.
    pub overlapping: bool,
}

/// One step of a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// All must hold; empty means otherwise.
    pub when: Vec<Condition>,
    /// The variant, by its index in the union.
    pub variant: usize,
}

/// What a guard looks at. Paths are object keys, and `0` for the first item of an array.
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
