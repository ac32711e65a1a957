//! Servers whose tools, resources and prompts are functions.
//!
//! ```
//! use mcpgen_runtime::Server;
//! use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
//!
//! let server = Server::new("greeter", "1.0.0")
//!     .tool_with_schema(Tool::new(ToolInputSchema::new(), "greet"), |_, arguments| async move {
//!         format!("hello, {}", arguments.get("name").and_then(|name| name.as_str()).unwrap_or("world"))
//!     });
//! # let _ = server;
//! ```
//!
//! With the feature `schemars`, a tool can take its arguments as a Rust type; see [`Server::tool`].
//!
//! Functions use the types of the newest revision, also for clients of older revisions. Results for such a client omit
//! the members that its revision lacks. A result that the revision cannot express, such as content of an unsupported
//! type, becomes an error response for that client only.

mod ask;
pub mod handles;
mod listeners;
mod older_revisions;
pub mod pagination;
mod prompts;
#[cfg(feature = "rate-limit")]
mod rate_limit;
pub mod request_state;
mod resources;
mod serve;
pub mod subscriptions;
mod tools;
#[cfg(feature = "validate")]
mod validate;
#[cfg(feature = "validate")]
pub(crate) use validate::OutputSchema;

use std::fmt;
use std::future::{Future, ready};
use std::io;
use std::sync::{Arc, LazyLock, MutexGuard, RwLockReadGuard};
use std::time::Duration;

use mcpgen_types::codec::Encode;
use mcpgen_types::v2026_07_28::{InputRequiredResult, SubscriptionsListenRequest};
use mcpgen_types::{ErrorObject, JsonObject, RawJson, Request, Revision, Value};
use serde_json::json;
use tower::Layer;
use tower::layer::util::Identity;

pub use ask::Call;
use listeners::Listeners;
pub use prompts::{IntoPrompt, PromptError};
pub use resources::IntoContents;
pub use serve::serve;
pub use tools::{IntoToolResult, Structured, ToolError, ToolInfo};

use crate::connection::{Connection, Limits};
use crate::jsonrpc::errors;
use crate::jsonrpc::json::with_meta;
use crate::protocol::cache_hints::{CacheHint, CacheHints};
use crate::protocol::change::Change;
use crate::protocol::config::ServerConfig;
use crate::protocol::header_params;
use crate::protocol::info::{HandlerCapabilities, LocalInfo};
use crate::protocol::modern::{CLIENT_CAPABILITIES, PROTOCOL_VERSION};
use crate::server::request_state::RequestStateCodec;
use crate::server::subscriptions::Subscriptions;
use crate::service::context::Context;
use crate::service::router::{AnyRequest, RequestService, Router};
use crate::transport::{Incoming, Outgoing};
use crate::util::lock::{Mutex, RwLock};

/// A server of tools, resources and prompts.
///
/// Clones share their state. Keep a clone to change a server while it serves.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

struct Shared {
    ours: RwLock<LocalInfo>,
    caching: RwLock<CacheHints>,
    things: RwLock<Things>,
    subscriptions: Subscriptions,
    listeners: Mutex<Listeners>,
    callers: RwLock<Callers>,
    problems: Mutex<Vec<DefinitionError>>,
    on_change: RwLock<Option<OnChange>>,
}

/// The function set with [`Server::on_change`].
type OnChange = Arc<dyn Fn(&Change) + Send + Sync>;

/// Settings that depend on the caller of a request.
#[derive(Default)]
struct Callers {
    seal: Option<RequestStateCodec>,
    who: Option<Who>,
    #[cfg(feature = "rate-limit")]
    limit: Option<Arc<rate_limit::RateLimit>>,
    #[cfg(feature = "rate-limit")]
    quota: Option<(u32, Duration)>,
    /// The maximum number of callers that the rate limit remembers.
    #[cfg(feature = "rate-limit")]
    max_callers: Option<usize>,
}

#[cfg(feature = "rate-limit")]
impl Callers {
    fn set_quota(&mut self, calls: u32, per: Duration) {
        self.quota = Some((calls, per));
        self.limit_calls();
    }

    fn set_max_callers(&mut self, max: usize) {
        self.max_callers = Some(max);
        self.limit_calls();
    }

    fn limit_calls(&mut self) {
        let max = self.max_callers.unwrap_or(rate_limit::DEFAULT_CALLERS);
        self.limit = self.quota.map(|(calls, per)| Arc::new(rate_limit::RateLimit::new(calls, per, max)));
    }
}

