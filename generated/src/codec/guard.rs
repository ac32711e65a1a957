//! Guards: conditions that select the variant of a union, so that none is decoded on trial.

use super::{JsonTypes, Literal};

/// Conditions that select a variant of a union. The first guard whose conditions all hold selects its variant. A guard
/// without conditions always matches.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// The conditions.
    pub when: &'static [Condition],
    /// The index of the variant.
    pub variant: usize,
}

/// A condition on an undecoded value.
///
/// The segments of a path are names of members, or decimal indices (`"0"`) of array elements. There is no value at a
/// path that leads through any other kind of value.
#[derive(Clone, Copy, Debug)]
pub enum Condition {
    /// The value has one of these JSON types.
    Type(JsonTypes),
    /// The value at the path is one of these.
    Value(&'static [&'static str], &'static [Literal]),
    /// The path leads to a value.
    Present(&'static [&'static str]),
    /// The path leads to no value.
    Absent(&'static [&'static str]),
}
