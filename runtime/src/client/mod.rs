//! Clients: connecting to a server, and calling it.
//!
//! * `handle` is the [`Client`]; `methods` are its calls by name.
//! * `builder` configures a client. `connect` connects it over a transport, `command` to a process that it starts.
//! * [`handshake`] negotiates the revision.
//! * [`mrtr`] sends requests that may take multiple rounds, `pages` reads lists, within the `limits` of the client. `input`
//!   handles input requests, and `task` waits for tool calls that run as tasks. `skills` loads skills.
//! * `tool_cache` is the client's list of tools; [`cache`] caches other results, on request.
//! * `decoder` decodes results of any revision; [`lenient`] repairs them, on request.
//! * `typed` calls tools with typed arguments and results.
//! * [`subscription`] receives changes of the server.

mod builder;
pub mod cache;
#[cfg(feature = "stdio")]
mod command;
mod connect;
mod decoder;
mod handle;
pub mod handshake;
mod input;
pub mod lenient;
mod limits;
mod methods;
pub mod mrtr;
mod pages;
#[cfg(feature = "skills")]
mod skills;
pub mod subscription;
#[cfg(feature = "tasks")]
mod task;
mod tool_cache;
mod typed;

pub use builder::ClientBuilder;
#[cfg(feature = "http-client")]
pub use builder::ConnectError;
#[cfg(feature = "stdio")]
pub use command::CommandError;
pub use connect::connect;
pub use handle::Client;
pub use limits::{PageLimits, RoundLimits};
pub use pages::Pages;
#[cfg(feature = "skills")]
pub use skills::{LoadedSkill, SkillContent};
pub use typed::{StructuredResult, TypedCallError};
