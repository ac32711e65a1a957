//! The types and functions that most servers and clients use.
//!
//! ```
//! use mcpgen_runtime::prelude::*;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let (ours, (incoming, outgoing)) = mcpgen_runtime::transport::duplex();
//! let server = Server::builder("greeter", "1.0.0").build();
//! tokio::spawn(serve(server, ours));
//! let client = Client::builder("visitor", "1.0.0").connect(incoming, outgoing).await?;
//! assert_eq!(client.revision(), Revision::LATEST);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use mcpgen_types::{ErrorObject, Json, JsonObject, JsonRef, Revision};

pub use crate::client::{Client, ClientBuilder};
pub use crate::context::Context;
pub use crate::mcp::change::Change;
pub use crate::mcp::extension::Extension;
pub use crate::mcp::info::LocalInfo;
pub use crate::peer::{CallError, Peer};
pub use crate::router::Router;
pub use crate::server::{RequestContext, ServeError, Server, ServerBuilder, Structured, ToolError, ToolInfo, serve};
