//! A queue for work that has to wait for a connection's limits.

use std::collections::BTreeMap;

/// A first-in, first-out queue that also removes items by position.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    /// The size and value of each item, by position.
    items: BTreeMap<u64, (usize, T)>,
    next: u64,
    size: usize,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Self { items: BTreeMap::new(), next: 1, size: 0 }
    }

    /// Adds an item. Returns its position, which is not zero and is never reused.
    pub(crate) fn push(&mut self, size: usize, value: T) -> u64 {
        let position = self.next;
        self.next += 1;
        self.size += size;
        self.items.insert(position, (size, value));
        position
    }

    pub(crate) fn first(&self) -> Option<&T> {
        self.items.first_key_value().map(|(_, (_, value))| value)
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let (&position, _) = self.items.first_key_value()?;
        self.remove(position)
    }

    pub(crate) fn remove(&mut self, position: u64) -> Option<T> {
        let (size, value) = self.items.remove(&position)?;
        self.size -= size;
        Some(value)
    }

    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.size = 0;
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_order_of_remaining_items() {
        let mut queue = Queue::new();
        let positions = [1, 10, 100, 1000].map(|size| queue.push(size, size));
        assert_eq!((queue.len(), queue.size()), (4, 1111));
        assert_eq!((queue.remove(positions[2]), queue.remove(positions[2]), queue.size()), (Some(100), None, 1011));
        assert_eq!((queue.remove(positions[0]), queue.first()), (Some(1), Some(&10)));
        assert_eq!((queue.pop(), queue.remove(0), queue.size()), (Some(10), None, 1000));
        queue.clear();
        assert_eq!((queue.pop(), queue.len(), queue.size()), (None, 0, 0));
    }
}
