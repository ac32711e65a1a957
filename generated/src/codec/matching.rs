//! Members whose names match a pattern.

use std::marker::PhantomData;

use super::{Cursor, Pattern};
use crate::{Error, KnownMembers};

/// Marks the members of `T` that have no field but match its pattern. `Extra<Matching<T>, Map<String, V>>` contains
/// them.
#[derive(Debug)]
pub struct Matching<T>(PhantomData<fn() -> T>);

impl<T: KnownMembers> KnownMembers for Matching<T> {
    const MEMBERS: &'static [&'static str] = T::MEMBERS;

    fn is_extra(name: &str) -> bool {
        let is_matching = T::pattern().is_some_and(|pattern: &Pattern| pattern.matches(name));
        !T::MEMBERS.contains(&name) && is_matching
    }
}

/// Returns whether a member's name matches the pattern of the type.
///
/// # Errors
///
/// Returns [`ErrorKind::PatternTooExpensive`](crate::ErrorKind::PatternTooExpensive).
pub fn is_matching<T: KnownMembers>(name: Cursor<'_>, value: Cursor<'_>) -> Result<bool, Error> {
    let pattern = T::pattern().map(|pattern| pattern.matches_in(value, &name.as_str().unwrap_or_default()));
    pattern.unwrap_or(Ok(false))
}