/// Returns the name of a request's caller.
type Who = Arc<dyn Fn(&Context) -> String + Send + Sync>;

/// The tools, resources and prompts of a server.
#[derive(Default)]
struct Things {
    tools: Vec<Arc<tools::Entry>>,
    resources: Vec<Arc<resources::Entry>>,
    templates: Vec<Arc<resources::Template>>,
    prompts: Vec<Arc<prompts::Entry>>,
    completion: Option<prompts::Completer>,
    page: usize,
    /// The kinds that were ever added. A list that has become empty is still served.
    kinds: Kinds,
}

#[derive(Clone, Copy, Default)]
struct Kinds {
    tools: bool,
    resources: bool,
    prompts: bool,
    completions: bool,
}

impl Kinds {
    /// Returns whether the server supports a method of tools, resources, prompts or completions.
    fn know(self, method: &str) -> bool {
        match method.split('/').next() {
            Some("tools") => self.tools,
            Some("resources") => self.resources,
            Some("prompts") => self.prompts,
            _ => self.completions,
        }
    }
}

/// An invalid definition of a tool, resource or prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// Another definition has the same name or URI.
    #[error("{what} {name:?} is defined twice")]
    Twice {
        /// The kind of definition, such as `tool`.
        what: &'static str,
        /// The name or URI.
        name: String,
    },
    /// A tool's name is too long, empty, or has characters that not all clients accept.
    #[error("tool {0:?}: a name must have 1 to 128 characters from A-Z, a-z, 0-9, `_`, `-` and `.`")]
    Name(String),
    /// A tool's arguments are not an object.
    #[error("tool {name:?}: {schema} must have the type \"object\", found {found}")]
    NotAnObject {
        /// The tool.
        name: String,
        /// `inputSchema` or `outputSchema`.
        schema: &'static str,
        /// The schema's type.
        found: String,
    },
    /// A schema is invalid or not supported.
    #[error("tool {name:?}: {schema}: {why}")]
    Schema {
        /// The tool.
        name: String,
        /// `inputSchema` or `outputSchema`.
        schema: &'static str,
        /// The reason.
        why: String,
    },
    /// An `x-mcp-header` in a tool's `inputSchema` is invalid.
    #[error("tool {name:?}: {why}")]
    Header {
        /// The tool.
        name: String,
        /// The reason.
        why: header_params::HeaderError,
    },
    /// A URI template is invalid, or its variables cannot be extracted from a URI.
    #[error("resource template {template:?}: {why}")]
    Template {
        /// The template.
        template: String,
        /// The reason.
        why: String,
    },
}

