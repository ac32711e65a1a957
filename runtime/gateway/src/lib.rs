//! A gateway for the Model Context Protocol: a client of any revision uses several servers of any revisions as if they were
//! one.
//!
//! The command is described in the README. It is built on this library:
//!
//! ```no_run
//! use std::path::Path;
//!
//! use mcpgen_gateway::{Config, Gateway};
//! use mcpgen_sdk::transport::{lines, stdio};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let path = Path::new("gateway.toml");
//! let gateway = Gateway::new(Config::read(path)?, Path::new("."))?;
//! gateway.serve_client(stdio::stdio(lines::DEFAULT_LINE_LIMIT)?, std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Files
//!
//! * `config` reads the configuration, and `policy` has its rules. `servers` applies them to decide what callers see.
//! * `gateway` owns the `sessions`. A `session` is a client with a link to each server, opened by `connect`. It
//!   routes `requests`, and those about `tasks`. What the servers list, and the names that clients see, are in
//!   [`mcpgen_bridge::catalog`].
//! * `pins` compares tools with their pins. `call_log` logs calls, and `metrics` counts them. `stdio` and `http` serve clients, and
//!   `check` connects once to each server.

mod call_log;
mod check;
mod config;
mod connect;
mod gateway;
mod http;
mod metrics;
mod pins;
mod policy;
mod requests;
mod servers;
mod session;
mod sessions;
mod stdio;
mod tasks;

pub use check::CheckedServer;
pub use config::{Authorization, Calls, Config, ConfigError, Http, OAuth, Pinning, ServerConfig, Setting, WhenChanged};
pub use gateway::Gateway;
pub use http::PATH;
pub use mcpgen_bridge::catalog::Prefix;
pub use policy::{Annotations, Rules};
pub use servers::Stores;
