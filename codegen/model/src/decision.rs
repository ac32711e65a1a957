//! Decisions of unions: ordered guards that lead to one variant each.
//!
//! In most unions of the protocol, a document can be valid against several variants, because objects are open. The
//! first guard that holds decides, and the union accepts what that variant accepts. So it never accepts what `anyOf`
//! rejects.

use std::fmt;

use mcpgen_schema::JsonTypes;
use mcpgen_schema::json::Json;

/// The decision of a union.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The guards in order. The first that holds decides.
    pub guards: Vec<Guard>,
    /// Variants that another variant contains, as (contained, containing).
    pub absorbed: Vec<(usize, usize)>,
    /// Whether two variants may accept the same document, so that the decision can reject what `anyOf` accepts.
    pub overlapping: bool,
}

/// One step of a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// The conditions, which must all hold. Empty for "otherwise".
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
