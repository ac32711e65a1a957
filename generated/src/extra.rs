//! Members that a type has no field for.

use std::fmt;
use std::marker::PhantomData;

use serde_json::Value;

use crate::Map;
use crate::codec::Pattern;
use crate::map::{Iter, iterate};

/// The members of an object that its type `T` has no field for, by name.
///
/// Such members come from later revisions, extensions or vendors. Decoding keeps them, and encoding writes them back.
///
/// [`insert`](Self::insert) rejects names that `T` has a field for. An empty `Extra` has the size of a pointer.
pub struct Extra<T, V = Value> {
    members: Others<V>,
    of: PhantomData<fn() -> T>,
}

/// Boxed, because almost every type has an `Extra`, and most are empty.
pub(crate) type Others<V> = Option<Box<Map<String, V>>>;

/// A type with a known set of member names.
pub trait KnownMembers {
    /// The JSON names of the members that the type has fields or constants for.
    const MEMBERS: &'static [&'static str];

    /// Returns the pattern of the type, if any. Members whose names match it are in a separate field.
    #[must_use]
    fn pattern() -> Option<&'static Pattern> {
        None
    }

    /// Returns whether [`Extra::insert`] accepts a member of this name.
    #[must_use]
    fn is_extra(name: &str) -> bool {
        if Self::pattern().is_some_and(|pattern| pattern.matches(name)) {
            return false;
        }
        !Self::MEMBERS.contains(&name)
    }
}

impl<T, V> Extra<T, V> {
    /// Inserts a member. Returns its previous value.
    ///
    /// # Errors
    ///
    /// Returns [`ExtraError`] if `T` has a field or a constant of this name, or if the pattern of `T` does not allow
    /// the name in this field.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<V>) -> Result<Option<V>, ExtraError>
    where
        T: KnownMembers,
    {
        let name = name.into();
        if !T::is_extra(&name) {
            let is_known = T::MEMBERS.contains(&name.as_str());
            return Err(ExtraError { name, is_known });
        }
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

    /// Returns whether a member of this name exists.
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

    pub(crate) fn as_map(&self) -> Option<&Map<String, V>> {
        self.members.as_deref()
    }

    pub(crate) fn others(&mut self) -> &mut Others<V> {
        &mut self.members
    }

    /// Iterates over the members in the order of their names.
    pub fn iter(&self) -> Iter<'_, V> {
        self.members.as_ref().map_or_else(|| iterate(&[]), |members| members.iter())
    }
}

/// The error of [`Extra::insert`]: the type knows this member, or its pattern does not allow the member in this field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtraError {
    /// The name of the member.
    pub name: String,
    /// Whether the type has a field or a constant for the member. If not, its pattern does not allow the member here.
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

impl<T, V> Default for Extra<T, V> {
    fn default() -> Self {
        Self { members: None, of: PhantomData }
    }
}

impl<T, V: Clone> Clone for Extra<T, V> {
    fn clone(&self) -> Self {
        Self { members: self.members.clone(), of: PhantomData }
    }
}

impl<T, V: fmt::Debug> fmt::Debug for Extra<T, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<T, V: PartialEq> PartialEq for Extra<T, V> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T, V: Eq> Eq for Extra<T, V> {}

impl<T, V> IntoIterator for Extra<T, V> {
    type Item = (String, V);
    type IntoIter = std::vec::IntoIter<(String, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.map(|members| *members).unwrap_or_default().into_iter()
    }
}

impl<'a, T, V> IntoIterator for &'a Extra<T, V> {
    type Item = (&'a String, &'a V);
    type IntoIter = Iter<'a, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
