//! OpenTelemetry spans and metrics for MCP servers and clients, following the [semantic conventions for MCP].
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // First set the global tracer provider, meter provider and propagator of OpenTelemetry.
//! mcpgen_otel::install()?;
//! # Ok(())
//! # }
//! ```
//!
//! Each request and notification has a span of kind client where it is sent, and one of kind server where it is
//! received. Its duration is recorded in `mcp.client.operation.duration` or `mcp.server.operation.duration`. The
//! duration of a legacy session is recorded in `mcp.client.session.duration` or `mcp.server.session.duration`.
//!
//! These metrics have no names in the conventions yet:
//!
//! | name | unit | attributes | description |
//! |---|---|---|---|
//! | `mcp.client.active_requests`, `mcp.server.active_requests` | `{request}` | `mcp.method.name` (`_OTHER` for methods of no revision) | requests in flight: sent or received, and without a response yet |
//! | `mcp.client.send_queue.size`, `mcp.server.send_queue.size` | `By` | | messages that are queued for peers; [`Limits::outbox_bytes`](mcpgen_runtime::Limits) limits each connection |
//! | `mcp.server.active_sessions` | `{session}` | | sessions of HTTP clients that this process runs |
//! | `mcp.server.store.operation.duration` | `s` | `mcp.store.operation`; `error.type`: `unavailable`, `undelivered`, `full`, `corrupt` or `cancelled` | an operation of a [shared store](mcpgen_mcp::replicas): `session.create`, `.locate`, `.record`, `.renew`, `.remove` and `.leave`, `event.append`, `.streams` and `.remove_stream`, `exchange.forward` (until the head of the response), `change.publish`, `rate_limit.check`, `request_state.record` |
//!
//! The global propagator writes the trace context into `_meta` of outgoing messages, and reads a server span's parent
//! from there. A handler runs within its server span, so the calls it makes belong to the same trace. Tasks that it
//! spawns do not, unless they use `opentelemetry::context::FutureExt::with_current_context`.
//!
//! Arguments and results are never recorded.
//!
//! With the feature `otlp`, `export` sets the providers and exports with OTLP.
//!
//! [semantic conventions for MCP]: https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/

mod counted;
#[cfg(feature = "otlp")]
mod export;
mod metadata;
mod scope;
mod store;
mod telemetry;

#[cfg(feature = "otlp")]
pub use export::{Exported, export};
pub use mcpgen_mcp::telemetry::AlreadyInstalled;

/// Records traces and metrics for all servers and clients of the process.
///
/// Call this after setting the global providers, and before creating servers and clients.
///
/// # Errors
///
/// Fails if the process has telemetry already.
pub fn install() -> Result<(), AlreadyInstalled> {
    mcpgen_mcp::telemetry::install(telemetry::OpenTelemetry::default())
}
