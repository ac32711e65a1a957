//! Servers as people write them: tools, resources and prompts by name, each a function.
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
//! With the feature `schemars` a tool's arguments are a type, see [`Server::tool`].
//!
//! Everything here speaks the types of the newest revision. What is said to a client of an older one leaves out what that
//! one lacks; what it cannot say (content of a type that it does not have) is an error for that client, and no other.

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

/// A server of tools, resources and prompts. Clones are the same server, so that it can be changed while it serves.
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

/// Takes what has changed.
type OnChange = Arc<dyn Fn(&Change) + Send + Sync>;

/// What is known of those who make requests.
#[derive(Default)]
struct Callers {
    seal: Option<RequestStateCodec>,
    who: Option<Who>,
    #[cfg(feature = "rate-limit")]
    limit: Option<Arc<rate_limit::RateLimit>>,
    #[cfg(feature = "rate-limit")]
    quota: Option<(u32, Duration)>,
    /// How many callers the rate limit remembers.
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

/// Says who makes a request.
type Who = Arc<dyn Fn(&Context) -> String + Send + Sync>;

/// What the server has.
#[derive(Default)]
struct Things {
    tools: Vec<Arc<tools::Entry>>,
    resources: Vec<Arc<resources::Entry>>,
    templates: Vec<Arc<resources::Template>>,
    prompts: Vec<Arc<prompts::Entry>>,
    completion: Option<prompts::Completer>,
    page: usize,
    /// What there is, or was: a list that has become empty is still a list.
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
    /// Whether requests of a method mean anything here.
    fn know(self, method: &str) -> bool {
        match method.split('/').next() {
            Some("tools") => self.tools,
            Some("resources") => self.resources,
            Some("prompts") => self.prompts,
            _ => self.completions,
        }
    }
}

/// What is wrong with a server as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// There is one of this name, or URI, already.
    #[error("{what} {name:?} is there twice")]
    Twice {
        /// What it is.
        what: &'static str,
        /// Its name, or URI.
        name: String,
    },
    /// A tool's name is not one that all clients take.
    #[error("tool {0:?}: a name has 1 to 128 of A-Z, a-z, 0-9, `_`, `-` and `.`")]
    Name(String),
    /// The arguments of a tool, or its structured result, are no object.
    #[error("tool {name:?}: {schema} is a schema of {found}, and must be one of objects")]
    NotAnObject {
        /// The tool.
        name: String,
        /// `inputSchema` or `outputSchema`.
        schema: &'static str,
        /// What it is.
        found: String,
    },
    /// A schema is none.
    #[error("tool {name:?}: {schema}: {why}")]
    Schema {
        /// The tool.
        name: String,
        /// `inputSchema` or `outputSchema`.
        schema: &'static str,
        /// What is wrong.
        why: String,
    },
    /// An `x-mcp-header` is not as it must be.
    #[error("tool {name:?}: {why}")]
    Header {
        /// The tool.
        name: String,
        /// What is wrong.
        why: header_params::HeaderError,
    },
    /// A URI template is none, or one whose variables cannot be found in a URI.
    #[error("resource template {template:?}: {why}")]
    Template {
        /// The template.
        template: String,
        /// What is wrong.
        why: String,
    },
}

