//! Exports spans and metrics with OTLP.

use std::env;
use std::error::Error;

use opentelemetry::global;
use opentelemetry_otlp::{MetricExporter, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;

use crate::telemetry::OpenTelemetry;

/// Exports spans and metrics until dropped. Dropping it exports what is left.
#[derive(Debug)]
#[must_use = "dropping it ends the export"]
pub struct Exported {
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
}

/// Records traces and metrics for all servers and clients of the process, and exports them with OTLP over HTTP, if
/// `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is set. The other standard variables are read
/// as well; `service` is the default for `OTEL_SERVICE_NAME`.
///
/// Call this before creating servers and clients, and outside of any Tokio runtime. It sets the global tracer provider,
/// meter provider and propagator.
///
/// # Errors
///
/// Fails if an endpoint is invalid, or if the process has telemetry already.
pub fn export(service: &str) -> Result<Option<Exported>, Box<dyn Error + Send + Sync>> {
    let endpoints = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
    if endpoints.iter().all(|name| env::var_os(name).is_none()) {
        return Ok(None);
    }
    let resource = match env::var_os("OTEL_SERVICE_NAME") {
        Some(_) => Resource::builder().build(),
        None => Resource::builder().with_service_name(service.to_owned()).build(),
    };
    // The exporters' HTTP client needs a crypto provider. Fails if the process already has one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let spans = SpanExporter::builder().with_http().build()?;
    let tracers = SdkTracerProvider::builder().with_resource(resource.clone()).with_batch_exporter(spans).build();
    let metrics = MetricExporter::builder().with_http().build()?;
    let meters = SdkMeterProvider::builder().with_resource(resource).with_periodic_exporter(metrics).build();
    global::set_tracer_provider(tracers.clone());
    global::set_meter_provider(meters.clone());
    global::set_text_map_propagator(TraceContextPropagator::new());
    mcpgen_mcp::telemetry::install(OpenTelemetry::default())?;
    Ok(Some(Exported { tracers, meters }))
}

impl Drop for Exported {
    fn drop(&mut self) {
        // A collector that is not available must not keep the process from shutting down cleanly.
        let _ = (self.tracers.shutdown(), self.meters.shutdown());
    }
}
