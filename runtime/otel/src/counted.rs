//! A counter that is decremented on drop.

use opentelemetry::metrics::UpDownCounter;

/// Adds one to a counter until dropped.
#[derive(Debug)]
pub(crate) struct Counted(UpDownCounter<i64>);

impl Counted {
    pub(super) fn new(counter: &UpDownCounter<i64>) -> Self {
        counter.add(1, &[]);
        Self(counter.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.add(-1, &[]);
    }
}