/// The reason why a server cannot start, or has stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The server has invalid definitions.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Definition(Vec<DefinitionError>),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Server {
    /// Creates an empty server that supports all revisions.
    pub fn new(name: &str, version: &str) -> Self {
        Self::of(LocalInfo::new(name, version))
    }

    /// Creates an empty server with this local info. Adding tools, resources and prompts adds their capabilities.
    pub fn of(ours: LocalInfo) -> Self {
        Self(Arc::new(Shared {
            subscriptions: Subscriptions::of(&ours),
            ours: RwLock::new(ours),
            caching: RwLock::default(),
            things: RwLock::new(Things { page: 100, ..Things::default() }),
            listeners: Mutex::default(),
            callers: RwLock::new(Callers {
                seal: RequestStateCodec::of_this_process(Duration::from_secs(15 * 60)).ok(),
                ..Callers::default()
            }),
            problems: Mutex::default(),
            on_change: RwLock::default(),
        }))
    }

    /// Sets the instructions that tell models how to use the server.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        self.0.ours.write().instructions = Some(instructions.into());
        self
    }

    /// Sets the cache hint of the results of `R`: a list request, `resources/read` or `server/discover`.
    #[must_use]
    pub fn fresh<R: Request>(self, hint: CacheHint) -> Self {
        let mut caching = self.0.caching.write();
        *caching = std::mem::take(&mut *caching).of::<R>(hint);
        drop(caching);
        self
    }

    /// Sets the number of entries on a page of a list. The default is 100, the minimum is 1.
    #[must_use]
    pub fn page(self, size: usize) -> Self {
        self.0.things.write().page = size.max(1);
        self
    }

    /// Sets the codec for the request state of multi-round requests.
    ///
    /// The default is [`RequestStateCodec::of_this_process`] with a lifetime of 15 minutes, which accepts each state
    /// once. If several processes serve the same requests, they must share a key: [`RequestStateCodec::new`]. A codec
    /// with a shared key accepts a state any number of times until it expires, unless it has a store that the processes
    /// share: [`RequestStateCodec::once`].
    #[must_use]
    pub fn seal(self, seal: RequestStateCodec) -> Self {
        self.0.callers.write().seal = Some(seal);
        self
    }

    /// Sets a function that returns the caller of a request, such as the name of a user that a middleware layer has
    /// authenticated. It must return only what it can rely on. By default, callers are not distinguished.
    ///
    /// A multi-round request can only be continued by the caller that started it.
    #[must_use]
    pub fn identity(self, who: impl Fn(&Context) -> String + Send + Sync + 'static) -> Self {
        self.0.callers.write().who = Some(Arc::new(who));
        self
    }

    /// Limits how often each caller may call tools: bursts of `calls`, which refill evenly over the period `per`.
    ///
    /// A call beyond the limit does not run the tool. Its result is an error that contains the number of seconds to
    /// wait. Every round of a multi-round call is charged, also if its request state is rejected.
    /// [`identity`](Self::identity) distinguishes callers; without it, all calls count as one caller's.
    ///
    /// The limit remembers up to 100,000 callers (about 6 MB), see [`rate_limit_callers`](Self::rate_limit_callers).
    #[cfg(feature = "rate-limit")]
    #[must_use]
    pub fn rate_limit(self, calls: u32, per: Duration) -> Self {
        self.0.callers.write().set_quota(calls, per);
        self
    }

    /// Sets how many callers [`rate_limit`](Self::rate_limit) remembers; 100,000 by default.
    ///
    /// A caller is forgotten once it was idle for the period of the limit, at the latest after two periods. While the
    /// limit remembers this many callers, it rejects new callers. Known callers are not affected.
    #[cfg(feature = "rate-limit")]
    #[must_use]
    pub fn rate_limit_callers(self, max: usize) -> Self {
        self.0.callers.write().set_max_callers(max);
        self
    }

    /// Returns the caller of a request. Without [`identity`](Self::identity), it is empty.
    fn who(&self, context: &Context) -> String {
        let who = self.0.callers.read().who.clone();
        who.map_or_else(String::new, |who| who(context))
    }

    /// Charges a call to its caller. If it exceeds the rate limit, returns how long the caller has to wait.
    #[cfg(feature = "rate-limit")]
    fn rate_limited(&self, context: &Context) -> Option<Duration> {
        let limit = self.0.callers.read().limit.clone()?;
        limit.check(&self.who(context))
    }

    /// Creates the [`Call`] for a request. `what` returns the JSON text of an object. All rounds of the request must
    /// have the same object, and the same method and subject.
    fn call(&self, context: Context, what: impl FnOnce() -> String) -> Call {
        // In legacy revisions, input requests are sent directly, without request state.
        let seal = if context.revision().is_legacy() { None } else { self.0.callers.read().seal.clone() };
        match seal {
            None => Call::new(context),
            Some(seal) => {
                let who = self.who(&context);
                Call::in_rounds(context, seal, who, what())
            }
        }
    }

    /// Notifies all subscribers of a change.
    ///
    /// Adding or removing tools, resources and prompts calls this. Call it for other changes, such as to the contents
    /// of a resource.
    pub fn changed(&self, change: &Change) {
        let tell = self.0.on_change.read().clone();
        if let Some(tell) = tell {
            tell(change);
        }
        self.changed_elsewhere(change);
    }

    /// Sets a function that is called with each change in this process.
    ///
    /// Use it if several processes serve the same clients: send the change to the other processes, which then call
    /// [`changed_elsewhere`](Self::changed_elsewhere). Each subscriber is connected to only one of the processes.
    #[must_use]
    pub fn on_change(self, tell: impl Fn(&Change) + Send + Sync + 'static) -> Self {
        *self.0.on_change.write() = Some(Arc::new(tell));
        self
    }

    /// Like [`changed`](Self::changed), but for a change in another process: it does not call the function set with
    /// [`on_change`](Self::on_change).
    pub fn changed_elsewhere(&self, change: &Change) {
        self.0.subscriptions.changed(change);
        listeners::changed(&mut self.listeners(), change);
    }

    /// Returns the server's configuration: its local info, with the capabilities it has now, and its cache hints.
    ///
    /// # Errors
    ///
    /// The server has invalid definitions.
    pub fn config(&self) -> Result<ServerConfig, ServeError> {
        let problems = self.problems();
        if !problems.is_empty() {
            return Err(ServeError::Definition(problems.clone()));
        }
        Ok(ServerConfig { caching: self.0.caching.read().clone(), ..ServerConfig::from(self.introduction()) })
    }

    fn introduction(&self) -> LocalInfo {
        let (mut ours, things) = (self.0.ours.read().clone(), self.things());
        let lists = [
            ("tools", things.kinds.tools, json!({ "listChanged": true })),
            ("resources", things.kinds.resources, json!({ "listChanged": true, "subscribe": true })),
            ("prompts", things.kinds.prompts, json!({ "listChanged": true })),
            ("completions", things.kinds.completions, json!({})),
            ("logging", true, json!({})),
        ];
        for (capability, there, details) in lists {
            if there {
                ours.capabilities.entry(capability).or_insert(details);
            }
        }
        ours
    }

    /// Returns a router with the server's handlers. You can add more handlers to it.
    #[must_use]
    pub fn router(&self) -> Router {
        self.0.subscriptions.config(&self.introduction());
        let listen = self.0.subscriptions.handler();
        let router = Router::new().handle(None, SubscriptionsListenRequest::METHOD, move |request| {
            if request.context.revision().is_legacy() {
                return Box::pin(ready(Err(errors::method_not_found(&request.method))));
            }
            match crate::service::router::params::<SubscriptionsListenRequest>(&request) {
                Ok(params) => {
                    let ended = listen(request.context, params);
                    Box::pin(async move { ended.await.map(|result| RawJson::from(&result)) })
                }
                Err(error) => Box::pin(ready(Err(errors::invalid_params(&error)))),
            }
        });
        let router = tools::routes(self, router);
        let router = resources::routes(self, router);
        let router = prompts::routes(self, router);
        let this = self.clone();
        router.custom_notification("notifications/initialized", move |context: Context, _: Value| {
            listeners::listener(&mut this.listeners(), context.peer());
            async {}
        })
    }

    /// Serves a connection until the client closes it.
    ///
    /// # Errors
    ///
    /// The server has invalid definitions, or reading or writing fails.
    pub async fn serve(
        &self,
        incoming: impl Incoming,
        outgoing: impl Outgoing,
        limits: Limits,
    ) -> Result<(), ServeError> {
        self.serve_behind(Identity::new(), incoming, outgoing, limits).await
    }

    /// Like [`serve`](Self::serve), but wraps the server's handlers in a middleware layer.
    ///
    /// Use a layer for authorization (see [`Context::subject`](crate::Context::subject)), timeouts or metrics.
    ///
    /// # Errors
    ///
    /// The same as [`serve`](Self::serve).
    pub async fn serve_behind<L: Layer<Router, Service: RequestService>>(
        &self,
        layer: L,
        incoming: impl Incoming,
        outgoing: impl Outgoing,
        limits: Limits,
    ) -> Result<(), ServeError> {
        let (router, config) = (self.router(), self.config()?);
        // The handlers work in every revision, and `config` has all capabilities.
        let protocol = config.protocol(&HandlerCapabilities::default());
        let requests = layer.layer(router.clone());
        Ok(Connection::new(requests, router, Arc::new(protocol), limits).run(incoming, outgoing).await?)
    }

    /// Serves the process's standard input and output. The process must not write anything else to standard output.
    ///
    /// # Errors
    ///
    /// The same as [`serve`](Self::serve).
    #[cfg(feature = "stdio")]
    pub async fn stdio(&self) -> Result<(), ServeError> {
        let (incoming, outgoing) = crate::transport::stdio::stdio(crate::transport::lines::LONGEST)?;
        self.serve(incoming, outgoing, Limits::default()).await
    }

    /// Creates the server's HTTP endpoint, a service for axum or hyper; see [`http`](crate::http).
    ///
    /// # Errors
    ///
    /// The server has invalid definitions.
    #[cfg(feature = "http-server")]
    pub fn http(&self, options: crate::http::server::Options) -> Result<crate::http::server::Endpoint, ServeError> {
        self.http_behind(Identity::new(), options)
    }

    /// Like [`http`](Self::http), but wraps the server's handlers in a middleware layer.
    ///
    /// # Errors
    ///
    /// The server has invalid definitions.
    #[cfg(feature = "http-server")]
    pub fn http_behind<L: Layer<Router, Service: RequestService>>(
        &self,
        layer: L,
        mut options: crate::http::server::Options,
    ) -> Result<crate::http::server::Endpoint<L::Service>, ServeError> {
        let (router, config) = (self.router(), self.config()?);
        let (this, tools) = (self.clone(), self.clone());
        // The handlers work in every revision, and `config` returns the current capabilities each time it is called.
        let config = move || this.config().unwrap_or_else(|_| config.clone());
        options.tool_headers.get_or_insert_with(|| Arc::new(move |tool| tools.headers_of(tool)));
        let (requests, routers) = (layer.layer(router.clone()), (router, HandlerCapabilities::default()));
        Ok(crate::http::server::Endpoint::of(config, requests, routers, options))
    }

    fn things(&self) -> RwLockReadGuard<'_, Things> {
        self.0.things.read()
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.0.listeners.lock()
    }

    fn problems(&self) -> MutexGuard<'_, Vec<DefinitionError>> {
        self.0.problems.lock()
    }

    /// Records an invalid definition. [`config`](Self::config) and [`serve`](Self::serve) return it.
    fn noted(self, added: Result<(), DefinitionError>) -> Self {
        self.problems().extend(added.err());
        self
    }

    /// Adds a handler of `R` for every revision. The handler's params and result are those of the newest revision.
    fn answering<R, T, F, Fut>(&self, router: Router, handler: F) -> Router
    where
        R: Request + 'static,
        T: Encode,
        F: Fn(Server, Context, R::Params) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, ErrorObject>> + Send + 'static,
    {
        let this = self.clone();
        router.handle(None, R::METHOD, move |request| {
            let context = request.context.clone();
            if !this.things().kinds.know(R::METHOD) {
                return Box::pin(ready(Err(errors::method_not_found(R::METHOD))));
            }
            let answer = params::<R>(request).map(|params| handler(this.clone(), context.clone(), params));
            Box::pin(async move { said(&context, &answer?.await?) })
        })
    }
}

