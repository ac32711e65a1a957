//! A server's state, and the handle to it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use mcpgen_runtime::connection::Limits;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::router::Router;
use mcpgen_runtime::transport::Extensions;
#[cfg(feature = "tasks")]
use mcpgen_types::Request as _;
#[cfg(feature = "tasks")]
use mcpgen_types::v2026_07_28::CallToolRequest;
use mcpgen_types::v2026_07_28::CompleteRequestParams;
use parking_lot::Mutex;
use serde_json::json;

use super::change_bus::BusConnection;
use super::change_filter::{CallerFilter, ChangeFilter};
use super::context::{RequestContext, ServerState};
use super::error::{DefinitionError, ServeError};
use super::listeners::{self, Listeners};
use super::prompt::PromptEntry;
use super::registry::{Entry, Registry};
use super::request_state::{RequestStateCodec, RequestStateError};
use super::resource::ResourceEntry;
use super::rounds::Rounds;
use super::subscriptions::Subscriptions;
use super::template::TemplateEntry;
use super::tool::ToolEntry;
use crate::protocol::ContextExt;
use crate::protocol::cache_hints::CacheHints;
use crate::protocol::change::Change;
use crate::protocol::config::ServerConfig;
#[cfg(feature = "tasks")]
use crate::protocol::extension::Extension as _;
use crate::protocol::header_params::Header;
use crate::protocol::info::LocalInfo;
use crate::replicas::{BusEvent, RateLimiter, Replicas};
#[cfg(feature = "tasks")]
use crate::tasks::{TaskSupport, TasksExtension, capability};
use crate::validation::Validator;

/// A server of tools, resources and prompts.
///
/// Create one with [`Server::builder`] and pass it to [`serve`](super::serve()), or to an HTTP server with
/// `ServeHttp::http`. A server is a cheap handle: clones share their state. Keep a clone to add and remove tools,
/// resources and prompts while the server serves.
#[derive(Clone)]
pub struct Server(pub(super) Arc<State>);

/// The state that the clones of a [`Server`] share.
pub(super) struct State {
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
    pub(super) layers: Vec<RouterChange>,
    /// The tasks of tools that can run as tasks.
    #[cfg(feature = "tasks")]
    pub(super) tasks: Option<TasksExtension>,
    /// The tasks if a tool can run as a task and `tasks` is not set.
    #[cfg(feature = "tasks")]
    pub(super) default_tasks: Option<TasksExtension>,
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
    Box<dyn Fn(Context, CompleteRequestParams) -> BoxFuture<'static, Vec<String>> + Send + Sync>;
/// Returns the name of a request's caller.
pub(super) type Identity = Box<dyn Fn(&Context) -> String + Send + Sync>;
/// A callback for each change.
pub(super) type OnChange = Box<dyn Fn(&Change) + Send + Sync>;
/// Adds the handlers of an extension to a router, or wraps it in a middleware layer.
pub(super) type ServerRoutes = Box<dyn Fn(&Server, Router) -> Router + Send + Sync>;

pub(super) type RouterChange = Box<dyn Fn(Router) -> Router + Send + Sync>;

#[cfg(feature = "tasks")]
impl State {
    /// Declares tasks, if they are set or a tool can run as a task.
    pub(super) fn declare_tasks(&mut self) {
        if self.tools.any(|entry| entry.task_support != TaskSupport::Forbidden) {
            let default = self.config.default_tasks.take();
            self.config.tasks.get_or_insert_with(|| default.unwrap_or_default());
        }
        let Some(tasks) = &self.config.tasks else { return };
        let info = std::mem::replace(&mut self.config.info, LocalInfo::new("", "")).extension(tasks);
        self.config.info = info;
        self.config.result_types.extend(tasks.result_types());
        self.subscriptions = self.subscriptions.clone().with_tasks(tasks.clone());
        // Modern revisions omit this capability.
        let capability = capability(&[CallToolRequest::METHOD], false);
        self.config.info.capabilities.insert_if_absent("tasks", capability);
    }
}

impl Server {
    /// Notifies all subscribers of a change that [`change_filter`](super::ServerBuilder::change_filter) allows.
    ///
    /// Adding or removing tools, resources and prompts calls this. Call it for other changes, such as to the contents
    /// of a resource.
    pub fn changed(&self, change: &Change) {
        if let Some(on_change) = &self.0.config.on_change {
            on_change(change);
        }
        if let Some(connection) = &self.0.config.change_bus {
            connection.publish(change);
        }
        self.relay_change(change);
    }

    /// Notifies the subscribers in this process of a change in another process. Unlike [`changed`](Self::changed), this
    /// does not call the function set with [`ServerBuilder::on_change`](super::ServerBuilder::on_change).
    pub fn relay_change(&self, change: &Change) {
        self.0.subscriptions.changed(change);
        listeners::changed(&mut self.0.listeners.lock(), change);
    }

    /// Returns what extensions keep with the server, by type; see [`ServerBuilder::extensions_mut`](super::ServerBuilder::extensions_mut).
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.0.extensions
    }

    /// Returns the number of entries on a page of a list.
    #[must_use]
    pub fn page_size(&self) -> usize {
        self.0.config.page_size
    }

    /// Returns the stores that its HTTP endpoints share with other processes.
    #[must_use]
    pub fn replicas(&self) -> Option<&Replicas> {
        self.0.config.replicas.as_ref()
    }

    /// Returns the arguments of a tool that HTTP clients also send as headers.
    #[must_use]
    pub fn tool_headers(&self, tool: &str) -> Vec<Header> {
        self.0.tools.get(tool).map_or_else(Vec::new, |entry| entry.headers.clone())
    }

