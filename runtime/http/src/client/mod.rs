//! The client side of Streamable HTTP.
//!
//! ```no_run
//! use mcpgen_sdk::prelude::*;
//! use mcpgen_sdk::http::client::ClientOptions;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let url = "https://example.com/mcp";
//! let client = Client::builder("visitor", "1.0.0").connect_http(url, ClientOptions::default()).await?;
//! println!("{:?}", client.tools().await?);
//! # Ok(())
//! # }
//! ```
//!
//! With a server that keeps sessions, all messages belong to one session. A session counts as lost when the server
//! responds with 404 to a message, or to reopening a GET stream that had worked; the client then begins a new one. If
//! the first attempt to open the GET stream gets 404 or 405, the server has no GET stream.
//!
//! With a server of 2026-07-28, the client sets the headers that repeat parts of each request.
//!
//! Servers that support only HTTP+SSE, the transport of revision 2024-11-05, work as well:
//! [`connect_http`](ConnectHttp::connect_http) falls back to it.
//!
//! # Files
//!
//! * `connect` connects a [`ClientBuilder`](mcpgen_mcp::ClientBuilder).
//! * `transport` opens a connection and hands outgoing messages to the `driver`, which sends them.
//! * `request` sends one request and delivers its response, which `answer` recognises. `post` sends HTTP requests,
//!   authorizes them, and retries if the server is busy.
//! * `session` begins, replaces and ends sessions. `streams` resumes event streams. `backoff` computes pauses.
//! * `sse` opens a connection over HTTP+SSE.
//! * `state` is shared by these tasks. `message` defines outgoing messages, `queue` limits how many wait, `response`
//!   reads HTTP responses, and `events` decodes their events.

mod answer;
mod backoff;
mod connect;
mod driver;
mod error;
mod events;
mod message;
mod options;
mod post;
mod queue;
mod request;
mod response;
mod session;
mod sse;
mod state;
mod streams;
mod transport;

pub use connect::{ConnectError, ConnectHttp};
pub use error::OpenSseError;
pub use error::{HttpError, OpenError};
pub use options::{Authorize, AuthorizeRequest, Challenge, ClientOptions};
pub use sse::open_sse;
pub use transport::open;
