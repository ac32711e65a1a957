//! Guards: conditions that select a union's variant, so that no variant is decoded only to see whether it fits.

use super::{JsonTypes, Literal};

/// The conditions for one variant. The first guard whose conditions all hold selects its variant. A guard without
/// conditions always holds.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// All must hold.
    pub when: &'static [Condition],
    /// The index of the variant in the union.
    pub variant: usize,
}

/// A condition on a value that is not decoded yet.
///
/// A path consists of member names, and of decimal indices (`"0"`) of array elements. If it leads through another kind
/// of value, there is no value at the path.
#[derive(Clone, Copy, Debug)]
pub enum Condition {
    /// The value has one of these JSON types.
    Type(JsonTypes),
    /// The value at the path equals one of these.
    Value(&'static [&'static str], &'static [Literal]),
    /// There is a value at the path.
    Present(&'static [&'static str]),
    /// There is no value at the path.
    Absent(&'static [&'static str]),
}
