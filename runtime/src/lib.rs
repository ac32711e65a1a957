//! Servers and clients for the Model Context Protocol, over the generated types of `mcpgen-types`.
//!
//! Tools, resources and prompts are functions. The same code serves and calls every revision:
//!
//! ```
//! use mcpgen_runtime::prelude::*;
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let greet = ToolInfo::new("greet").required_property("name", json!({ "type": "string" }));
//! let server = Server::builder("greeter", "1.0.0")
//!     .tool_with_schema(greet, |_context, arguments: JsonObject| async move {
//!         let name = arguments.get("name").and_then(|name| name.as_str()).ok_or("name: expected a string")?;
//!         Ok::<_, ToolError>(format!("hello, {name}"))
//!     })
//!     .build();
//!
//! let client = server.in_process(Client::builder("visitor", "1.0.0")).await?;
//! let greeting = client.tool("greet").arguments(json!({ "name": "Ann" })).text().await?;
//! assert_eq!(greeting, "hello, Ann");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`guide`] has complete programs: a server, a client, and what is needed in production. The page of [`server`] lists the
//! methods by task. With the feature `schemars`, [tools](ServerBuilder::tool) take their arguments as Rust types.
//!
//! # Typed handlers
//!
//! Below, a server is a [`Router`] with a handler per request type, and a client calls methods by the same types. Use them
//! for messages that [`Server`] and [`Client`] have no methods for, and for protocols of your own:
//!
//! ```
//! use mcpgen_runtime::prelude::*;
//! use mcpgen_runtime::{Limits, connect, transport};
//! use mcpgen_types::v2025_11_25::{CallToolRequest, CallToolRequestParams, CallToolResult, TextContent};
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let router = Router::new().request::<CallToolRequest>(|_context, params| async move {
//!     let greeting = TextContent::new(format!("hello, {}", params.name));
//!     Ok::<_, ErrorObject>(CallToolResult::new(vec![greeting.into()]))
//! });
//! let server = LocalInfo::new("greeter", "1.0.0").capability("tools", json!({}));
//!
//! // An in-memory transport. Use `transport::stdio::stdio` for standard input and output.
//! let (here, there) = transport::duplex();
//! tokio::spawn(serve((server, router), there));
//!
//! // A client calls methods by the same types.
//! let ours = LocalInfo::new("visitor", "1.0.0");
//! let client = connect(ours, Router::new(), Router::new(), here.0, here.1, Limits::default()).await?;
//! let result = client.peer.call::<CallToolRequest>(CallToolRequestParams::new("world")).await?;
//! assert_eq!(result, CallToolResult::new(vec![TextContent::new("hello, world").into()]));
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
//! Modules are layers. Each imports only from the modules above it in this list:
//!
//! * [`jsonrpc`] classifies messages in one pass. Params stay JSON until the handler's type is known.
//! * A [`transport`] is a stream of messages and a sink for them.
//! * A handler receives a [`Context`] besides its params.
//! * A [`protocol`] decides which version a message belongs to and whether it may be sent now. An [`observer`] sees the
//!   messages that are sent and handled.
//! * [`peer`] sends requests and notifications to the peer.
//! * [`router`] finds the handler by version and method. Any tower layer around the router is middleware.
//! * [`connection`] runs all of this within [`Limits`] and sends exactly one response per request.
//! * [`mcp`] is the Model Context Protocol. The modules above know nothing of it.
//! * [`telemetry`] records spans and metrics (feature `opentelemetry`).
//! * `tasks` (feature `tasks`) runs requests as tasks, whose results the client fetches later.
//! * [`replicas`] has the traits of state that several processes share.
//! * `testing` (feature `testing`) has contract tests for implementations of these traits.
//! * `skills` (feature `skills`) reads, checks and verifies skills.
//! * `http` (features `http-server` and `http-client`) implements Streamable HTTP; a server is a tower service.
//! * [`server`] and [`client`] are the entry points for applications.
//! * `bridge` (feature `bridge`) connects a client of any revision to a server of any other.
//! * [`prelude`] re-exports the types and functions that most servers and clients use.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![allow(deprecated, reason = "the runtime still supports what the newest revision deprecates")]

#[cfg(feature = "bridge")]
pub mod bridge;
pub mod client;
pub mod connection;
pub mod context;
mod error;
#[cfg(any(doc, doctest))]
pub mod guide;
#[cfg(any(feature = "http-server", feature = "http-client"))]
pub mod http;
pub mod jsonrpc;
pub mod mcp;
pub mod observer;
pub mod peer;
pub mod prelude;
pub mod protocol;
pub mod replicas;
pub mod router;
pub mod server;
#[cfg(feature = "skills")]
pub mod skills;
#[cfg(feature = "tasks")]
pub mod tasks;
pub mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
pub mod transport;
mod util;

pub use client::{Client, ClientBuilder, connect};
pub use connection::{Connection, Limits};
pub use context::Context;
pub use error::{CallError, Closed};
pub use mcp::extension::Extension;
pub use mcp::info::LocalInfo;
pub use peer::Peer;
pub use router::Router;
pub use server::{Server, ServerBuilder, serve};

/// Compiles the examples of the README.
#[cfg(all(doctest, feature = "schemars", feature = "stdio"))]
#[doc = include_str!("../README.md")]
struct Readme;