    /// Starts to pass changes on to other processes, if the server has a bus. Transports call this before they serve.
    pub fn connect_to_bus(&self) {
        if let Some(connection) = &self.0.config.change_bus {
            connection.start(Arc::downgrade(&self.0), |state, event| match event {
                BusEvent::Change(change) => Self(state).relay_change(&change),
                BusEvent::Missed => Self(state).relay_missed_changes(),
            });
        }
    }

    /// Notifies all subscribers of everything that they have subscribed to.
    fn relay_missed_changes(&self) {
        self.0.subscriptions.everything_changed();
        listeners::everything_changed(&mut self.0.listeners.lock());
    }

    /// Returns the server's configuration: its local info, with the capabilities it has now, and its cache hints.
    ///
    /// # Errors
    ///
    /// Fails if the server has invalid definitions, or if no key for the request state could be created.
    pub fn config(&self) -> Result<ServerConfig, ServeError> {
        let Config { invalid, cache_hints, .. } = &self.0.config;
        if !invalid.is_empty() {
            return Err(ServeError::Definition(invalid.clone()));
        }
        if let Some(Err(error)) = &self.0.config.request_state {
            return Err(ServeError::RequestState(*error));
        }
        let result_types = self.0.config.result_types.iter().map(|kind| (*kind).to_owned()).collect();
        Ok(ServerConfig { cache_hints: cache_hints.clone(), result_types, ..ServerConfig::from(self.local_info()) })
    }

    /// Returns the local info with the capabilities that the server has now.
    #[must_use]
    pub fn local_info(&self) -> LocalInfo {
        let mut info = self.0.config.info.clone();
        let capabilities = [
            ("tools", self.0.tools.is_declared(), json!({ "listChanged": true })),
            ("resources", self.has_resources(), json!({ "listChanged": true, "subscribe": true })),
            ("prompts", self.0.prompts.is_declared(), json!({ "listChanged": true })),
            ("completions", self.has_completions(), json!({})),
        ];
        for (capability, is_declared, details) in capabilities {
            if is_declared {
                info.capabilities.insert_if_absent(capability, details);
            }
        }
        info
    }

    pub(super) fn has_completions(&self) -> bool {
        self.0.config.completion.is_some() || !self.0.config.completions.is_empty()
    }

    pub(super) fn has_resources(&self) -> bool {
        if self.0.templates.is_declared() {
            return true;
        }
        self.0.resources.is_declared()
    }

    pub(super) fn insert<T: Entry>(&self, registry: &Registry<T>, entry: T) -> Result<(), DefinitionError> {
        let was_declared = registry.is_declared();
        registry.insert(entry)?;
        if !was_declared {
            self.0.subscriptions.offer(&self.local_info());
        }
        self.changed(&T::CHANGE);
        Ok(())
    }

    pub(super) fn remove<T: Entry>(&self, registry: &Registry<T>, key: &str) -> bool {
        let is_removed = registry.remove(key);
        if is_removed {
            self.changed(&T::CHANGE);
        }
        is_removed
    }

    /// Returns the state for [`RequestContext::server`].
    pub(super) fn erased(&self) -> ServerState {
        ServerState(self.0.clone())
    }

    /// Creates the [`RequestContext`] of a request. `arguments` returns the JSON text of an object. All rounds of the
    /// request must have the same object, and the same method and subject.
    pub(super) fn request_context(&self, context: Context, arguments: impl FnOnce() -> String) -> RequestContext {
        // In legacy revisions, input requests are sent directly, without request state.
        if !context.revision().is_legacy()
            && let Some(Ok(codec)) = &self.0.config.request_state
        {
            let rounds = Rounds::new(Arc::clone(codec), self.caller(&context), arguments());
            return RequestContext::in_rounds(self.erased(), context, rounds);
        }
        RequestContext::new(self.erased(), context)
    }

    /// Returns the caller of a request. Without [`identity`](super::ServerBuilder::identity), it is the principal, or
    /// empty if there is none.
    pub(super) fn caller(&self, context: &Context) -> String {
        match &self.0.config.identity {
            Some(identity) => identity(context),
            None => context.principal().map_or_else(String::new, |principal| principal.name().to_owned()),
        }
    }

    /// Returns the change filter for the caller of a request.
    pub(super) fn caller_filter(&self, context: &Context) -> CallerFilter {
        match &self.0.config.change_filter {
            Some(filter) => CallerFilter::new(Arc::clone(filter), self.caller(context)),
            None => CallerFilter::default(),
        }
    }
}

impl RequestContext {
    /// Returns the server that handles the request, for example to add tools or to notify clients of a change.
    ///
    /// Use it in the functions of tools, prompts and resources. A function that owns a clone of its server keeps the server
    /// alive for ever.
    ///
    /// ```
    /// use mcpgen_sdk::Server;
    /// use mcpgen_sdk::server::RequestContext;
    ///
    /// let server = Server::builder("workshop", "1.0.0")
    ///     .tool_with_schema("unlock", |context: RequestContext, _| async move {
    ///         context.server().add_tool_with_schema("drill", |_, _| async { "done" })
    ///     })
    ///     .build();
    /// # let _ = server;
    /// ```
    #[must_use]
    pub fn server(&self) -> Server {
        match Arc::clone(&self.server.0).downcast() {
            Ok(state) => Server(state),
            Err(_) => unreachable!("only `Server::erased` creates it"),
        }
    }
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
