//! The limit of the work.

use std::error;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of steps that matches may still take. A step visits one state of a pattern at one character.
#[derive(Debug)]
pub struct Steps(AtomicU64);

impl Steps {
    /// Returns the steps for a text, or for a document with many texts: one million, and 100 for each byte.
    ///
    /// Ordinary patterns take fewer than ten for each character.
    #[must_use]
    pub fn for_text(bytes: usize) -> Self {
        Self(AtomicU64::new((bytes as u64).saturating_mul(100).saturating_add(1_000_000)))
    }

    /// Takes the steps of one match. Concurrent matches may each take all of them.
    pub(crate) fn with<T>(&self, run: impl FnOnce(&mut Fuel) -> T) -> T {
        let mut fuel = Fuel(self.0.load(Ordering::Relaxed));
        let result = run(&mut fuel);
        self.0.store(fuel.0, Ordering::Relaxed);
        result
    }
}

/// The steps that one match has left.
pub(crate) struct Fuel(u64);

impl Fuel {
    pub(crate) fn burn(&mut self, steps: usize) -> Result<(), TooExpensive> {
        let left = self.0.checked_sub(steps as u64);
        self.0 = left.unwrap_or(0);
        left.map(drop).ok_or(TooExpensive)
    }
}

/// A match was given up because it took too many [`Steps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooExpensive;

impl fmt::Display for TooExpensive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("pattern too expensive")
    }
}

impl error::Error for TooExpensive {}
