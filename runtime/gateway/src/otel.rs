//! Exports spans and metrics with OTLP.

use std::env;

use opentelemetry::global;
use opentelemetry_otlp::{MetricExporter, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;

/// Exports until it is dropped, and then what is left.
pub(crate) struct Telemetry(SdkTracerProvider, SdkMeterProvider);

/// Begins to export, if the standard variables of the environment say where to.
pub(crate) fn install() -> anyhow::Result<Option<Telemetry>> {
    let endpoints = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
    if endpoints.iter().all(|name| env::var_os(name).is_none()) {
        return Ok(None);
    }
    let resource = match env::var_os("OTEL_SERVICE_NAME") {
        Some(_) => Resource::builder().build(),
        None => Resource::builder().with_service_name("mcpgen-gateway").build(),
    };
    // Without one, the HTTP client of the exporters does not start. It fails if there is one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let spans = SpanExporter::builder().with_http().build()?;
    let tracers = SdkTracerProvider::builder().with_resource(resource.clone()).with_batch_exporter(spans).build();
    let metrics = MetricExporter::builder().with_http().build()?;
    let meters = SdkMeterProvider::builder().with_resource(resource).with_periodic_exporter(metrics).build();
    global::set_tracer_provider(tracers.clone());
    global::set_meter_provider(meters.clone());
    global::set_text_map_propagator(TraceContextPropagator::new());
    mcpgen_otel::install()?;
    Ok(Some(Telemetry(tracers, meters)))
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        for stopped in [self.0.shutdown(), self.1.shutdown()] {
            if let Err(error) = stopped {
                tracing::warn!(%error, "cannot export all spans and metrics");
            }
        }
    }
}
