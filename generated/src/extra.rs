//! Members that have no field.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use crate::codec::{self, Cursor, OtherMembers, Pattern, Unread};
use crate::map::{Iter, iterate};
use crate::{Error, Json, JsonObject, JsonRef, Map};

/// The members of an object for which its type `T` has no field.
///
/// They come from later revisions, extensions or vendors. Decoding keeps them, and encoding writes them back.
///
/// Any member is allowed, unless the schema restricts the values to a type `V`; then `M` is `Map<String, V>`.
///
/// [`insert`](Self::insert) rejects names for which `T` has a field. An empty `Extra` is as small as a pointer.
pub struct Extra<T, M = JsonObject> {
    /// Boxed, because almost every type has an `Extra`, which is usually empty.
    members: Option<Box<M>>,
    of: PhantomData<fn() -> T>,
}

/// A type that knows the names of its members.
pub trait KnownMembers {
    /// The JSON names of members with a field or a constant.
    const MEMBERS: &'static [&'static str];

    /// Returns the pattern of the type, if any. Members that match it have their own field.
    #[must_use]
    fn pattern() -> Option<&'static Pattern> {
        None
    }

    /// Returns whether [`Extra::insert`] accepts this name.
    #[must_use]
    fn is_extra(name: &str) -> bool {
        if Self::pattern().is_some_and(|pattern| pattern.matches(name)) {
            return false;
        }
        !Self::MEMBERS.contains(&name)
    }
}

impl<T, M: OtherMembers> Extra<T, M> {
    /// Called after the last member was added.
    #[inline]
    pub fn finish(&mut self, _: Unread) {
        codec::finish_members(&mut self.members);
    }

    #[inline]
    pub(crate) fn add(&mut self, name: Cursor<'_>, value: Cursor<'_>, unread: Unread) -> Result<(), Error> {
        codec::add_member(&mut self.members, name, value, unread)
    }

    pub(crate) fn members(&self) -> Option<&M> {
        self.members.as_deref()
    }
}

impl<T, M> Extra<T, M> {
    fn check(name: &str) -> Result<(), ExtraError>
    where
        T: KnownMembers,
    {
        if T::is_extra(name) {
            return Ok(());
        }
        Err(ExtraError { name: name.to_owned(), is_known: T::MEMBERS.contains(&name) })
    }
}

impl<T> Extra<T> {
    /// Inserts a member. Returns its previous value.
    ///
    /// # Errors
    ///
    /// Returns [`ExtraError`] if `T` has a field or constant with this name, or if the pattern of `T` assigns the name
    /// to another field.
    pub fn insert(&mut self, name: impl AsRef<str>, value: impl Into<Json>) -> Result<Option<Json>, ExtraError>
    where
        T: KnownMembers,
    {
        Self::check(name.as_ref())?;
        Ok(self.members.get_or_insert_default().insert(name, value))
    }

    /// Returns the value of a member.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<JsonRef<'_>> {
        self.members.as_ref()?.get(name)
    }

    /// Removes a member and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        self.members.as_mut()?.remove(name)
    }

    /// Returns whether there is a member with this name.
    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns the number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.as_ref().map_or(0, |members| members.len())
    }

    /// Returns whether there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.as_ref().is_none_or(|members| members.is_empty())
    }

    /// Returns the members in order.
    pub fn iter(&self) -> std::vec::IntoIter<(Cow<'_, str>, JsonRef<'_>)> {
        self.members.as_ref().map_or_else(|| Vec::new().into_iter(), |members| members.iter())
    }
}

impl<T, V> Extra<T, Map<String, V>> {
    /// Inserts a member. Returns its previous value.
    ///
    /// # Errors
    ///
    /// Returns [`ExtraError`] if `T` has a field or constant with this name, or if the pattern of `T` assigns the name
    /// to another field.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<V>) -> Result<Option<V>, ExtraError>
    where
        T: KnownMembers,
    {
        let name = name.into();
        Self::check(&name)?;
        Ok(self.members.get_or_insert_default().insert(name, value.into()))
    }

    /// Returns the value of a member.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&V> {
        self.members.as_ref()?.get(name)
    }

    /// Returns a mutable reference to the value of a member.
    #[must_use]
    pub fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        self.members.as_mut()?.get_mut(name)
    }

    /// Removes a member and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<V> {
        self.members.as_mut()?.remove(name)
    }

    /// Returns whether there is a member with this name.
    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns the number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.as_ref().map_or(0, |members| members.len())
    }

    /// Returns whether there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the members, sorted by name.
    pub fn iter(&self) -> Iter<'_, V> {
        self.members.as_ref().map_or_else(|| iterate(&[]), |members| members.iter())
    }
}

/// Why [`Extra::insert`] rejected a member: the type knows it, or its pattern does not allow it in this field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtraError {
    /// The name of the member.
    pub name: String,
    /// Whether the type has a field or constant for the member. Otherwise, its pattern does not allow the member here.
    pub is_known: bool,
}

impl std::error::Error for ExtraError {}

impl fmt::Display for ExtraError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_known {
            true => write!(f, "`{}` is a known member, not an extra one", self.name),
            false => write!(f, "`{}` is not allowed in this field, because of the pattern of the type", self.name),
        }
    }
}

impl<T, M> Default for Extra<T, M> {
    fn default() -> Self {
        Self { members: None, of: PhantomData }
    }
}

impl<T, M: Clone> Clone for Extra<T, M> {
    fn clone(&self) -> Self {
        Self { members: self.members.clone(), of: PhantomData }
    }
}

impl<T, M: fmt::Debug> fmt::Debug for Extra<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.members {
            Some(members) => members.fmt(f),
            None => f.write_str("{}"),
        }
    }
}

impl<T, M: PartialEq + Default> PartialEq for Extra<T, M> {
    fn eq(&self, other: &Self) -> bool {
        match (&self.members, &other.members) {
            (Some(a), Some(b)) => a == b,
            (Some(members), None) | (None, Some(members)) => **members == M::default(),
            (None, None) => true,
        }
    }
}

impl<T> IntoIterator for Extra<T> {
    type Item = (String, Json);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.map_or_else(|| Vec::new().into_iter(), |members| members.into_iter())
    }
}

impl<'a, T> IntoIterator for &'a Extra<T> {
    type Item = (Cow<'a, str>, JsonRef<'a>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T, V> IntoIterator for Extra<T, Map<String, V>> {
    type Item = (String, V);
    type IntoIter = std::vec::IntoIter<(String, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.map(|members| *members).unwrap_or_default().into_iter()
    }
}

impl<'a, T, V> IntoIterator for &'a Extra<T, Map<String, V>> {
    type Item = (&'a String, &'a V);
    type IntoIter = Iter<'a, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
