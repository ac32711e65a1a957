//! OpenTelemetry spans and metrics of requests and notifications, by the [semantic conventions for MCP].
//!
//! With the feature `opentelemetry`, each request and notification has a span on both sides, of kind client where it is
//! sent and server where it is received, and its duration is recorded in `mcp.client.operation.duration` or
//! `mcp.server.operation.duration`. Legacy sessions are recorded in `mcp.client.session.duration` and
//! `mcp.server.session.duration`.
//!
//! The conventions have no names for these metrics yet:
//!
//! | name | unit | attributes | description |
//! |---|---|---|---|
//! | `mcp.client.active_requests`, `mcp.server.active_requests` | `{request}` | `mcp.method.name` (`_OTHER` for methods of no revision) | requests that were sent or received, without a response |
//! | `mcp.client.send_queue.size`, `mcp.server.send_queue.size` | `By` | | messages that are queued for peers; [`Limits::outbox_bytes`](mcpgen_runtime::Limits) limits each connection |
//! | `mcp.server.active_sessions` | `{session}` | | sessions of HTTP clients that this process runs |
//! | `mcp.server.store.operation.duration` | `s` | `mcp.store.operation`; `error.type`: `unavailable`, `undelivered`, `full`, `corrupt` or `cancelled` | an operation of a [shared store](crate::replicas): `session.create`, `.locate`, `.record`, `.renew`, `.remove` and `.leave`, `event.append`, `.streams` and `.remove_stream`, `exchange.forward` (until the head of the response), `change.publish`, `rate_limit.check`, `request_state.record` |
//!
//! The global propagator writes the trace context into `_meta` of outgoing messages, and reads the parent of a server
//! span from there. A handler runs within its server span, so the calls that it makes belong to the same trace. Tasks
//! that a handler spawns do not, unless they use `opentelemetry::context::FutureExt::with_current_context`.
//!
//! Set the global tracer provider, meter provider and propagator before you create a server or a client. Each
//! connection uses the providers that are set when it starts. Arguments and results are never recorded.
//!
//! [semantic conventions for MCP]: https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/

#[cfg(all(feature = "opentelemetry", feature = "http-server"))]
mod counted;
#[cfg(not(feature = "opentelemetry"))]
mod disabled;
#[cfg(feature = "opentelemetry")]
mod enabled;
#[cfg(feature = "opentelemetry")]
mod metadata;
#[cfg(feature = "opentelemetry")]
mod store;

use std::sync::Arc;

#[cfg(all(feature = "opentelemetry", feature = "http-server"))]
pub(crate) use counted::Counted;
#[cfg(all(not(feature = "opentelemetry"), feature = "http-server"))]
pub(crate) use disabled::Counted;
#[cfg(all(not(feature = "opentelemetry"), feature = "tasks"))]
pub(crate) use disabled::Scope;
#[cfg(not(feature = "opentelemetry"))]
pub(crate) use disabled::Telemetry;
#[cfg(all(feature = "opentelemetry", feature = "tasks"))]
pub(crate) use enabled::Scope;
#[cfg(feature = "opentelemetry")]
pub(crate) use enabled::Telemetry;
#[cfg(feature = "opentelemetry")]
pub(crate) use store::StoreTelemetry;

use crate::protocol::{Mcp, RevisionRules};
use mcpgen_runtime::connection::{Connection, Limits};
use mcpgen_runtime::router::{RequestService, Router};

/// Creates an MCP connection with telemetry.
pub(crate) fn connection<S: RequestService>(
    service: S,
    notifications: Router,
    rules: Arc<dyn RevisionRules>,
    limits: Limits,
    telemetry: &Telemetry,
) -> Connection<S> {
    let observer = telemetry.observer(Arc::clone(&rules));
    Connection::new(notifications, Mcp::new(rules)).service(service).limits(limits).observer(observer)
}
