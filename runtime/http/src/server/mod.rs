//! The server side of Streamable HTTP: a [`Service`](tower::Service) for axum, hyper or any other stack built on tower.
//!
//! ```no_run
//! use axum::serve::ListenerExt;
//! use mcpgen_sdk::prelude::*;
//! use mcpgen_sdk::http::server::EndpointOptions;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let endpoint = Server::builder("greeter", "1.0.0").build().http(EndpointOptions::default())?;
//! let app = axum::Router::new().route_service("/mcp", endpoint);
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
//! // Without TCP_NODELAY each streamed response takes 40 ms longer.
//! let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
//! axum::serve(listener, app).await?;
//! # Ok(())
//! # }
//! ```
//!
//! One endpoint serves legacy and modern revisions. A request of 2026-07-28 is self-contained, so any of several
//! processes can handle it. A session of an older revision lives in the process that created it, unless
//! [`EndpointOptions::replicas`] is set; see [`replicas`](mcpgen_mcp::replicas).
//!
//! # On a network
//!
//! Behind a reverse proxy that buffers requests and responses, `axum::serve` is enough. On its own, it waits forever
//! for a client that does not finish its headers or does not read its response, and so does its graceful shutdown.
//! If clients connect directly, serve with `listen` (feature `listen`) or with the `axum-server` crate:
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use axum_server::Handle;
//! use axum_server::accept::NoDelayAcceptor;
//! # use mcpgen_sdk::http::server::Endpoint;
//!
//! # async fn run(endpoint: Endpoint, listener: std::net::TcpListener) -> std::io::Result<()> {
//! let handle = Handle::new();
//! let app = axum::Router::new().route_service("/mcp", endpoint.clone());
//! let mut server = axum_server::from_tcp(listener)?
//!     .acceptor(NoDelayAcceptor::new())
//!     .handle(handle.clone())
//!     .first_request_timeout(Duration::from_secs(30));
//! server.http_builder().http1().header_read_timeout(Duration::from_secs(30));
//! server
//!     .http_builder()
//!     .http2()
//!     .max_concurrent_streams(100)
//!     .max_header_list_size(16 << 10)
//!     .keep_alive_interval(Some(Duration::from_secs(30)))
//!     .keep_alive_timeout(Duration::from_secs(10));
//! tokio::spawn(async move {
//!     if tokio::signal::ctrl_c().await.is_ok() {
//!         endpoint.close().await; // Finishes the requests in flight.
//!         handle.graceful_shutdown(Some(Duration::from_secs(5)));
//!     }
//! });
//! server.serve(app.into_make_service()).await
//! # }
//! ```
//!
//! A response counts toward [`EndpointOptions::requests`] until it is written, so set a write timeout as well. `listen`
//! does so in its acceptor. A write timeout does not disconnect an HTTP/2 client that keeps its flow-control window
//! closed. Against such clients, set [`EndpointOptions::owner`], or use a proxy that buffers responses and limits how
//! long a client may take to read them.
//!
//! # Limits
//!
//! [`EndpointOptions`] limits what all clients together, each session and each owner can use. Unless
//! requests have an [owner](EndpointOptions::owner), one client can open enough sessions to exhaust the limits. If
//! clients don't trust each other, set it to the authenticated user or, failing that, to the client's address.
//!
//! # Files
//!
//! * `endpoint` is the tower service. It passes a request to an `exchange`, which handles one request without a
//!   session, or to a `session`, which writes messages to `stream`s. `resumable` keeps streams for clients that resume.
//!   `registry` finds and evicts sessions.
//! * `replicas` forwards requests to the replica that runs their session, which `homes` caches. It takes over sessions
//!   of dead replicas, with their `session_record` and the events that `event_writer` stored.
//! * `admission` admits requests by their headers, `body_reader` reads bodies, `body_check` lets a layer check them,
//!   `request_body` reads what HTTP needs from them, and `header_check` compares that with the headers. A `refusal` is
//!   an HTTP error.
//! * `state` is shared by all requests, and `current_config` is the server's configuration. `permit` and `quota` limit
//!   requests and streams, `budget` limits memory.
//! * `body` creates responses, and `sse` their events. `session_state` retains what messages changed in a session;
//!   `state_change` recognises those messages.
//! * `discovery` serves server cards and catalogs, `health` answers health checks, and `listen` serves on a
//!   network.

mod admission;
mod allowed_hosts;
mod body;
mod body_check;
mod body_reader;
mod budget;
mod current_config;
mod discovery;
mod endpoint;
mod event_writer;
mod exchange;
mod header_check;
mod health;
mod homes;
#[cfg(feature = "listen")]
mod listen;
mod listing;
mod options;
mod permit;
mod quota;
mod refusal;
mod registry;
mod replicas;
mod request_body;
mod resumable;
mod serve;
mod session;
mod session_record;
mod session_state;
mod sse;
mod state;
mod state_change;
mod stream;

pub use allowed_hosts::AllowedHosts;
pub use body::Body;
pub use body_check::{BodyCheck, CheckedBody};
pub use discovery::{CATALOG_PATH, Discovery};
pub use endpoint::Endpoint;
pub use health::Health;
#[cfg(feature = "listen")]
pub use listen::{NoDelay, listen};
pub use listing::Listing;
pub use options::{EndpointOptions, Owner, ToolHeaders};
pub use serve::ServeHttp;
