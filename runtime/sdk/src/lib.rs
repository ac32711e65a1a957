//! Servers and clients for the Model Context Protocol, on top of the generated types of `mcpgen-types`.
//!
//! Tools, resources and prompts are plain functions. The same code serves and calls every revision:
//!
//! ```
//! use mcpgen_sdk::prelude::*;
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let greet = ToolInfo::new("greet").required_property("name", json!({ "type": "string" }));
//! let server = Server::builder("greeter", "1.0.0")
//!     .tool(greet, |arguments: JsonObject| async move {
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
//! [`guide`] has complete programs: a server, a client, a host and more. The page of [`server`] lists methods by
//! purpose. [Tools](ServerBuilder::tool) can take their arguments as Rust types.
//!
//! # Typed handlers
//!
//! One level down, a server is a [`Router`] with a handler per request type, and a client calls methods with the same
//! types. Use this for messages that [`Server`] and [`Client`] have no methods for:
//! ```
//! use mcpgen_sdk::prelude::*;
//! use mcpgen_sdk::{Limits, connect, transport};
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
//! let result = client.peer().call::<CallToolRequest>(CallToolRequestParams::new("world")).await?;
//! assert_eq!(result, CallToolResult::new(vec![TextContent::new("hello, world").into()]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Crates
//!
//! This crate contains no code; it re-exports:
//!
//! * [`mcpgen_runtime`], the JSON-RPC dispatcher with connections, routers and transports. It works for any protocol.
//! * [`mcpgen_mcp`], the Model Context Protocol: its rules, servers and clients.
//! * `mcpgen_http`, Streamable HTTP and HTTP+SSE, as the module `http` (features `http-server` and `http-client`).
//! * `mcpgen_skills`, as the module `skills` (feature `skills`).
//! * `mcpgen_tasks`, as the module `tasks` (feature `tasks`).
//!
//! Parts that few programs need are in `mcpgen-validate`, `mcpgen-cluster`, `mcpgen-redis`, `mcpgen-auth`, `mcpgen-otel` and
//! `mcpgen-bridge`. The command `mcpgen-gateway` serves several servers as one.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(any(doc, doctest))]
pub mod guide;
pub mod prelude;

#[cfg(any(feature = "http-server", feature = "http-client"))]
pub use mcpgen_http as http;
pub use mcpgen_mcp::{
    BoxError, Client, ClientBuilder, Extension, LocalInfo, Server, ServerBuilder, client, connect, protocol, replicas,
    serve, server, telemetry, types,
};
pub use mcpgen_runtime::{CallError, Closed, Connection, Context, Limits, Peer, Router};
pub use mcpgen_runtime::{connection, context, jsonrpc, observer, peer, router, transport, util};
#[cfg(feature = "skills")]
pub use mcpgen_skills as skills;
#[cfg(feature = "tasks")]
pub use mcpgen_tasks as tasks;

/// Compiles the examples of the README.
#[cfg(all(doctest, feature = "stdio"))]
#[doc = include_str!("../README.md")]
struct Readme;
