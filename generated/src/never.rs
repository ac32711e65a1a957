//! The type of a schema that no value satisfies.

/// A type without values, for a schema that contradicts itself: no JSON value is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Never {}

crate::codec::serde_impls!(Never);
