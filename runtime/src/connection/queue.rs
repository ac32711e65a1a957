//! A queue for work that waits until a connection's limits allow it.

use std::collections::VecDeque;

/// A first-in, first-out queue. Items can also be removed by their position, in logarithmic time.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    /// The items by position, including removed ones that are not yet swept.
    items: VecDeque<Item<T>>,
    next: u64,
    len: usize,
    /// The total size of all items.
    size: usize,
}

#[derive(Debug)]
struct Item<T> {
    position: u64,
    size: usize,
    /// `None` if the item was removed.
    value: Option<T>,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Self { items: VecDeque::new(), next: 1, len: 0, size: 0 }
    }

    /// Adds an item at the end. Returns its position, which is not zero and is never used again.
    pub(crate) fn push(&mut self, size: usize, value: T) -> u64 {
        let position = self.next;
        self.next += 1;
        self.len += 1;
        self.size += size;
        self.items.push_back(Item { position, size, value: Some(value) });
        position
    }

    /// Returns the first item.
    pub(crate) fn first(&mut self) -> Option<&T> {
        while self.items.front().is_some_and(|item| item.value.is_none()) {
            self.items.pop_front();
        }
        self.items.front()?.value.as_ref()
    }

    /// Removes the first item.
    pub(crate) fn pop(&mut self) -> Option<T> {
        while let Some(Item { size, value, .. }) = self.items.pop_front() {
            if value.is_some() {
                self.len -= 1;
                self.size -= size;
                return value;
            }
        }
        None
    }

    /// Removes the item at a position.
    pub(crate) fn remove(&mut self, position: u64) -> Option<T> {
        let index = self.items.binary_search_by_key(&position, |item| item.position).ok()?;
        let Item { size, value, .. } = self.items.get_mut(index)?;
        let (size, value) = (*size, value.take()?);
        self.len -= 1;
        self.size -= size;
        // At most half of the items are removed ones, so sweeping them costs a constant time per removal.
        if self.items.len() > 2 * self.len + SWEEP_FROM {
            self.items.retain(|item| item.value.is_some());
        }
        Some(value)
    }

    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.len = 0;
        self.size = 0;
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the total size of all items.
    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

/// How many removed items a queue may hold in addition to its other items.
const SWEEP_FROM: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_items_in_any_order() {
        const MANY: u64 = 10_000;
        let mut queue = Queue::new();
        let positions: Vec<u64> = (0..MANY).map(|value| queue.push(1, value)).collect();
        for (value, position) in positions.iter().enumerate().rev() {
            assert_eq!(queue.remove(*position), Some(value as u64));
            assert_eq!(queue.remove(*position), None);
        }
        assert!(queue.is_empty() && queue.size() == 0);
    }

    #[test]
    fn does_not_grow_when_items_are_removed_behind_the_first() {
        let mut queue = Queue::new();
        queue.push(1, 0);
        let mut last = queue.push(1, 0);
        for _ in 0..10_000 {
            let added = queue.push(1, 0);
            assert_eq!(queue.remove(last), Some(0));
            last = added;
        }
        assert_eq!(queue.len(), 2);
        assert!(queue.items.len() <= 2 * queue.len() + SWEEP_FROM, "{} items", queue.items.len());
        assert_eq!([queue.pop(), queue.pop(), queue.pop()], [Some(0), Some(0), None]);
    }

    #[test]
    fn keeps_the_order_of_remaining_items() {
        let mut queue = Queue::new();
        let positions = [1, 10, 100, 1000].map(|size| queue.push(size, size));
        assert_eq!((queue.len(), queue.size()), (4, 1111));
        assert_eq!((queue.remove(positions[2]), queue.remove(positions[2]), queue.size()), (Some(100), None, 1011));
        assert_eq!(queue.first(), Some(&1));
        assert_eq!((queue.remove(positions[0]), queue.first()), (Some(1), Some(&10)));
        assert_eq!(queue.pop(), Some(10));
        assert_eq!((queue.remove(positions[0]), queue.remove(0), queue.size()), (None, None, 1000));
        queue.clear();
        assert_eq!((queue.pop(), queue.len(), queue.size()), (None, 0, 0));
    }
}
