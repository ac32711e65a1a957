//! Members whose names match a pattern.

use std::marker::PhantomData;

use super::{Cursor, DecodeInPlace, Pattern, Unread};
use crate::{Error, ErrorKind, Extra, KnownMembers};

/// Marks the members of a type `T` that have no field and whose names match the pattern of `T`. `Extra<Matching<T>, V>`
/// holds such members.
pub struct Matching<T>(PhantomData<fn() -> T>);

impl<T: KnownMembers> KnownMembers for Matching<T> {
    const MEMBERS: &'static [&'static str] = T::MEMBERS;

    fn is_extra(name: &str) -> bool {
        !T::MEMBERS.contains(&name) && is_matching::<T>(name)
    }
}

fn is_matching<T: KnownMembers>(name: &str) -> bool {
    T::pattern().is_some_and(|pattern: &Pattern| pattern.matches(name))
}

/// Returns whether the name of a member matches.
fn is_matching_in<T: KnownMembers>(name: Cursor<'_>, value: Cursor<'_>) -> Result<bool, Error> {
    let pattern = T::pattern().map(|pattern| pattern.matches_in(value, &name.as_str().unwrap_or_default()));
    pattern.unwrap_or(Ok(false))
}

/// Returns the unknown members whose names match the pattern, or with `matching` unset those whose names do not.
fn members<'a, T: KnownMembers>(object: Cursor<'a>, matching: bool) -> Result<Vec<(Cursor<'a>, Cursor<'a>)>, Error> {
    let mut members = object.members_by_name(T::MEMBERS)?;
    let mut failure = None;
    members.retain(|(name, value)| {
        let is_kept = is_matching_in::<T>(*name, *value).map(|is_match| is_match == matching);
        is_kept.unwrap_or_else(|error| {
            failure.get_or_insert(error);
            false
        })
    });
    failure.map_or(Ok(members), Err)
}

/// Decodes the unknown members whose names match the pattern of the type.
pub fn read_matching<T: KnownMembers, V: DecodeInPlace>(
    object: Cursor<'_>,
    extra: &mut Extra<Matching<T>, V>,
    unread: Unread,
) -> Result<(), Error> {
    match members::<T>(object, true)? {
        members if members.is_empty() => Ok(()),
        members => extra.others().insert(Box::default()).read_members(&members, unread),
    }
}

/// Decodes the unknown members whose names do not match the pattern of the type.
pub fn read_unmatched<T: KnownMembers, V: DecodeInPlace>(
    object: Cursor<'_>,
    extra: &mut Extra<T, V>,
    unread: Unread,
) -> Result<(), Error> {
    match members::<T>(object, false)? {
        members if members.is_empty() => Ok(()),
        members => extra.others().insert(Box::default()).read_members(&members, unread),
    }
}

/// Rejects unknown members whose names do not match the pattern of the type.
///
/// # Errors
///
/// Returns [`ErrorKind::Unexpected`] at the first such member, and [`ErrorKind::PatternTooExpensive`].
pub fn refuse_unmatched<T: KnownMembers>(object: Cursor<'_>, _: Unread) -> Result<(), Error> {
    let mut others = object.members()?.filter(|(name, _)| object.is_unknown(*name, T::MEMBERS));
    others.try_for_each(|(name, value)| match is_matching_in::<T>(name, value)? {
        true => Ok(()),
        false => Err(value.error(ErrorKind::Unexpected)),
    })
}
