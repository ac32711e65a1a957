//! Counts what exists at the moment, for metrics. Does nothing without the feature `opentelemetry`.

#[cfg(feature = "opentelemetry")]
use opentelemetry::metrics::UpDownCounter;

/// Adds an amount to a counter, and subtracts it when it is dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    #[cfg(feature = "opentelemetry")]
    counter: UpDownCounter<i64>,
    #[cfg(feature = "opentelemetry")]
    amount: i64,
}

#[cfg(feature = "opentelemetry")]
impl Counted {
    pub(crate) fn new(counter: &UpDownCounter<i64>, amount: usize) -> Self {
        let amount = i64::try_from(amount).unwrap_or(i64::MAX);
        counter.add(amount, &[]);
        Self { counter: counter.clone(), amount }
    }
}

impl Counted {
    /// Adds the amount of another one of the same counter.
    #[cfg(feature = "opentelemetry")]
    pub(crate) fn merge(&mut self, mut other: Self) {
        self.amount = self.amount.saturating_add(std::mem::take(&mut other.amount));
    }

    /// Adds the amount of another one of the same counter.
    #[cfg(not(feature = "opentelemetry"))]
    pub(crate) fn merge(&mut self, _: Self) {}
}

#[cfg(feature = "opentelemetry")]
impl Drop for Counted {
    fn drop(&mut self) {
        self.counter.add(-self.amount, &[]);
    }
}
