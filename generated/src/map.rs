//! Maps from names to values.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Index;
use std::{iter, slice, vec};

use crate::Error;
use crate::codec::{self, Cursor, Decode, DecodeInPlace, Encode, Members, Node, Object, Unread};

/// A map from strings to values, in the order of the strings.
///
/// It is a sorted vector, which for the small objects of the protocol takes less memory and less code than a tree.
/// Finding a key takes logarithmic time; inserting one moves the keys after it.
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
    /// Sorted by key, and without equal keys.
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

    /// Inserts a value. Returns the value that the key had before.
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

    /// Returns the value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&V> {
        self.find(key).ok().map(|index| &self.entries[index].1)
    }

    /// Returns the value of a key, to be changed.
    #[must_use]
    pub fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        self.find(key).ok().map(|index| &mut self.entries[index].1)
    }

    /// Removes a key, and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        self.find(key).ok().map(|index| self.entries.remove(index).1)
    }

    /// Whether the map has the key.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.find(key).is_ok()
    }

    /// The number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the map has no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Iterates over keys and values, in the order of the keys.
    pub fn iter(&self) -> Iter<'_, V> {
        iterate(&self.entries)
    }

    /// Iterates over the keys, in their order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &String> {
        self.entries.iter().map(|(key, _)| key)
    }

    /// Iterates over the values, in the order of their keys.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }

    /// Decodes members that are sorted by name, each name once, into this map, which is empty.
    pub(crate) fn read_members(&mut self, members: &[(Cursor<'_>, Cursor<'_>)], unread: Unread) -> Result<(), Error>
    where
        V: DecodeInPlace,
    {
        self.entries.reserve_exact(members.len());
        for (name, value) in members {
            if V::IS_EMPTY {
                return Err(value.uninhabited(unread));
            }
            self.entries.push((name.string()?, V::blank(unread)));
            if let Some((_, last)) = self.entries.last_mut() {
                last.read(*value, unread)?;
            }
        }
        Ok(())
    }
}

/// Iterates over the keys and values of a [`Map`].
pub type Iter<'a, V> = iter::Map<slice::Iter<'a, (String, V)>, fn(&'a (String, V)) -> (&'a String, &'a V)>;

/// Iterates over entries in their order.
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

    /// Panics if the map does not have the key, as the maps of the standard library do.
    fn index(&self, key: &str) -> &V {
        self.get(key).expect("the map has the key")
    }
}

/// Of equal keys, the last value stays.
impl<K: Into<String>, V> FromIterator<(K, V)> for Map<String, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

/// Of equal keys, the last value stays.
impl<K: Into<String>, V> Extend<(K, V)> for Map<String, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        self.entries.extend(entries.into_iter().map(|(key, value)| (key.into(), value)));
        // Equal keys keep their order. Reversed, the first of them is the last one.
        self.entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.entries.reverse();
        self.entries.dedup_by(|(a, _), (b, _)| a == b);
        self.entries.reverse();
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

/// Of a name that occurs twice, the last value stays.
impl<V: DecodeInPlace> Decode for Map<String, V> {
    const NAME: &'static str = "object";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        codec::decode_in_place(json)
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

impl<V: Encode> serde::Serialize for Map<String, V> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        codec::serialize(self, serializer)
    }
}

impl<'de, V: DecodeInPlace> serde::Deserialize<'de> for Map<String, V> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        codec::deserialize(deserializer)
    }
}
