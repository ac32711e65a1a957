//! The type for schemas that nothing satisfies.

/// A type without values, for a schema that contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Never {}

crate::codec::serde_impls!(Never);
