//! A map whose entries expire.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

/// A map with a limit on its entries, in total and per owner. Each entry expires at a time of type `T`.
///
/// Expired entries stay until [`remove_expired`](Self::remove_expired) is called, which takes time proportional to
/// their number.
#[derive(Debug)]
pub struct ExpiringMap<K, V, T, O = ()> {
    max: usize,
    max_per_owner: usize,
    entries: BTreeMap<K, Entry<V, T, O>>,
    by_expiry: BTreeSet<(T, K)>,
    per_owner: HashMap<O, usize>,
}

#[derive(Debug)]
struct Entry<V, T, O> {
    value: V,
    until: T,
    owner: O,
}

/// A limit (total or per owner) is reached, or the map already has the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotInserted;

impl<K: Ord + Clone, V, T: Ord + Copy, O: Eq + Hash> ExpiringMap<K, V, T, O> {
    /// Creates an empty map with a total limit and a limit per owner.
    #[must_use]
    pub fn new(max: usize, max_per_owner: usize) -> Self {
        Self { max, max_per_owner, entries: BTreeMap::new(), by_expiry: BTreeSet::new(), per_owner: HashMap::new() }
    }

    /// Sets the maximum number of entries per owner.
    pub fn set_max_per_owner(&mut self, max: usize) {
        self.max_per_owner = max;
    }

    /// Returns whether the map has reached its total limit.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.entries.len() >= self.max
    }

    /// Adds an entry.
    ///
    /// # Errors
    ///
    /// Fails if a limit (total or per owner) is reached, or if the map already has the key.
    pub fn insert(&mut self, key: K, owner: O, until: T, value: V) -> Result<(), NotInserted>
    where
        O: Clone,
    {
        let owned = self.per_owner.get(&owner).copied().unwrap_or(0);
        if self.is_full() || owned >= self.max_per_owner || self.entries.contains_key(&key) {
            return Err(NotInserted);
        }
        self.per_owner.insert(owner.clone(), owned + 1);
        self.by_expiry.insert((until, key.clone()));
        self.entries.insert(key, Entry { value, until, owner });
        Ok(())
    }

    /// Returns the owner and the value of an entry.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&O, &V)>
    where
        K: Borrow<Q>,
    {
        self.entries.get(key).map(|entry| (&entry.owner, &entry.value))
    }

    /// Returns the value of an entry.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.entries.get_mut(key).map(|entry| &mut entry.value)
    }

    /// Changes when an entry expires. Does nothing for an unknown key.
    pub fn renew<Q: Ord + ?Sized>(&mut self, key: &Q, until: T)
    where
        K: Borrow<Q>,
    {
        let Some((key, _)) = self.entries.get_key_value(key) else { return };
        let key = key.clone();
        if let Some(entry) = self.entries.get_mut(key.borrow()) {
            self.by_expiry.remove(&(entry.until, key.clone()));
            entry.until = until;
            self.by_expiry.insert((until, key));
        }
    }

    /// Removes an entry and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let (key, Entry { value, until, owner }) = self.entries.remove_entry(key)?;
        self.by_expiry.remove(&(until, key));
        if let Some(owned) = self.per_owner.get_mut(&owner) {
            *owned -= 1;
            if *owned == 0 {
                self.per_owner.remove(&owner);
            }
        }
        Some(value)
    }

    /// Removes expired entries and returns their values, which may be slow to drop and should not be dropped under a
    /// lock.
    pub fn remove_expired(&mut self, now: T) -> Vec<V> {
        let mut expired = Vec::new();
        while self.by_expiry.first().is_some_and(|(until, _)| *until <= now) {
            expired.extend(self.evict().map(|(_, value)| value));
        }
        expired
    }

    /// Returns the earliest expiry of any entry.
    pub fn first_expiry(&self) -> Option<T> {
        self.by_expiry.first().map(|(until, _)| *until)
    }

    /// Removes the entry that expires first. Returns its expiry and value.
    pub fn evict(&mut self) -> Option<(T, V)> {
        let (until, key) = self.by_expiry.first().cloned()?;
        self.remove(key.borrow()).map(|value| (until, value))
    }

    /// Returns the owners and values of the keys greater than `after`, in key order.
    pub fn after<'m, Q: Ord + ?Sized>(&'m self, after: Option<&'m Q>) -> impl Iterator<Item = (&'m O, &'m V)>
    where
        K: Borrow<Q>,
    {
        use std::ops::Bound;
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.entries.range::<Q, _>((start, Bound::Unbounded)).map(|(_, entry)| (&entry.owner, &entry.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_expires_and_evicts() {
        let mut map = ExpiringMap::<&str, u8, u32, &str>::new(3, 2);
        assert_eq!(map.insert("a", "ann", 10, 1), Ok(()));
        assert_eq!(map.insert("a", "bob", 10, 1), Err(NotInserted), "the key is taken");
        assert_eq!(map.insert("b", "ann", 20, 2), Ok(()));
        assert_eq!(map.insert("c", "ann", 20, 3), Err(NotInserted), "the owner has the maximum");
        assert_eq!(map.insert("c", "bob", 30, 3), Ok(()));
        assert_eq!(map.insert("d", "eve", 30, 4), Err(NotInserted), "the map is full");
        assert_eq!(map.after(Some("a")).map(|(_, value)| *value).collect::<Vec<_>>(), [2, 3]);
        map.renew("a", 40);
        assert_eq!(map.remove_expired(20), [2]);
        assert_eq!(map.get("b"), None);
        assert_eq!(map.insert("e", "ann", 50, 5), Ok(()), "the owner is below the maximum again");
        assert_eq!(map.evict(), Some((30, 3)));
        assert_eq!((map.remove("a"), map.remove("a")), (Some(1), None));
        assert_eq!(map.get("e"), Some((&"ann", &5)));
        assert_eq!((map.by_expiry.len(), map.per_owner.len()), (1, 1));
    }
}
