//! Members that a type does not name.

use std::fmt;
use std::marker::PhantomData;

use serde_json::Value;

use crate::Map;
use crate::map::{Iter, iterate};

/// The members of a `T` that `T` has no field for, by name: what a later revision or an extension
/// adds, and what a peer sends on its own account. They are kept, and written back.
///
/// No member can be added under a name that `T` knows. An empty `Extra` takes one pointer's space.
pub struct Extra<T, V = Value> {
    members: Others<V>,
    of: PhantomData<fn() -> T>,
}

/// Boxed, because almost every type has one, and almost always it is empty.
pub(crate) type Others<V> = Option<Box<Map<String, V>>>;

/// The names that a type has fields (or constants) for.
pub trait KnownMembers {
    /// The names as JSON has them.
    const MEMBERS: &'static [&'static str];
}

impl<T, V> Extra<T, V> {
    /// Adds a member, or replaces its value and gives the value it had.
    ///
    /// # Errors
    ///
    /// `T` knows a member of this name.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<V>) -> Result<Option<V>, ExtraError>
    where
        T: KnownMembers,
    {
        let name = refuse(T::MEMBERS, name.into())?;
        Ok(self.members.get_or_insert_default().insert(name, value.into()))
    }

    /// The value of the member.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&V> {
        self.members.as_ref()?.get(name)
    }

    /// The value of the member, to be changed.
    #[must_use]
    pub fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        self.members.as_mut()?.get_mut(name)
    }

    /// Takes the member out.
    pub fn remove(&mut self, name: &str) -> Option<V> {
        self.members.as_mut()?.remove(name)
    }

    /// Whether there is a member of this name.
    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.as_ref().map_or(0, |members| members.len())
    }

    /// Whether there are none.
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

    /// The members in the order of their names.
    pub fn iter(&self) -> Iter<'_, V> {
        self.members.as_ref().map_or_else(|| iterate(&[]), |members| members.iter())
    }
}

fn refuse(known: &[&str], name: String) -> Result<String, ExtraError> {
    if known.contains(&name.as_str()) { Err(ExtraError { name }) } else { Ok(name) }
}

/// The type has a field for the member: set that.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtraError {
    /// The name of the member.
    pub name: String,
}

impl std::error::Error for ExtraError {}

impl fmt::Display for ExtraError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is a member that the type knows", self.name)
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
