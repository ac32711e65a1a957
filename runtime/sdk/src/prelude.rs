//! What most servers and clients need.
//!
//! ```
//! use mcpgen_sdk::prelude::*;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let (ours, (incoming, outgoing)) = mcpgen_sdk::transport::duplex();
//! let server = Server::builder("greeter", "1.0.0").build();
//! tokio::spawn(serve(server, ours));
//! let client = Client::builder("visitor", "1.0.0").connect(incoming, outgoing).await?;
//! assert_eq!(client.revision(), Revision::LATEST);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "http-client")]
pub use mcpgen_http::client::ConnectHttp;
#[cfg(feature = "http-server")]
pub use mcpgen_http::server::ServeHttp;
pub use mcpgen_mcp::client::ToolFailed;
pub use mcpgen_mcp::protocol::change::Change;
pub use mcpgen_mcp::protocol::{ContextExt, PeerExt, RouterExt};
pub use mcpgen_mcp::server::{Args, RequestContext, ServeError, State, Structured, ToolError, ToolInfo, ToolResult};
pub use mcpgen_mcp::{BoxError, Client, ClientBuilder, Extension, LocalInfo, Server, ServerBuilder, serve};
pub use mcpgen_runtime::{CallError, Context, Peer, Router};
#[cfg(feature = "skills")]
pub use mcpgen_skills::{ReplaceSkills, ServeSkills, SkillsClient};
#[cfg(feature = "tasks")]
pub use mcpgen_tasks::{CallTasks, ServeTasks, TaskContextExt, TaskPeerExt, TaskToolExt};
pub use mcpgen_types::{ErrorCode, ErrorObject, Json, JsonObject, JsonRef, Revision};
