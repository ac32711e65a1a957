//! Limits the work that a match may do.

use std::error;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A budget of steps. Visiting one state of a pattern at one character takes one step.
#[derive(Debug)]
pub struct Steps(AtomicU64);

impl Steps {
    /// Returns the budget for a text, or for a document with many texts: one million steps, plus 100 per byte.
    ///
    /// Ordinary patterns take fewer than ten per character.
    #[must_use]
    pub fn for_text(bytes: usize) -> Self {
        Self(AtomicU64::new((bytes as u64).saturating_mul(100).saturating_add(1_000_000)))
    }

    /// Runs a match on this budget. Concurrent matches may each use all of it.
    pub(crate) fn with<T>(&self, run: impl FnOnce(&mut Fuel) -> T) -> T {
        let mut fuel = Fuel(self.0.load(Ordering::Relaxed));
        let result = run(&mut fuel);
        self.0.store(fuel.0, Ordering::Relaxed);
        result
    }
}

/// The steps that a running match may still take.
pub(crate) struct Fuel(u64);

impl Fuel {
    pub(crate) fn burn(&mut self, steps: usize) -> Result<(), TooExpensive> {
        let left = self.0.checked_sub(steps as u64);
        self.0 = left.unwrap_or(0);
        left.map(drop).ok_or(TooExpensive)
    }
}

/// The match was abandoned because it ran out of [`Steps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooExpensive;

impl fmt::Display for TooExpensive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("pattern too expensive")
    }
}

impl error::Error for TooExpensive {}
