//! A server's types: its state, the entries of its lists, and the context of functions. They are in one file because
//! they refer to each other: a function can use its server.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use mcpgen_runtime::connection::Limits;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::router::{ResponseFuture, Router};
use mcpgen_runtime::transport::Extensions;
use mcpgen_types::v2026_07_28::{
    CallToolResult, CompleteRequestParams, GetPromptResult, Prompt, Resource, ResourceTemplate, Tool,
};
use mcpgen_types::{ErrorObject, Json, JsonObject};
use parking_lot::Mutex;
use tower::BoxError;

use super::arguments::Arguments;
use super::change_bus::BusConnection;
use super::change_filter::ChangeFilter;
use super::error::DefinitionError;
use super::input_source::InputSource;
use super::into_contents::Contents;
use super::listeners::Listeners;
use super::page::Page;
use super::questions::Questions;
use super::registry::Registry;
use super::request_state::{RequestStateCodec, RequestStateError};
use super::subscriptions::Subscriptions;
use super::text_arguments::TextArguments;
use super::tool_error::ToolError;
use super::tool_schemas::Schemas;
use super::uri_template::UriTemplate;
use super::visibility::Visibility;
use crate::protocol::cache_hints::CacheHints;
use crate::protocol::change::Change;
use crate::protocol::header_params::Header;
use crate::protocol::info::LocalInfo;
use crate::replicas::{RateLimiter, Replicas};
use crate::validation::Validator;

/// A server with tools, resources and prompts.
///
/// Create one with [`Server::builder`], and pass it to [`serve`](super::serve()) or, for HTTP, to `ServeHttp::http`. A
/// server is a cheap handle, and clones share their state. Keep a clone to add and remove tools, resources and prompts
/// while the server runs.
#[derive(Clone)]
pub struct Server(pub(super) Arc<ServerState>);

/// A server under construction, as extensions see it in [`ServerBuilder::setup`](super::ServerBuilder::setup).
pub struct ServerSetup {
    pub(super) state: ServerState,
}

pub(super) struct ServerState {
    pub(super) config: Config,
    pub(super) tools: Registry<ToolEntry>,
    pub(super) resources: Registry<ResourceEntry>,
    pub(super) templates: Registry<TemplateEntry>,
    pub(super) prompts: Registry<PromptEntry>,
    /// What extensions store with the server, by type.
    pub(super) extensions: Extensions,
    pub(super) subscriptions: Subscriptions,
    pub(super) listeners: Mutex<Listeners>,
}

pub(super) struct Config {
    pub(super) info: LocalInfo,
    pub(super) cache_hints: CacheHints,
    pub(super) page_size: usize,
    /// Whether undeclared lists are empty rather than an error.
    pub(super) empty_lists: bool,
    pub(super) limits: Limits,
    pub(super) completion: Option<Completion>,
    /// Completions for a single prompt argument or template variable.
    pub(super) completions: BTreeMap<CompletionKey, Completion>,
    /// The codec for request state. `None` until the builder creates the default.
    pub(super) request_state: Option<Result<Arc<RequestStateCodec>, RequestStateError>>,
    pub(super) identity: Option<Identity>,
    pub(super) on_change: Option<OnChange>,
    pub(super) change_bus: Option<BusConnection>,
    pub(super) change_filter: Option<ChangeFilter>,
    pub(super) visibility: Option<Visibility>,
    pub(super) computed: Computed,
    pub(super) layers: Vec<RouterChange>,
    pub(super) replicas: Option<Replicas>,
    /// Values of `resultType` that extensions add.
    pub(super) result_types: Vec<&'static str>,
    pub(super) extensions: Vec<RouterChange>,
    pub(super) routes: Vec<ServerRoutes>,
    pub(super) rate_limiter: Option<Arc<dyn RateLimiter>>,
    pub(super) validator: Option<Arc<dyn Validator>>,
    /// Invalid definitions. The server does not start if there are any.
    pub(super) invalid: Vec<DefinitionError>,
}

/// Functions for lists computed per request, and for calls to unregistered items.
#[derive(Default)]
pub(super) struct Computed {
    pub(super) tools: Option<ComputedList<Tool>>,
    pub(super) resources: Option<ComputedList<Resource>>,
    pub(super) templates: Option<ComputedList<ResourceTemplate>>,
    pub(super) prompts: Option<ComputedList<Prompt>>,
    pub(super) tool_fallback: Option<ToolFallback>,
    pub(super) prompt_fallback: Option<PromptFallback>,
}

pub(super) type ComputedList<T> =
    Box<dyn Fn(Context, Option<String>) -> BoxFuture<'static, Result<Page<T>, BoxError>> + Send + Sync>;
/// Returns `None` if there is no such tool.
pub(super) type ToolFallback = Arc<
    dyn Fn(RequestContext, String, JsonObject) -> BoxFuture<'static, Option<Result<CallToolResult, ToolError>>>
        + Send
        + Sync,
>;
/// Returns `None` if there is no such prompt.
pub(super) type PromptFallback = Box<
    dyn Fn(RequestContext, String, PromptArguments) -> BoxFuture<'static, Option<Result<GetPromptResult, BoxError>>>
        + Send
        + Sync,
>;

/// What is completed, and the name of the argument or variable.
pub(super) type CompletionKey = (CompletionOf, String);

/// A prompt by name, or a resource template by URI template.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CompletionOf {
    Prompt(String),
    Template(String),
}

