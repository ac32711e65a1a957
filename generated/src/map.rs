//! Maps from names to values.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Index;
use std::{iter, slice, vec};

use crate::Error;
use crate::codec::{self, Cursor, DecodeInPlace, Encode, Members, Node, Object, OtherMembers, Unread};

/// A map from strings to values, sorted by key.
///
/// Decoding requires all values of an object to be valid. If a name occurs more than once, its last value counts.
///
/// The map is a sorted vector, which takes less memory and less code than a tree for the small objects of the protocol.
/// Lookup takes logarithmic time. Insertion moves all entries with greater keys.
///
/// ```
/// use mcpgen_types::Map;
///
/// let mut sizes = Map::from([("b".to_owned(), 2), ("a".to_owned(), 1)]);
/// sizes.insert("c", 3);
/// assert_eq!(sizes["a"], 1);
/// assert!(sizes.keys().eq(["a", "b", "c"]));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Map<K, V> {
    /// Sorted by key, without duplicates.
    entries: Vec<(K, V)>,
}

impl<V> Map<String, V> {
    /// Creates an empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|(known, _)| known.as_str().cmp(key))
    }

    /// Inserts a value. Returns the previous value of the key.
    pub fn insert(&mut self, key: impl Into<String>, value: V) -> Option<V> {
        let key = key.into();
        match self.find(&key) {
            Ok(index) => Some(std::mem::replace(&mut self.entries[index].1, value)),
            Err(index) => {
                self.entries.insert(index, (key, value));
                None
            }
        }
    }

    /// Returns a key's value.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&V> {
        self.find(key).ok().map(|index| &self.entries[index].1)
    }

    /// Returns a mutable reference to a key's value.
    #[must_use]
    pub fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        self.find(key).ok().map(|index| &mut self.entries[index].1)
    }

    /// Removes a key and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        self.find(key).ok().map(|index| self.entries.remove(index).1)
    }

    /// Returns whether the map contains the key.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.find(key).is_ok()
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the map is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Iterates over the entries, sorted by key.
    pub fn iter(&self) -> Iter<'_, V> {
        iterate(&self.entries)
    }

    /// Iterates over the keys, sorted.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &String> {
        self.entries.iter().map(|(key, _)| key)
    }

    /// Iterates over the values, sorted by key.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }

    /// Decodes an object into this map, which must be empty.
    pub(crate) fn read_members(&mut self, object: Cursor<'_>, unread: Unread) -> Result<(), Error>
    where
        V: DecodeInPlace,
    {
        let mut members = object.members()?;
        self.entries.reserve_exact(members.clone().count());
        members.try_for_each(|(name, value)| self.push(name, value, unread))?;
        self.sort();
        Ok(())
    }

    fn push(&mut self, name: Cursor<'_>, value: Cursor<'_>, unread: Unread) -> Result<(), Error>
    where
        V: DecodeInPlace,
    {
        if V::IS_EMPTY {
            return Err(value.uninhabited(unread));
        }
        self.entries.push((name.string()?, V::blank(unread)));
        self.entries.last_mut().map_or(Ok(()), |(_, last)| last.read(value, unread))
    }

    /// Sorts the entries by key. Of several entries with equal keys, only the last is kept.
    fn sort(&mut self) {
        let names: Vec<&str> = self.entries.iter().map(|(name, _)| name.as_str()).collect();
        let Some(order) = order_of_names(&names) else { return };
        let mut entries = Vec::with_capacity(self.entries.len());
        for entry in self.entries.drain(..) {
            entries.push(Some(entry));
        }
        for index in order {
            if let Some(entry) = entries.get_mut(index).and_then(Option::take) {
                self.entries.push(entry);
            }
        }
    }
}

/// Returns the indices that sort the names, or `None` if they are already sorted and distinct. Of equal names, only the
/// last is included. Not generic, so that the sort is compiled only once.
pub(crate) fn order_of_names(names: &[&str]) -> Option<Vec<usize>> {
    if names.is_sorted_by(|a, b| a < b) {
        return None;
    }
    let mut order: Vec<usize> = (0..names.len()).collect();
    let name = |index: usize| names.get(index).copied().unwrap_or_default();
    order.sort_by(|a, b| name(*a).cmp(name(*b)));
    order.dedup_by(|later, earlier| {
        let is_equal = name(*later) == name(*earlier);
        if is_equal {
            *earlier = *later;
        }
        is_equal
    });
    Some(order)
}

/// An iterator over the entries of a [`Map`].
pub type Iter<'a, V> = iter::Map<slice::Iter<'a, (String, V)>, fn(&'a (String, V)) -> (&'a String, &'a V)>;

pub(crate) fn iterate<V>(entries: &[(String, V)]) -> Iter<'_, V> {
    entries.iter().map(|(key, value)| (key, value))
}

impl<V> Default for Map<String, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: fmt::Debug> fmt::Debug for Map<String, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<V> Index<&str> for Map<String, V> {
    type Output = V;

    /// Returns a key's value.
    ///
    /// # Panics
    ///
    /// Panics if the map does not contain the key.
    fn index(&self, key: &str) -> &V {
        self.get(key).expect("the map does not contain the key")
    }
}

/// If a key occurs more than once, its last value is kept.
impl<K: Into<String>, V> FromIterator<(K, V)> for Map<String, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

/// If a key occurs more than once, its last value is kept.
impl<K: Into<String>, V> Extend<(K, V)> for Map<String, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        self.entries.extend(entries.into_iter().map(|(key, value)| (key.into(), value)));
        self.sort();
    }
}

impl<K: Into<String>, V, const N: usize> From<[(K, V); N]> for Map<String, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<V> From<BTreeMap<String, V>> for Map<String, V> {
    fn from(entries: BTreeMap<String, V>) -> Self {
        Self { entries: entries.into_iter().collect() }
    }
}

impl<V> From<HashMap<String, V>> for Map<String, V> {
    fn from(entries: HashMap<String, V>) -> Self {
        entries.into_iter().collect()
    }
}

impl<V> IntoIterator for Map<String, V> {
    type Item = (String, V);
    type IntoIter = vec::IntoIter<(String, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a, V> IntoIterator for &'a Map<String, V> {
    type Item = (&'a String, &'a V);
    type IntoIter = Iter<'a, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<V: Encode> Encode for Map<String, V> {
    fn encode(&self) -> Node<'_> {
        Node::Object(self)
    }
}

impl<V: Encode> Object for Map<String, V> {
    fn members(&self, out: &mut Members<'_>) {
        for (name, value) in &self.entries {
            out.member(name, value);
        }
    }
}

/// The entries are not sorted until `finish`.
impl<V: DecodeInPlace + Encode> OtherMembers for Map<String, V> {
    fn blank(_: Unread) -> Self {
        Self::new()
    }

    fn add(&mut self, name: Cursor<'_>, value: Cursor<'_>, unread: Unread) -> Result<(), Error> {
        self.push(name, value, unread)
    }

    fn finish(&mut self) {
        self.sort();
    }

    fn write(&self, out: &mut Members<'_>) {
        self.members(out);
    }
}

codec::generic_serde_impls! { [V: Encode] [V: DecodeInPlace] Map<String, V> }
