//! Progress reports.

/// A report of the peer's progress with a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The progress so far. It increases from one report to the next.
    pub progress: f64,
    /// The value of `progress` at the end, if known.
    pub total: Option<f64>,
    /// A message for people.
    pub message: Option<String>,
}