/// Decodes the params of a request of any revision as params of the newest revision.
fn params<R: Request>(mut request: AnyRequest) -> Result<R::Params, ErrorObject> {
    if request.context.revision().is_legacy() {
        request.params = Some(with_newest_meta(request.params.take())?);
    }
    crate::service::router::params::<R>(&request).map_err(|error| errors::invalid_params(&error))
}

/// Adds the `_meta` members that the newest revision requires to the params of a legacy request.
fn with_newest_meta(params: Option<RawJson>) -> Result<RawJson, ErrorObject> {
    static SAID: LazyLock<RawJson> = LazyLock::new(|| {
        RawJson::from(&json!({ PROTOCOL_VERSION: Revision::V2026_07_28.as_str(), CLIENT_CAPABILITIES: {} }))
    });
    let params = params.unwrap_or_else(|| RawJson::from(&JsonObject::new()));
    // If `_meta` cannot occur, not even with escapes, it is added without decoding the params.
    let text = params.text();
    let added = if text.contains("_meta") || text.contains("\\u") { None } else { params.with_member("_meta", &*SAID) };
    if let Some(added) = added {
        return Ok(added);
    }
    let said = [(PROTOCOL_VERSION, format!("\"{}\"", Revision::V2026_07_28)), (CLIENT_CAPABILITIES, "{}".to_owned())];
    let added = with_meta(Some(params), &said, false).map_err(|why| errors::invalid_params_in_words(&why))?;
    added.ok_or_else(errors::internal)
}

/// Encodes a result for the revision of the request.
fn said<T: Encode>(context: &Context, result: &T) -> Result<RawJson, ErrorObject> {
    if !context.revision().is_legacy() {
        return Ok(RawJson::from(result));
    }
    older_revisions::result(context.method(), context.revision(), result).map_err(|unsaid| {
        tracing::warn!(method = context.method(), %unsaid, "the revision of the request cannot express the result");
        ErrorObject::new(mcpgen_types::ErrorCode::INTERNAL_ERROR, unsaid.to_string())
    })
}

/// A result, or a request for input that is required first.
enum Asks<T> {
    Result(T),
    Input(Box<InputRequiredResult>),
}

impl<T: Encode> Encode for Asks<T> {
    fn encode(&self) -> mcpgen_types::codec::Node<'_> {
        match self {
            Self::Result(result) => result.encode(),
            Self::Input(asks) => asks.encode(),
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let things = self.things();
        f.debug_struct("Server")
            .field("tools", &things.tools.len())
            .field("resources", &(things.resources.len() + things.templates.len()))
            .field("prompts", &things.prompts.len())
            .finish_non_exhaustive()
    }
}
