//! A JSON-RPC 2.0 dispatcher for any protocol whose types are generated.
//!
//! To define a protocol, generate its types, add a handler per message to a [`Router`], and implement
//! [`Protocol`](protocol::Protocol): hooks that decide which messages are allowed, how a request is cancelled and how
//! progress is reported. All but two have defaults. This server adds two numbers over an in-memory transport:
//!
//! ```
//! use mcpgen_runtime::jsonrpc::errors;
//! use mcpgen_runtime::protocol::{Admission, Notice, Protocol, Received};
//! use mcpgen_runtime::{Connection, Router, transport};
//! use mcpgen_types::{ErrorObject, Json, Version};
//! use serde_json::json;
//!
//! struct Sums;
//!
//! const VERSION: Version = Version::new("1");
//!
//! impl Protocol for Sums {
//!     type Scope = ();
//!
//!     fn admit(&self, _: &Received<'_>) -> Result<Admission<()>, ErrorObject> {
//!         Ok(Admission::Handle(VERSION, ()))
//!     }
//!
//!     fn classify(&self, _: &Received<'_>) -> Option<Notice<()>> {
//!         Some(Notice::new(VERSION, ()))
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let router = Router::new().fallback(|request| async move {
//!     let numbers: Vec<i64> = request.params.unwrap_or_default().deserialize().map_err(|error| errors::invalid_params(&error))?;
//!     Ok(Json::from(numbers.iter().sum::<i64>()))
//! });
//! let (here, there) = transport::duplex();
//! tokio::spawn(Connection::new(router, Sums).run(here.0, here.1));
//!
//! let client = Connection::new(Router::new(), Sums);
//! let peer = client.peer().clone();
//! tokio::spawn(client.run(there.0, there.1));
//! let sum = peer.raw_request("add", Some(json!([1, 2, 3]).into())).send().await?;
//! assert_eq!(sum, Json::from(6));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # From bytes to handlers
//!
//! ```text
//! transport ── bytes ──> envelope ──> protocol ──> service (tower layers, then the router) ──> handler
//!     ^                                  │                                                        │
//!     └── outbox <──── peer <────────────┴──── responses, requests, notifications <───────────────┘
//! ```
//!
//! Modules are layers, listed from bottom to top in tests/LAYERS.md. A request that arrives alone, such as in an HTTP
//! request, needs no connection: [`OneShot`](connection::OneShot) handles it.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod connection;
pub mod context;
mod error;
pub mod jsonrpc;
pub mod observer;
pub mod peer;
pub mod protocol;
pub mod router;
pub mod transport;
pub mod util;

pub use connection::{Connection, Limits};
pub use context::Context;
pub use error::{CallError, Closed};
pub use peer::Peer;
pub use router::Router;
