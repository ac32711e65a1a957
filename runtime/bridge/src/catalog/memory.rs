//! The budget for lists of servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A budget in bytes, which several clients share.
#[derive(Debug)]
pub struct Memory {
    max: usize,
    used: AtomicUsize,
}

/// A part of the budget that is in use, returned on drop.
#[derive(Debug)]
pub struct Held {
    memory: Arc<Memory>,
    bytes: usize,
}

impl Memory {
    /// Creates a budget of `max` bytes.
    #[must_use]
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, used: AtomicUsize::new(0) })
    }

    /// Returns the bytes that are in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes bytes from the budget. Returns `None` if too few are left.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Option<Held> {
        let more = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.max);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Held { memory: Arc::clone(self), bytes })
    }

    /// Takes bytes even if too few are left. Until they are released, [`take`](Self::take) fails.
    pub fn take_always(self: &Arc<Self>, bytes: usize) -> Held {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        Held { memory: Arc::clone(self), bytes }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_what_is_dropped() {
        let memory = Memory::new(10);
        let first = memory.take(6);
        assert!(first.is_some() && memory.take(6).is_none() && memory.take(4).is_some());
        drop(first);
        assert!(memory.take(10).is_some());
        assert_eq!(memory.used(), 0);
    }
}
