//! Servers whose tools, resources and prompts are plain functions.
//!
//! ```
//! use mcpgen_sdk::Server;
//! use mcpgen_sdk::server::ToolInfo;
//! use mcpgen_types::JsonObject;
//! use serde_json::json;
//!
//! let greet = ToolInfo::new("greet").property("name", json!({ "type": "string" }));
//! let server = Server::builder("greeter", "1.0.0")
//!     .tool(greet, |arguments: JsonObject| async move {
//!         format!("hello, {}", arguments.get("name").and_then(|name| name.as_str()).unwrap_or("world".into()))
//!     })
//!     .build();
//! # let _ = server;
//! ```
//!
//! | to | use | feature |
//! |---|---|---|
//! | serve standard input and output | [`Server::serve_stdio`], [`Server::serve_stdio_until`] | `stdio` |
//! | serve HTTP | `ServeHttp` of the crate `mcpgen-http` | |
//! | serve another transport | [`serve()`], [`serve_until`] | |
//! | connect a client in a test | [`Server::in_process`] | |
//! | take arguments as a Rust type | [`Args`] | |
//! | share a database or the like | [`ServerBuilder::state`], [`State`] | |
//! | take the user of a request, or another type of your own | [`FromCall`] | |
//! | write the schema of arguments by hand | [`ServerBuilder::tool`], [`ToolInfo`] | |
//! | return structured content | [`Structured`] | |
//! | ask the user | [`RequestContext::elicit`], [`RequestContext::elicit_as`] | |
//! | sample the client's model, list its roots | [`RequestContext::sample`], [`RequestContext::roots`] | |
//! | report progress, log for the client | [`progress`](crate::protocol::ContextExt::progress), [`log`](crate::protocol::ContextExt::log) | |
//! | know the user | [`principal`](mcpgen_runtime::Context::principal), [`RequestContext::context`] | |
//! | fail | [`ToolError`], [`InputError`], and [`BoxError`](tower::BoxError) for all other handlers | |
//! | serve resources | [`ServerBuilder::resource`], [`ServerBuilder::resource_template`] | |
//! | serve prompts | [`ServerBuilder::prompt`] | |
//! | complete arguments | [`ServerBuilder::prompt_completion`], [`template_completion`](ServerBuilder::template_completion), [`completion`](ServerBuilder::completion) | |
//! | change the server while it serves | [`Server::add_tool`] and others, [`RequestContext::server`] | |
//! | notify clients of changes | [`Server::changed`], [`ServerBuilder::change_filter`] | |
//! | run long calls as tasks | `TaskToolExt::task` of the crate `mcpgen-tasks` | |
//! | show users different items | [`ServerBuilder::visible_to`] | |
//! | compute lists for each request | [`ServerBuilder::tool_list`], [`tool_fallback`](ServerBuilder::tool_fallback), [`resource_list`](ServerBuilder::resource_list) and others | |
//! | limit calls per user | [`ServerBuilder::rate_limiter`] | crate `mcpgen-cluster` |
//! | add middleware | [`ServerBuilder::layer`] | |
//!
//! Functions use the newest revision's types, even for clients of older revisions. Results for such a client omit
//! members that its revision lacks. A result that the revision cannot express, such as an unsupported type of content,
//! becomes an error response for that client only.
//!
//! # Files
//!
//! * `state` defines a server's types. `builder` builds it, `setup` prepares it for extensions, `handle` changes it
//!   while it runs, and `serve` connects it to transports.
//! * `router` defines the routes. `call_tool`, `read_resource` and `get_prompt` handle requests; `conversion` converts
//!   params and results.
//! * `registry` stores entries: `tool` with its `arguments`, `resource`, `template`, `prompt`, `completion`.
//!   `uri_template` reads variables from URIs.
//! * `function` calls handlers with the arguments that `extract` takes from a call; `text_arguments` decodes those that
//!   are text. `into_tool_result` and `into_contents` convert return values, `tool_error` and `input_error` the errors.
//! * `context` defines the context that functions can take. It asks the client through the `questions` of a function, or
//!   through the `input_source` of an extension.
//! * `schema` derives schemas from types, `tool_schemas` checks values against them, and `json_terms` rephrases errors.
//! * `subscriptions` notifies modern clients of changes, and `listeners` legacy ones. `change_filter` decides which
//!   changes a caller may learn of.
//! * `visibility` decides which items a caller sees, and `visible_to` configures it. `computed` adds lists computed for
//!   each request, in pages (`page`).
//! * `app` adds apps: HTML pages that hosts show next to tool results.

#[cfg(feature = "apps")]
mod app;
mod arguments;
mod builder;
mod call_tool;
mod change_bus;
mod change_filter;
mod completion;
mod computed;
mod context;
mod conversion;
mod error;
mod extract;
mod function;
mod get_prompt;
mod handle;
mod handler;
pub mod handles;
mod input_error;
mod input_source;
mod into_contents;
mod into_tool_result;
mod json_terms;
mod listeners;
mod page;
mod prompt;
mod questions;
mod read_resource;
mod registry;
pub mod request_state;
mod resource;
mod router;
mod schema;
mod serve;
mod setup;
mod state;
pub mod subscriptions;
mod template;
mod text_arguments;
mod tool;
mod tool_error;
mod tool_schemas;
mod uri_template;
mod visibility;
mod visible_to;

#[cfg(feature = "apps")]
pub use app::{APP_MIME_TYPE, App, Apps};
pub use builder::ServerBuilder;
pub use completion::{Complete, IntoCompletion};
pub use error::{DefinitionError, ServeError};
pub use extract::{Args, Call, FromCall, FromRef, State, Uri};
pub use function::{Handler, WithState, with_state};
pub use input_error::{InputError, InputRejected, InputRequired};
pub use input_source::InputSource;
pub use into_contents::IntoContents;
pub use into_tool_result::{IntoToolResult, Structured};
pub use page::Page;
pub use prompt::{GetPrompt, IntoPrompt};
pub use registry::{decode_cursor, encode_cursor};
pub use resource::ReadResource;
pub use serve::{IntoConnection, serve, serve_until};
pub use state::{RequestContext, Server, ServerSetup, ToolInvocation, ToolRunner};
pub use template::ReadTemplate;
pub use tool::{CallTool, ToolInfo};
pub use tool_error::{ToolError, ToolResult};
pub use visibility::{HeaderMismatch, Item};