pub(super) type Completion =
    Box<dyn Fn(Context, CompleteRequestParams) -> BoxFuture<'static, Result<Vec<String>, BoxError>> + Send + Sync>;
pub(super) type Identity = Box<dyn Fn(&Context) -> String + Send + Sync>;
pub(super) type OnChange = Box<dyn Fn(&Change) + Send + Sync>;
pub(super) type ServerRoutes = Box<dyn Fn(&Server, Router) -> Router + Send + Sync>;
/// Adds an extension's handlers to a router, or wraps it in a layer.
pub(super) type RouterChange = Box<dyn Fn(Router) -> Router + Send + Sync>;

pub(super) struct ToolEntry {
    pub(super) tool: Tool,
    pub(super) run: Box<dyn Fn(Arc<ToolEntry>, RequestContext, Arguments) -> ResponseFuture + Send + Sync>,
    /// Runs calls in another way, such as in the background.
    pub(super) runner: Option<Arc<dyn ToolRunner>>,
    /// All argument names. Empty if the schema may allow others.
    pub(super) argument_names: Vec<String>,
    /// Arguments that HTTP clients repeat in headers.
    pub(super) headers: Vec<Header>,
    /// The compiled schemas, if the server validates.
    pub(super) schemas: OnceLock<Schemas>,
}

pub(super) struct ResourceEntry {
    pub(super) resource: Resource,
    pub(super) read: Box<dyn Fn(RequestContext, String, Option<String>) -> ContentsFuture + Send + Sync>,
}

pub(super) struct TemplateEntry {
    pub(super) template: ResourceTemplate,
    /// Increases with each template. If several templates match, the one with the lowest number is used.
    pub(super) number: u64,
    pub(super) uri_template: UriTemplate,
    /// The function, which takes the context, the variables, the URI and the template's MIME type.
    pub(super) read: Box<dyn Fn(RequestContext, Variables, String, Option<String>) -> ContentsFuture + Send + Sync>,
}

pub(super) type ContentsFuture = BoxFuture<'static, Contents>;

/// The percent-decoded values of variables, by name.
pub(super) type Variables = BTreeMap<String, String>;

pub(super) struct PromptEntry {
    pub(super) prompt: Prompt,
    /// The types of the arguments. Empty if no types are known.
    pub(super) types: TextArguments,
    pub(super) get: Box<dyn Fn(RequestContext, PromptArguments) -> GetPromptFuture + Send + Sync>,
}

pub(super) type PromptArguments = BTreeMap<String, String>;
pub(super) type GetPromptFuture = BoxFuture<'static, Result<GetPromptResult, BoxError>>;

/// The context of a call to a tool, prompt or resource. It has the methods of
/// [`ContextExt`](crate::protocol::ContextExt), such as [`progress`](crate::protocol::ContextExt::progress), can ask
/// the client for input, and gives access to the request through [`context`](Self::context).
///
/// In legacy revisions and in tasks, a function simply waits for the client's answer. In 2026-07-28,
/// [`elicit`](Self::elicit), [`sample`](Self::sample) and [`roots`](Self::roots) return an error, which the function
/// returns with `?`. Once the client has the input, it sends the request again, and the function starts over with the
/// earlier answers at hand. So ask before you do anything that must happen only once.
#[derive(Debug)]
pub struct RequestContext {
    pub(super) context: Context,
    pub(super) server: Server,
    /// The arguments, which must be the same in all rounds. Only the original has them; clones rely on the shared
    /// questions.
    pub(super) arguments: Arguments,
    /// The questions of the call. Created lazily, because most calls ask none. Shared by clones.
    pub(super) questions: OnceLock<Arc<Questions>>,
    /// What extensions have set. Boxed because most calls have nothing.
    pub(super) extended: Option<Box<Extended>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Extended {
    pub(super) input_source: Option<Arc<dyn InputSource>>,
    /// Attached values, by type.
    pub(super) attached: Extensions,
}

/// Runs a tool's calls in another way, such as in the background. Extensions set it with
/// [`ToolInfo::runner`](super::ToolInfo::runner).
pub trait ToolRunner: fmt::Debug + Send + Sync + 'static {
    /// Prepares the server when it is built with the tool.
    fn prepare(&self, setup: &mut ServerSetup) {
        let _ = setup;
    }

    /// Completes the description of the tool when it is listed.
    fn list(&self, context: &Context, tool: &mut Tool) {
        let _ = (context, tool);
    }

    /// Runs a call.
    ///
    /// # Errors
    ///
    /// Fails if the tool cannot be called this way.
    fn run(&self, call: ToolInvocation) -> Result<ResponseFuture, ErrorObject>;
}

/// A call to a tool with a [`ToolRunner`]. A clone can run the function again.
#[derive(Clone, Debug)]
pub struct ToolInvocation {
    pub(super) server: Server,
    pub(super) entry: Arc<ToolEntry>,
    pub(super) context: Context,
    pub(super) arguments: Arguments,
    pub(super) params: Option<Json>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("tools", &self.0.tools.len())
            .field("resources", &self.0.resources.len())
            .field("prompts", &self.0.prompts.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ServerSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSetup").field("info", &self.state.config.info).finish_non_exhaustive()
    }
}

impl fmt::Debug for ToolEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolEntry").field("tool", &self.tool.name).finish_non_exhaustive()
    }
}
