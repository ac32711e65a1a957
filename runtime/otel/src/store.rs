//! Durations of operations on the stores that processes share.

use std::time::Instant;

use mcpgen_mcp::telemetry::StoreOperation;
use opentelemetry::metrics::Histogram;
use opentelemetry::{KeyValue, global};

use crate::scope::scope;

/// Bucket boundaries in seconds, as the conventions recommend for databases.
const BOUNDARIES: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];

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
    pub(crate) fn start(&self, operation: &'static str) -> Running {
        Running { durations: self.0.clone(), operation, started: Instant::now(), error: Some("cancelled") }
    }
}

/// Records the operation when dropped.
pub(crate) struct Running {
    durations: Histogram<f64>,
    operation: &'static str,
    started: Instant,
    error: Option<&'static str>,
}

impl StoreOperation for Running {
    fn end(mut self: Box<Self>, error: Option<&'static str>) {
        self.error = error;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut attributes = vec![KeyValue::new("mcp.store.operation", self.operation)];
        attributes.extend(self.error.map(|error| KeyValue::new("error.type", error)));
        self.durations.record(self.started.elapsed().as_secs_f64(), &attributes);
    }
}
