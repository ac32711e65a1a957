//! Durations of operations of the stores that several processes share.

use std::future::Future;
use std::time::Instant;

use opentelemetry::metrics::Histogram;
use opentelemetry::{KeyValue, global};

use super::enabled::scope;

/// The bounds of the buckets in seconds, as the conventions recommend for databases.
const BOUNDARIES: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];

/// Records the durations of operations of a store.
#[derive(Clone, Debug)]
pub(crate) struct StoreTelemetry(Histogram<f64>);

impl Default for StoreTelemetry {
    fn default() -> Self {
        let meter = global::meter_with_scope(scope());
        let durations = meter.f64_histogram("mcp.server.store.operation.duration").with_unit("s");
        let durations = durations.with_description("The duration of an operation of a shared store.");
        Self(durations.with_boundaries(BOUNDARIES.to_vec()).build())
    }
}

impl StoreTelemetry {
    /// Runs an operation and records its duration. `kind` returns the `error.type` of an error.
    pub(crate) async fn measure<T, E>(
        &self,
        operation: &'static str,
        work: impl Future<Output = Result<T, E>>,
        kind: impl FnOnce(&E) -> &'static str,
    ) -> Result<T, E> {
        let mut running = Running { durations: &self.0, operation, started: Instant::now(), error: Some("cancelled") };
        let result = work.await;
        running.error = result.as_ref().err().map(kind);
        result
    }
}

/// Records an operation when it is dropped.
struct Running<'a> {
    durations: &'a Histogram<f64>,
    operation: &'static str,
    started: Instant,
    error: Option<&'static str>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut attributes = vec![KeyValue::new("mcp.store.operation", self.operation)];
        attributes.extend(self.error.map(|error| KeyValue::new("error.type", error)));
        self.durations.record(self.started.elapsed().as_secs_f64(), &attributes);
    }
}
