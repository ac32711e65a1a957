//! A queue for work that waits until a connection's limits allow it.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// A first-in, first-out queue whose items can also be removed by key, each in logarithmic time.
#[derive(Debug)]
pub(crate) struct Queue<K, T> {
    items: BTreeMap<u64, Item<K, T>>,
    /// The position of each item that has a key.
    positions: HashMap<K, u64>,
    next: u64,
    /// The total size of all items.
    size: usize,
}

#[derive(Debug)]
struct Item<K, T> {
    key: Option<K>,
    size: usize,
    value: T,
}

impl<K: Hash + Eq + Clone, T> Queue<K, T> {
    pub(crate) fn new() -> Self {
        Self { items: BTreeMap::new(), positions: HashMap::new(), next: 0, size: 0 }
    }

    /// Adds an item at the end. A key must not be in the queue already.
    pub(crate) fn push(&mut self, key: Option<K>, size: usize, value: T) {
        let position = self.next;
        self.next += 1;
        self.size += size;
        if let Some(key) = &key {
            self.positions.insert(key.clone(), position);
        }
        self.items.insert(position, Item { key, size, value });
    }

    /// Removes the first item.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let (_, Item { key, size, value }) = self.items.pop_first()?;
        self.size -= size;
        if let Some(key) = key {
            self.positions.remove(&key);
        }
        Some(value)
    }

    /// Removes the item with this key.
    pub(crate) fn remove(&mut self, key: &K) -> Option<T> {
        let position = self.positions.remove(key)?;
        let Item { size, value, .. } = self.items.remove(&position)?;
        self.size -= size;
        Some(value)
    }

    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.positions.clear();
        self.size = 0;
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the total size of all items.
    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::Hasher;

    use super::*;

    thread_local!(static COMPARED: Cell<usize> = const { Cell::new(0) });

    /// A key that counts how often it is compared.
    #[derive(Clone, Debug, Eq)]
    struct Counted(u64);

    impl PartialEq for Counted {
        fn eq(&self, other: &Self) -> bool {
            COMPARED.set(COMPARED.get() + 1);
            self.0 == other.0
        }
    }

    impl Hash for Counted {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    #[test]
    fn removes_by_key_without_scanning() {
        const MANY: u64 = 10_000;
        let mut queue = Queue::new();
        (0..MANY).for_each(|key| queue.push(Some(Counted(key)), 1, key));
        COMPARED.set(0);
        for key in (0..MANY).rev() {
            assert_eq!(queue.remove(&Counted(key)), Some(key));
        }
        assert!(COMPARED.get() < 3 * 10_000, "{} comparisons", COMPARED.get());
        assert!(queue.is_empty() && queue.size() == 0 && queue.positions.is_empty());
    }

    #[test]
    fn keeps_the_order_of_remaining_items() {
        let mut queue = Queue::new();
        for (key, size) in [(Some("a"), 1), (None, 10), (Some("b"), 100), (None, 1000)] {
            queue.push(key, size, size);
        }
        assert_eq!((queue.len(), queue.size()), (4, 1111));
        assert_eq!((queue.remove(&"b"), queue.remove(&"b"), queue.size()), (Some(100), None, 1011));
        assert_eq!([queue.pop(), queue.pop()], [Some(1), Some(10)]);
        assert_eq!((queue.remove(&"a"), queue.size()), (None, 1000));
        queue.clear();
        assert_eq!((queue.pop(), queue.len(), queue.size()), (None, 0, 0));
    }
}
