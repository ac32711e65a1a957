//! Clients connect to a server and call it.
//!
//! | to | use | feature |
//! |---|---|---|
//! | start a server as a child process | [`ClientBuilder::connect_command`] | `stdio` |
//! | connect to a URL | `ConnectHttp` of the crate `mcpgen-http` | |
//! | connect over another transport | [`ClientBuilder::connect`] | |
//! | send access tokens | `ClientOptions::authorization`, or the crate `mcpgen-auth` | `http-client` |
//! | call a tool, with progress and a time limit | [`Client::tool`] | |
//! | list and read | [`Client::tools`], [`Client::resources`], [`Client::read_resource`], [`Client::prompts`], [`Client::prompt`] | |
//! | complete an argument | [`Client::complete_argument`] | |
//! | read lists page by page | [`Client::pages`] | |
//! | answer the server's questions | [`ClientBuilder::on_elicitation`], [`ClientBuilder::on_sampling`], [`ClientBuilder::roots`] | |
//! | learn of changes | [`Client::changes`] | |
//! | fill in a form with a user | [`Form`] | |
//! | receive log messages | [`ClientBuilder::on_log`] | |
//! | call tools as tasks | `CallTasks` of the crate `mcpgen-tasks` | |
//! | send any other request | [`Peer::call`](mcpgen_runtime::Peer::call) of [`Client::peer`] | |
//!
//! # Files
//!
//! * `handle` defines [`Client`], `methods` its common operations, and `tool_call` a tool call with options.
//! * `builder` configures a client. `connect` connects it over a transport, `command` to a process that it starts, and
//!   `in_process` to a server in the same process.
//! * [`handshake`] negotiates the revision.
//! * [`mrtr`] sends requests that may take multiple rounds, and `input` handles the server's input requests. `pages`
//!   reads lists, `completion` completes arguments, and `form` fills in forms. `limits` bounds rounds and lists.
//! * `tool_task` sends calls that run as tasks in 2025-11-25. `task_results` is the trait for awaiting tasks.
//! * `tool_cache` caches the list of tools, and `output_schema` checks tool results. [`cache`] caches other results,
//!   on request.
//! * `decoder` decodes results of any revision; [`lenient`] repairs them, on request.
//! * `changes` receives the server's changes in every revision. In 2026-07-28 it renews each `subscription`; in legacy
//!   revisions, `subscribed` counts the subscriptions to each resource.

mod builder;
pub mod cache;
mod changes;
#[cfg(feature = "stdio")]
mod command;
mod completion;
mod connect;
mod decoder;
mod form;
mod handle;
pub mod handshake;
mod in_process;
mod input;
pub mod lenient;
mod limits;
mod methods;
pub mod mrtr;
mod output_schema;
mod pages;
#[cfg(feature = "stdio")]
mod process;
mod subscribed;
mod subscription;
mod task_results;
mod tool_cache;
mod tool_call;
mod tool_task;

pub use builder::ClientBuilder;
pub use changes::Changes;
#[cfg(feature = "stdio")]
pub use command::CommandError;
pub use completion::ArgumentCompletion;
pub use connect::connect;
pub use form::{Field, FieldKind, FieldOption, Form};
pub use handle::Client;
pub use in_process::InProcessError;
pub use limits::{PageLimits, RoundLimits};
pub use pages::Pages;
#[cfg(feature = "stdio")]
pub use process::{ChildProcess, ServerExited, ServerOutput};
pub use subscribed::SessionState;
pub use task_results::{CreatedTask, TaskResults};
pub use tool_call::{ToolCall, ToolFailed};

pub use crate::protocol::form::FormError;
