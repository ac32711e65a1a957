//! The types of a server: its state, the entries of its lists, and the context of their functions. They refer to each
//! other, because a function can use its server.

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

/// A server of tools, resources and prompts.
///
/// Create one with [`Server::builder`] and pass it to [`serve`](super::serve()), or to an HTTP server with
/// `ServeHttp::http`. A server is a cheap handle: clones share their state. Keep a clone to add and remove tools,
/// resources and prompts while the server serves.
#[derive(Clone)]
pub struct Server(pub(super) Arc<ServerState>);

/// A server that is not built yet, for extensions. [`ServerBuilder::setup`](super::ServerBuilder::setup) passes it to them.
pub struct ServerSetup {
    pub(super) state: ServerState,
}

/// The state that the clones of a [`Server`] share.
pub(super) struct ServerState {
    pub(super) config: Config,
    pub(super) tools: Registry<ToolEntry>,
    pub(super) resources: Registry<ResourceEntry>,
    pub(super) templates: Registry<TemplateEntry>,
    pub(super) prompts: Registry<PromptEntry>,
    /// What extensions keep with the server, by type.
    pub(super) extensions: Extensions,
    pub(super) subscriptions: Subscriptions,
    pub(super) listeners: Mutex<Listeners>,
}

/// The settings of a server. They do not change after it was built.
pub(super) struct Config {
    pub(super) info: LocalInfo,
    pub(super) cache_hints: CacheHints,
    pub(super) page_size: usize,
    /// Whether list requests have an empty result, instead of an error, if the server has no such entries.
    pub(super) empty_lists: bool,
    pub(super) limits: Limits,
    pub(super) completion: Option<Completion>,
    /// Completions of one argument of a prompt, or of one variable of a template.
    pub(super) completions: BTreeMap<CompletionKey, Completion>,
    /// `None` until the builder creates the default.
    pub(super) request_state: Option<Result<Arc<RequestStateCodec>, RequestStateError>>,
    pub(super) identity: Option<Identity>,
    pub(super) on_change: Option<OnChange>,
    pub(super) change_bus: Option<BusConnection>,
    pub(super) change_filter: Option<ChangeFilter>,
    pub(super) visibility: Option<Visibility>,
    pub(super) computed: Computed,
    pub(super) layers: Vec<RouterChange>,
    /// The stores of HTTP endpoints.
    pub(super) replicas: Option<Replicas>,
    /// The values of `resultType` that extensions add.
    pub(super) result_types: Vec<&'static str>,
    /// The functions that add the handlers of extensions.
    pub(super) extensions: Vec<RouterChange>,
    /// The functions that add routes which need the server.
    pub(super) routes: Vec<ServerRoutes>,
    pub(super) rate_limiter: Option<Arc<dyn RateLimiter>>,
    pub(super) validator: Option<Arc<dyn Validator>>,
    /// The invalid definitions. The server does not start if it has any.
    pub(super) invalid: Vec<DefinitionError>,
}

/// The functions of lists that are computed for each request, and of calls of items that are not registered.
#[derive(Default)]
pub(super) struct Computed {
    pub(super) tools: Option<ComputedList<Tool>>,
    pub(super) resources: Option<ComputedList<Resource>>,
    pub(super) templates: Option<ComputedList<ResourceTemplate>>,
    pub(super) prompts: Option<ComputedList<Prompt>>,
    pub(super) tool_fallback: Option<ToolFallback>,
    pub(super) prompt_fallback: Option<PromptFallback>,
}

/// Returns a page of a computed list.
pub(super) type ComputedList<T> =
    Box<dyn Fn(Context, Option<String>) -> BoxFuture<'static, Result<Page<T>, BoxError>> + Send + Sync>;
/// Calls a tool by name. Returns `None` if there is no such tool.
pub(super) type ToolFallback = Arc<
    dyn Fn(RequestContext, String, JsonObject) -> BoxFuture<'static, Option<Result<CallToolResult, ToolError>>>
        + Send
        + Sync,
>;
/// Returns the messages of a prompt by name, or `None` if there is no such prompt.
pub(super) type PromptFallback = Box<
    dyn Fn(RequestContext, String, PromptArguments) -> BoxFuture<'static, Option<Result<GetPromptResult, BoxError>>>
        + Send
        + Sync,
>;

/// What a completion is for: the prompt or the URI template, and the name of the argument or variable.
pub(super) type CompletionKey = (CompletionOf, String);

/// A prompt, by name, or a template of resources, by URI template.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CompletionOf {
    Prompt(String),
    Template(String),
}

/// Completes an argument.
pub(super) type Completion =
    Box<dyn Fn(Context, CompleteRequestParams) -> BoxFuture<'static, Result<Vec<String>, BoxError>> + Send + Sync>;