/// Why a server does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It was not written as it must be.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Definition(Vec<DefinitionError>),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Server {
    /// A server that has nothing yet, and speaks all revisions.
    pub fn new(name: &str, version: &str) -> Self {
        Self::of(LocalInfo::new(name, version))
    }

    /// A server that says this of itself, besides what it has.
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

    /// How it wants to be used, for the models that use it.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        self.0.ours.write().instructions = Some(instructions.into());
        self
    }

    /// For how long the answers to a request may be kept: a list, `resources/read`, or `server/discover`.
    #[must_use]
    pub fn fresh<R: Request>(self, hint: CacheHint) -> Self {
        let mut caching = self.0.caching.write();
        *caching = std::mem::take(&mut *caching).of::<R>(hint);
        drop(caching);
        self
    }

    /// How many things stand on a page of a list; 100 if nothing is said.
    #[must_use]
    pub fn page(self, size: usize) -> Self {
        self.0.things.write().page = size.max(1);
        self
    }

    /// Sets the seal for the state of requests that take several rounds.
    ///
    /// The default is [`RequestStateCodec::of_this_process`] with a lifetime of 15 minutes, which accepts each state once. Several
    /// processes that serve the same requests must share a key: [`RequestStateCodec::new`]. A seal with a shared key accepts a state any
    /// number of times until it expires, unless it has a store that the processes share: [`RequestStateCodec::once`].
    #[must_use]
    pub fn seal(self, seal: RequestStateCodec) -> Self {
        self.0.callers.write().seal = Some(seal);
        self
    }

    /// Who makes a request, as far as that is known for sure: such as the name of a user that a layer of middleware has
    /// authenticated. Only the same one can go on with a request that takes several rounds.
    #[must_use]
    pub fn identity(self, who: impl Fn(&Context) -> String + Send + Sync + 'static) -> Self {
        self.0.callers.write().who = Some(Arc::new(who));
        self
    }

    /// Limits how often each caller may call tools: bursts of `calls`, which refill evenly over the period `per`.
    ///
    /// A call beyond the limit does not run the tool. Its result is an error that says how many seconds to wait. Every round
    /// of a call that takes several rounds is charged, also if its request state is refused. Callers are told apart by
    /// [`identity`](Self::identity); without it all calls count as one caller's.
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
    /// A caller is forgotten once it was idle for the period of the limit, at the latest after two periods. While the limit
    /// remembers this many callers, new callers are refused, and the callers it knows are not affected.
    #[cfg(feature = "rate-limit")]
    #[must_use]
    pub fn rate_limit_callers(self, max: usize) -> Self {
        self.0.callers.write().set_max_callers(max);
        self
    }

    /// Who makes a request; nobody in particular if that is not known.
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

    /// What a function is given. `what` is an object's text, which must be the same in all rounds, besides what the
    /// request is about.
    fn call(&self, context: Context, what: impl FnOnce() -> String) -> Call {
        // In the older revisions the client is asked at once.
        let seal = if context.revision().is_legacy() { None } else { self.0.callers.read().seal.clone() };
        match seal {
            None => Call::new(context),
            Some(seal) => {
                let who = self.who(&context);
                Call::in_rounds(context, seal, who, what())
            }
        }
    }

    /// Tells everybody who wants to hear of it that something has changed. What this server has by name tells so by itself.
    pub fn changed(&self, change: &Change) {
        let tell = self.0.on_change.read().clone();
        if let Some(tell) = tell {
            tell(change);
        }
        self.changed_elsewhere(change);
    }

    /// Hears of each change here, so that other processes which serve the same requests can be told: by
    /// [`changed_elsewhere`](Self::changed_elsewhere) there. Whoever listens is listening to one of them.
    #[must_use]
    pub fn on_change(self, tell: impl Fn(&Change) + Send + Sync + 'static) -> Self {
        *self.0.on_change.write() = Some(Arc::new(tell));
        self
    }

    /// As [`changed`](Self::changed), of a change in another process: nobody but those who listen here is told.
    pub fn changed_elsewhere(&self, change: &Change) {
        self.0.subscriptions.changed(change);
        listeners::changed(&mut self.listeners(), change);
    }

    /// What this server says of itself.
    ///
    /// # Errors
    ///
    /// It was not written as it must be.
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

    /// The handlers of all that this server has, to which others may be added.
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

    /// Serves a connection until its client is gone.
    ///
    /// # Errors
    ///
    /// The server was not written as it must be; reading or writing failed.
    pub async fn serve(
        &self,
        incoming: impl Incoming,
        outgoing: impl Outgoing,
        limits: Limits,
    ) -> Result<(), ServeError> {
        self.serve_behind(Identity::new(), incoming, outgoing, limits).await
    }

    /// As [`serve`](Self::serve), behind a layer of middleware that sees each request before it is answered: for who may call
    /// what, see [`Context::subject`](crate::Context::subject); for time limits, metrics, and the like.
    ///
    /// # Errors
    ///
    /// Those of [`serve`](Self::serve).
    pub async fn serve_behind<L: Layer<Router, Service: RequestService>>(
        &self,
        layer: L,
        incoming: impl Incoming,
        outgoing: impl Outgoing,
        limits: Limits,
    ) -> Result<(), ServeError> {
        let (router, config) = (self.router(), self.config()?);
        // It answers in every revision, and has said what it is able to do.
        let protocol = config.protocol(&HandlerCapabilities::default());
        let requests = layer.layer(router.clone());
        Ok(Connection::new(requests, router, Arc::new(protocol), limits).run(incoming, outgoing).await?)
    }

    /// Serves the process's own standard input and output. Nothing else may be written to standard output.
    ///
    /// # Errors
    ///
    /// Those of [`serve`](Self::serve).
    #[cfg(feature = "stdio")]
    pub async fn stdio(&self) -> Result<(), ServeError> {
        let (incoming, outgoing) = crate::transport::stdio::stdio(crate::transport::lines::LONGEST)?;
        self.serve(incoming, outgoing, Limits::default()).await
    }

    /// The endpoint of this server at a place of the web: a service for axum or hyper, see [`http`](crate::http).
    ///
    /// # Errors
    ///
    /// The server was not written as it must be.
    #[cfg(feature = "http-server")]
    pub fn http(&self, options: crate::http::server::Options) -> Result<crate::http::server::Endpoint, ServeError> {
        self.http_behind(Identity::new(), options)
    }

    /// As [`http`](Self::http), behind a layer of middleware that sees each request before it is answered.
    ///
    /// # Errors
    ///
    /// The server was not written as it must be.
    #[cfg(feature = "http-server")]
    pub fn http_behind<L: Layer<Router, Service: RequestService>>(
        &self,
        layer: L,
        mut options: crate::http::server::Options,
    ) -> Result<crate::http::server::Endpoint<L::Service>, ServeError> {
        let (router, config) = (self.router(), self.config()?);
        let (this, tools) = (self.clone(), self.clone());
        // It answers in every revision, and says at any time what it is able to do then.
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

    /// What cannot be said now is said when it is to serve.
    fn noted(self, added: Result<(), DefinitionError>) -> Self {
        self.problems().extend(added.err());
        self
    }

    /// Answers requests of a type in every revision, as if all of them were of the newest one.
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

/// The params of a request of whichever revision, as the newest one has them.
fn params<R: Request>(mut request: AnyRequest) -> Result<R::Params, ErrorObject> {
    if request.context.revision().is_legacy() {
        request.params = Some(with_newest_meta(request.params.take())?);
    }
    crate::service::router::params::<R>(&request).map_err(|error| errors::invalid_params(&error))
}

/// What every request of the newest revision says, which an older one does not.
fn with_newest_meta(params: Option<RawJson>) -> Result<RawJson, ErrorObject> {
    static SAID: LazyLock<RawJson> = LazyLock::new(|| {
        RawJson::from(&json!({ PROTOCOL_VERSION: Revision::V2026_07_28.as_str(), CLIENT_CAPABILITIES: {} }))
    });
    let params = params.unwrap_or_else(|| RawJson::from(&JsonObject::new()));
    // Where there is no `_meta`, however it may be written, it is added as it stands.
    let text = params.text();
    let added = if text.contains("_meta") || text.contains("\\u") { None } else { params.with_member("_meta", &*SAID) };
    if let Some(added) = added {
        return Ok(added);
    }
    let said = [(PROTOCOL_VERSION, format!("\"{}\"", Revision::V2026_07_28)), (CLIENT_CAPABILITIES, "{}".to_owned())];
    let added = with_meta(Some(params), &said, false).map_err(|why| errors::invalid_params_in_words(&why))?;
    added.ok_or_else(errors::internal)
}

/// A result in the words of the request's revision.
fn said<T: Encode>(context: &Context, result: &T) -> Result<RawJson, ErrorObject> {
    if !context.revision().is_legacy() {
        return Ok(RawJson::from(result));
    }
    older_revisions::result(context.method(), context.revision(), result).map_err(|unsaid| {
        tracing::warn!(method = context.method(), %unsaid, "an answer that cannot be given");
        ErrorObject::new(mcpgen_types::ErrorCode::INTERNAL_ERROR, unsaid.to_string())
    })
}

/// A result, or what is asked for first.
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
