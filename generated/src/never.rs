//! The type of a schema that nothing fulfils.

/// There is no value of this type: its schema contradicts itself, so no JSON value is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Never {}

crate::codec::serde_impls!(Never);