/// Returns the name of a request's caller.
pub(super) type Identity = Box<dyn Fn(&Context) -> String + Send + Sync>;
/// A callback for each change.
pub(super) type OnChange = Box<dyn Fn(&Change) + Send + Sync>;
/// Adds routes that need the server.
pub(super) type ServerRoutes = Box<dyn Fn(&Server, Router) -> Router + Send + Sync>;
/// Adds the handlers of an extension to a router, or wraps it in a middleware layer.
pub(super) type RouterChange = Box<dyn Fn(Router) -> Router + Send + Sync>;

/// A tool and its function.
pub(super) struct ToolEntry {
    pub(super) tool: Tool,
    pub(super) run: Box<dyn Fn(Arc<ToolEntry>, RequestContext, Arguments) -> ResponseFuture + Send + Sync>,
    /// Runs the calls of the tool in another way.
    pub(super) runner: Option<Arc<dyn ToolRunner>>,
    /// The names of all arguments. Empty if the schema does not name all.
    pub(super) argument_names: Vec<String>,
    /// The arguments that HTTP clients also send as headers.
    pub(super) headers: Vec<Header>,
    /// The compiled schemas, if the server validates.
    pub(super) schemas: OnceLock<Schemas>,
}

/// A resource and the function that reads it.
pub(super) struct ResourceEntry {
    pub(super) resource: Resource,
    pub(super) read: Box<dyn Fn(RequestContext, String, Option<String>) -> ContentsFuture + Send + Sync>,
}

/// A resource template and the function that reads its resources.
pub(super) struct TemplateEntry {
    pub(super) template: ResourceTemplate,
    /// Increases with each template. Of several matching templates, the lowest one is used.
    pub(super) number: u64,
    pub(super) uri_template: UriTemplate,
    /// Takes the URI and the template's MIME type, in addition to the context and the variables.
    pub(super) read: Box<dyn Fn(RequestContext, Variables, String, Option<String>) -> ContentsFuture + Send + Sync>,
}

pub(super) type ContentsFuture = BoxFuture<'static, Contents>;

/// The percent-decoded variables of a template, by name.
pub(super) type Variables = BTreeMap<String, String>;

/// A prompt and its function.
pub(super) struct PromptEntry {
    pub(super) prompt: Prompt,
    /// The types of the arguments, if they have any.
    pub(super) types: TextArguments,
    pub(super) get: Box<dyn Fn(RequestContext, PromptArguments) -> GetPromptFuture + Send + Sync>,
}

/// The arguments of a prompt, by name.
pub(super) type PromptArguments = BTreeMap<String, String>;
pub(super) type GetPromptFuture = BoxFuture<'static, Result<GetPromptResult, BoxError>>;

/// The context of a call to a tool, prompt or resource, which can request input from the client. It has the methods of
/// [`ContextExt`](crate::protocol::ContextExt), such as [`progress`](crate::protocol::ContextExt::progress), and the rest of
/// the request in its [`context`](Self::context).
///
/// In legacy revisions and in tasks, the function waits for the response of the client. In other calls of
/// 2026-07-28, the function returns early with the error of [`elicit`](Self::elicit), [`sample`](Self::sample) or
/// [`roots`](Self::roots); use `?`. Once the client has the input, it sends the request again, and the function runs
/// again from the beginning. Input from earlier rounds is then available immediately. So ask for input before you do
/// anything that must happen only once.
#[derive(Debug)]
pub struct RequestContext {
    pub(super) context: Context,
    pub(super) server: Server,
    /// The arguments of the call, which must be the same in all rounds. Clones leave them to the questions, which they share.
    pub(super) arguments: Arguments,
    /// Created by the first question, because most calls ask none, and shared by clones.
    pub(super) questions: OnceLock<Arc<Questions>>,
    /// What an extension has set. Boxed, because most calls have none.
    pub(super) extended: Option<Box<Extended>>,
}

/// What an extension has set in a context.
#[derive(Clone, Debug, Default)]
pub(super) struct Extended {
    pub(super) input_source: Option<Arc<dyn InputSource>>,
    /// Values, by type.
    pub(super) attached: Extensions,
}

/// Runs the calls of a tool in another way, such as in the background. Extensions set it with
/// [`ToolInfo::runner`](super::ToolInfo::runner).
pub trait ToolRunner: fmt::Debug + Send + Sync + 'static {
    /// Prepares a server that is built with the tool.
    fn prepare(&self, setup: &mut ServerSetup) {
        let _ = setup;
    }

    /// Completes the description of the tool in a list.
    fn list(&self, context: &Context, tool: &mut Tool) {
        let _ = (context, tool);
    }

    /// Runs a call.
    ///
    /// # Errors
    ///
    /// Fails if the tool cannot be called like this.
    fn run(&self, call: ToolInvocation) -> Result<ResponseFuture, ErrorObject>;
}

/// A call of a tool with a [`ToolRunner`]. Clones run the function again.
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
