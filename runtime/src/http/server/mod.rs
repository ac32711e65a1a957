//! The server side of Streamable HTTP: a [`Service`] for axum, hyper or any other tower-based stack.
//!
//! ```no_run
//! use axum::serve::ListenerExt;
//! use mcpgen_runtime::Server;
//! use mcpgen_runtime::http::server::Options;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let endpoint = Server::builder("greeter", "1.0.0").build().http(Options::default())?;
//! let app = axum::Router::new().route_service("/mcp", endpoint);
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
//! // Without TCP_NODELAY each streamed response takes 40 ms longer.
//! let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
//! axum::serve(listener, app).await?;
//! # Ok(())
//! # }
//! ```
//!
//! One endpoint serves legacy and modern revisions. A request of revision 2026-07-28 is self-contained, so any of
//! several processes can handle it. A session of an older revision lives in the process that created it.
//!
//! # On a network
//!
//! `axum::serve` is enough behind a reverse proxy that buffers requests and responses. It waits without limit for a
//! client that does not finish its headers or does not read its response, and its graceful shutdown waits for both. If
//! clients connect directly, serve with the `axum-server` crate instead:
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use axum_server::Handle;
//! use axum_server::accept::NoDelayAcceptor;
//! # use mcpgen_runtime::http::server::Endpoint;
//!
//! # async fn run(endpoint: Endpoint, listener: std::net::TcpListener) -> std::io::Result<()> {
//! let handle = Handle::new();
//! let app = axum::Router::new().route_service("/mcp", endpoint.clone());
//! let mut server = axum_server::from_tcp(listener)?
//!     .acceptor(NoDelayAcceptor::new())
//!     .handle(handle.clone())
//!     .first_request_timeout(Duration::from_secs(30));
//! server.http_builder().http1().header_read_timeout(Duration::from_secs(30));
//! server
//!     .http_builder()
//!     .http2()
//!     .max_concurrent_streams(100)
//!     .max_header_list_size(16 << 10)
//!     .keep_alive_interval(Some(Duration::from_secs(30)))
//!     .keep_alive_timeout(Duration::from_secs(10));
//! tokio::spawn(async move {
//!     if tokio::signal::ctrl_c().await.is_ok() {
//!         endpoint.close().await; // Finishes the requests in flight.
//!         handle.graceful_shutdown(Some(Duration::from_secs(5)));
//!     }
//! });
//! server.serve(app.into_make_service()).await
//! # }
//! ```
//!
//! A response counts toward [`Options::requests`] until it is written, so set a write timeout too. The `server` example
//! does so in its acceptor: see `examples/support/listen.rs` in the crate. A write timeout does not disconnect an
//! HTTP/2 client that keeps its flow-control window closed. Against such clients, set [`Options::owner`], or use a
//! proxy that buffers responses and limits how long a client may take to read them.
//!
//! # Limits
//!
//! [`Options`] limits the resources of all clients together, of each session and of each owner. Without
//! [`Options::owner`] one client can open enough sessions to exhaust the limits, so set it if clients do not trust each
//! other: to the authenticated user or to the client's address.

mod body;
mod body_reader;
mod exchange;
mod host_filter;
mod options;
mod permit;
mod quota;
mod registry;
mod request_body;
mod session;
mod stream;

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{Request, Response, StatusCode};
use mcpgen_types::{ErrorId, Revision};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::{BoxError, Service};

pub use body::Body;
pub use host_filter::AllowedHosts;
pub use options::{Options, Owner, ToolHeaders};

use self::body_reader::{Bodies, Charge};
use self::exchange::Exchange;
use self::host_filter::{Operation, Refusal};
use self::quota::{Kind, Quotas};
use self::registry::Registry;
use self::request_body::RequestBody;
use self::session::{PostedMessage, Session, Used};
use super::headers::{self, LAST_EVENT, METHOD, NAME, PROTOCOL_VERSION, SESSION};
use crate::connection::{Connection, Inbound};
use crate::jsonrpc::errors;
use crate::peer::outbox::Outcome;
use crate::protocol::Role;
use crate::protocol::config::ServerConfig;
use crate::protocol::info::HandlerCapabilities;
use crate::service::router::{RequestService, Router};
use crate::util::lock::Mutex;
use crate::util::random::random;

/// An HTTP endpoint of an MCP server. Clones share all state.
///
/// Handlers find the [`Parts`] of the HTTP request in [`Context::extensions`](crate::Context::extensions).
#[derive(Clone)]
pub struct Endpoint<S = Router> {
    requests: S,
    shared: Arc<Shared>,
}

struct Shared {
    /// Handles notifications.
    handlers: Router,
    /// The capabilities that follow from the handlers, in addition to those in the configuration.
    handled: HandlerCapabilities,
    config: CurrentConfig,
    options: Options,
    keeps_sessions: bool,
    speaks_modern: bool,
    sessions: Mutex<Registry>,
    bodies: Bodies,
    requests: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    /// The bytes of sessionless notifications whose handlers are running. See [`NOTIFICATION_BYTES`].
    notifications: Arc<Semaphore>,
    quotas: Arc<Quotas>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

/// Returns the current server configuration.
type CurrentConfig = Box<dyn Fn() -> ServerConfig + Send + Sync>;

/// The head of an HTTP request, and its owner if [`Options::owner`] is set.
struct Caller {
    parts: Parts,
    owner: Option<Arc<str>>,
}

/// The maximum bytes of sessionless notifications whose handlers run at the same time.
const NOTIFICATION_BYTES: usize = 16 << 20;

/// The minimum that such a notification counts toward [`NOTIFICATION_BYTES`], so that their number is limited too.
const NOTIFICATION_COST: usize = 16 << 10;

impl<S: RequestService> Endpoint<S> {
    /// Creates an endpoint. See [`serve`](crate::serve) for the first three parameters.
    pub fn new(config: impl Into<ServerConfig>, requests: S, handlers: Router, options: Options) -> Self {
        let config = config.into();
        let handled = handlers.handled(Role::Server);
        Self::of(move || config.clone(), requests, (handlers, handled), options)
    }

    /// Like [`Endpoint::new`], but reads the configuration anew for each session and request, and takes the
    /// capabilities of the handlers separately.
    pub(crate) fn of(
        config: impl Fn() -> ServerConfig + Send + Sync + 'static,
        requests: S,
        (handlers, handled): (Router, HandlerCapabilities),
        options: Options,
    ) -> Self {
        let (spoken, quotas) = (config().spoken(&handled), Arc::<Quotas>::default());
        let (legacy, modern): (Vec<Revision>, _) = spoken.into_iter().partition(|revision| revision.is_legacy());
        Self {
            requests,
            shared: Arc::new(Shared {
                keeps_sessions: !legacy.is_empty(),
                speaks_modern: !modern.is_empty(),
                handlers,
                handled,
                config: Box::new(config),
                sessions: Mutex::default(),
                bodies: Bodies::new(&options, &quotas),
                requests: Arc::new(Semaphore::new(options.requests.clamp(1, Semaphore::MAX_PERMITS))),
                streams: Arc::new(Semaphore::new(options.streams.clamp(1, Semaphore::MAX_PERMITS))),
                notifications: Arc::new(Semaphore::new(NOTIFICATION_BYTES)),
                quotas,
                options,
                closing: CancellationToken::new(),
                tasks: TaskTracker::new(),
            }),
        }
    }

    /// Returns the number of sessions.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.shared.sessions().len()
    }

    /// Shuts the endpoint down. Refuses new requests, ends all streams and sessions, and waits until requests in flight
    /// have their responses and the clients have read them, for at most twice [`Limits::drain`](crate::Limits::drain)
    /// and at least a second. Call it before you stop the HTTP server, which waits for open streams.
    pub async fn close(&self) {
        self.shared.closing.cancel();
        self.shared.tasks.close();
        let patience = self.shared.options.limits.drain.saturating_mul(2).max(Duration::from_secs(1));
        if tokio::time::timeout(patience, self.shared.tasks.wait()).await.is_err() {
            tracing::warn!(left = self.shared.tasks.len(), "shutdown timed out with unfinished requests or sessions");
        }
    }

    async fn answer<B>(self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Error: Into<BoxError>>,
    {
        let (parts, body) = request.into_parts();
        let answered = async {
            let operation = host_filter::admit(&parts, &self.shared.options.allowed_hosts, self.shared.keeps_sessions)?;
            self.shared.check_open()?;
            let owner = self.shared.options.owner.as_ref().map(|owner| owner(&parts).into());
            let caller = Caller { parts, owner };
            match operation {
                Operation::Post => self.post(caller, body).await,
                Operation::Listen => self.listen(&caller),
                Operation::End => self.end(&caller),
            }
        };
        answered.await.unwrap_or_else(Into::into)
    }

    async fn post<B>(&self, caller: Caller, body: B) -> Result<Response<Body>, Refusal>
    where
        B: http_body::Body<Error: Into<BoxError>>,
    {
        let shared = &self.shared;
        let (bytes, charge) = shared.bodies.read(&caller.parts, caller.owner.as_ref(), body).await?;
        shared.check_open()?;
        let posted = match RequestBody::read(&bytes) {
            Ok(posted) => posted,
            Err((id, error)) => return Ok(body::error(StatusCode::BAD_REQUEST, id, error)),
        };
        match shared.is_modern(&caller.parts, &posted)? {
            true => self.exchange(caller, (bytes, charge), posted).await,
            false => self.post_to_session(caller, (bytes, charge), &posted).await,
        }
    }

    /// Handles a POST for a session, or one that begins a session.
    async fn post_to_session(
        &self,
        caller: Caller,
        (bytes, charge): (Vec<u8>, Charge),
        posted: &RequestBody,
    ) -> Result<Response<Body>, Refusal> {
        let shared = &self.shared;
        let begins = posted.begins;
        let (used, permit) = match (shared.session(&caller)?, begins) {
            (Some(used), _) => {
                let permit = posted.has_requests().then(|| shared.request(&caller, Some(&used.0))).transpose()?;
                (used, permit)
            }
            (None, true) => {
                let permit = shared.request(&caller, None)?;
                (self.begin(&caller)?, Some(permit))
            }
            (None, false) => {
                return Err(Refusal::bad(
                    "`Mcp-Session-Id` is required; send the value from the `initialize` response",
                ));
            }
        };
        let session = Arc::clone(&used.0);
        if posted.is_batch && !session.takes_batches() {
            let error = errors::not_in_batches();
            return Ok(body::error(StatusCode::BAD_REQUEST, ErrorId::Absent, error));
        }
        let arrived = Inbound { bytes, extensions: Some(Arc::new(caller.parts)) };
        let posted_message = PostedMessage { arrived, requests: permit.map(|permit| (posted.ids(), permit)) };
        // From here on the session's inbox limits the bytes.
        drop(charge);
        let (mut response, outcome) = session.post(posted_message, used).await?;
        match (begins, outcome) {
            (true, Some(Outcome::Refused(_) | Outcome::Failed(_))) if session.revision().is_none() => {
                session.end();
                *response.status_mut() = StatusCode::BAD_REQUEST;
            }
            (true, _) => session::name(&mut response, &session),
            _ => {}
        }
        Ok(response)
    }

    /// Handles a POST without a session.
    async fn exchange(
        &self,
        caller: Caller,
        (bytes, charge): (Vec<u8>, Charge),
        posted: RequestBody,
    ) -> Result<Response<Body>, Refusal> {
        let shared = &self.shared;
        let (id, method) = match &posted.message {
            Some((Some(id), method)) => (id.clone(), method.as_str()),
            // In modern revisions a client cancels a request by closing its response stream.
            Some((None, method)) if method == "notifications/cancelled" => {
                return Ok(body::empty(StatusCode::ACCEPTED));
            }
            Some((None, _)) => return self.notify(caller, bytes),
            None => return Err(Refusal::bad("the body must be a single request or notification")),
        };
        // A legacy client that sends `initialize` does not know these headers. Its error lists the supported revisions.
        let begins = posted.begins && !posted.is_meant;
        if let Some(why) = shared.check(&caller.parts, &posted, method).err().filter(|_| !begins) {
            let error = errors::header_mismatch(&why);
            return Ok(body::error(StatusCode::BAD_REQUEST, ErrorId::Id(id), error));
        }
        let permit = match method {
            "subscriptions/listen" => shared.stream(&caller, None)?,
            _ => shared.request(&caller, None)?,
        };
        let arrived = Inbound { bytes, extensions: Some(Arc::new(caller.parts)) };
        let exchange = Exchange::begin(self.connection(), arrived, shared.closing.clone(), permit);
        // From here on the permit limits the bytes.
        drop((charge, posted));
        Ok(exchange.respond(shared.options.keep_alive).await)
    }

    /// Passes a sessionless notification to its handlers.
    fn notify(&self, caller: Caller, bytes: Vec<u8>) -> Result<Response<Body>, Refusal> {
        let shared = &self.shared;
        let quota = shared.quota(&caller, Kind::Notifications, shared.options.requests_per_owner);
        let quota = quota.ok_or_else(|| {
            Refusal::busy("too many notifications of this owner are in progress (`Options::requests_per_owner`)")
        })?;
        let cost = u32::try_from(bytes.len().clamp(NOTIFICATION_COST, NOTIFICATION_BYTES)).unwrap_or(u32::MAX);
        let room = Arc::clone(&shared.notifications).try_acquire_many_owned(cost);
        let room = room.map_err(|_| {
            Refusal::busy(format!("more than {NOTIFICATION_BYTES} bytes of notifications are in progress"))
        })?;
        let arrived = Inbound { bytes, extensions: Some(Arc::new(caller.parts)) };
        let arrived = futures_util::stream::once(std::future::ready(Ok(arrived)));
        let handled = self.connection().run_by(arrived, |mut lines| async move {
            while let Some(Some(_)) = lines.recv().await {}
            Ok(())
        });
        shared.tasks.spawn(async move {
            let _held = (room, quota);
            handled.await
        });
        Ok(body::empty(StatusCode::ACCEPTED))
    }

    /// Creates a connection for one sessionless message.
    fn connection(&self) -> Connection<S> {
        let shared = &self.shared;
        let (protocol, limits) = (shared.config().modern(&shared.handled), shared.options.limits.clone());
        Connection::new(self.requests.clone(), shared.handlers.clone(), Arc::new(protocol), limits)
    }

    /// Begins a session. At the session limit it evicts the least recently used idle session first.
    fn begin(&self, caller: &Caller) -> Result<Used, Refusal> {
        let shared = &self.shared;
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let random = random::<20>().ok();
        let id = random
            .map(|bytes| (hex(&bytes[..16]), hex(&bytes[16..])))
            .ok_or_else(|| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "no random bytes are available"))?;
        let most = shared.options.sessions_per_owner;
        let quota = || shared.quota(caller, Kind::Sessions, most);
        let evicted = || caller.owner.as_ref().is_some_and(|owner| shared.sessions().evict_of(owner));
        let quota = quota().or_else(|| evicted().then(quota).flatten()).ok_or_else(|| {
            Refusal::busy(format!("this owner has {most} sessions in use, its limit (`Options::sessions_per_owner`)"))
        })?;
        let (session, running) = Session::begin(
            id,
            caller.owner.clone(),
            shared.config().legacy(&shared.handled),
            (self.requests.clone(), shared.handlers.clone()),
            &shared.options,
            shared.closing.child_token(),
        );
        let used = Used::by(&session);
        let mut sessions = shared.sessions();
        let most = shared.options.sessions;
        if sessions.len() >= most && !sessions.evict() {
            return Err(Refusal::busy(format!("all {most} sessions are in use (`Options::sessions`)")));
        }
        sessions.insert(&session, quota);
        drop(sessions);
        let (shared, ended) = (Arc::clone(shared), session);
        self.shared.tasks.spawn(async move {
            // Removes the session from the registry, even on a panic.
            let _forgotten = Forgotten { shared, session: ended };
            running.await;
        });
        Ok(used)
    }

    fn listen(&self, caller: &Caller) -> Result<Response<Body>, Refusal> {
        let used = self.shared.session(caller)?;
        let used = used.ok_or_else(|| Refusal::bad("`Mcp-Session-Id` is required to open a stream"))?;
        let session = Arc::clone(&used.0);
        let permit = self.shared.stream(caller, Some(&session))?;
        session.listen(caller.parts.headers.get(LAST_EVENT), used, permit)
    }

    fn end(&self, caller: &Caller) -> Result<Response<Body>, Refusal> {
        let used = self.shared.session(caller)?;
        let used = used.ok_or_else(|| Refusal::bad("`Mcp-Session-Id` is required to end a session"))?;
        used.0.end();
        self.shared.sessions().remove(&used.0.id);
        Ok(body::empty(StatusCode::NO_CONTENT))
    }
}

impl Shared {
    fn sessions(&self) -> MutexGuard<'_, Registry> {
        self.sessions.lock()
    }

    fn config(&self) -> ServerConfig {
        (self.config)()
    }

    fn check_open(&self) -> Result<(), Refusal> {
        match self.closing.is_cancelled() {
            true => Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down")),
            false => Ok(()),
        }
    }

    /// Returns the session named by `Mcp-Session-Id`, if the header is present. Marks the session as in use, so it is
    /// not evicted until the result is dropped.
    ///
    /// Fails with 404 if the session does not exist, has ended, or belongs to another owner.
    fn session(&self, caller: &Caller) -> Result<Option<Used>, Refusal> {
        let Some(id) = caller.parts.headers.get(SESSION) else { return Ok(None) };
        let used = id.to_str().ok().and_then(|id| {
            let sessions = self.sessions();
            let session = sessions.get(id)?;
            (session.owner == caller.owner && !session.has_ended()).then(|| Used::by(session))
        });
        let used = used.ok_or_else(session::gone)?;
        self.check_version(&caller.parts)?;
        used.0.touch();
        Ok(Some(used))
    }

    /// Rejects unsupported `MCP-Protocol-Version` values.
    fn check_version(&self, parts: &Parts) -> Result<(), Refusal> {
        match said_version(parts)? {
            None => Ok(()),
            Some(version) => {
                let spoken = self.config().spoken(&self.handled);
                match spoken.iter().any(|known| known.as_str() == version) {
                    true => Ok(()),
                    false => Err(Refusal::bad(format!(
                        "`MCP-Protocol-Version` {version:?} is not supported; supported revisions: {}",
                        spoken.iter().map(|known| known.as_str()).collect::<Vec<_>>().join(", ")
                    ))),
                }
            }
        }
    }

    /// Returns whether a message belongs to a modern revision. Its `_meta` decides; without per-request metadata the
    /// `MCP-Protocol-Version` header does.
    fn is_modern(&self, parts: &Parts, posted: &RequestBody) -> Result<bool, Refusal> {
        if !self.keeps_sessions || !self.speaks_modern {
            return Ok(self.speaks_modern);
        }
        if posted.is_meant {
            return Ok(true);
        }
        match said_version(parts)? {
            Some(version) => match version.parse::<Revision>() {
                Ok(revision) => Ok(!revision.is_legacy()),
                Err(_) => self.check_version(parts).map(|()| false),
            },
            None => Ok(false),
        }
    }

    /// Checks that the headers of a modern request match its body.
    fn check(&self, parts: &Parts, posted: &RequestBody, method: &str) -> Result<(), String> {
        let headers = &parts.headers;
        let missing = |name: &http::HeaderName| format!("header `{name}` is missing");
        let version = said_version(parts).map_err(|refusal| refusal.why)?;
        let version = version.ok_or_else(|| missing(&PROTOCOL_VERSION))?;
        match &posted.version {
            Some(said) if *said != version => {
                return Err(format!("header `{PROTOCOL_VERSION}` is {version:?}, but the body has {said:?}"));
            }
            _ => {}
        }
        match headers.get_all(METHOD).iter().collect::<Vec<_>>()[..] {
            [] => return Err(missing(&METHOD)),
            [said] if said.as_bytes() == method.as_bytes() => {}
            _ => return Err(format!("header `{METHOD}` does not match the method of the body, {method:?}")),
        }
        if headers::named_by(method).is_some() {
            match (headers::only(headers, &NAME)?, &posted.subject) {
                (said, subject) if said == *subject => {}
                (None, _) => return Err(missing(&NAME)),
                (Some(said), _) => return Err(format!("header `{NAME}` is {said:?}, which does not match the body")),
            }
        }
        match &posted.subject {
            Some(tool) if method == "tools/call" => {
                let annotated = self.options.tool_headers.as_ref().map_or_else(Vec::new, |of| of(tool));
                match annotated.is_empty() {
                    true => Ok(()),
                    false => headers::check_params(headers, &annotated, &posted.arguments()),
                }
            }
            _ => Ok(()),
        }
    }
}

/// Returns the value of the `MCP-Protocol-Version` header.
fn said_version(parts: &Parts) -> Result<Option<&str>, Refusal> {
    let mut values = parts.headers.get_all(PROTOCOL_VERSION).iter();
    match (values.next().map(|value| value.to_str()), values.next()) {
        (None, _) => Ok(None),
        (Some(Ok(version)), None) => Ok(Some(version)),
        _ => Err(Refusal::bad(format!("header `{PROTOCOL_VERSION}` must occur once and be ASCII text"))),
    }
}

/// Removes a session from the registry on drop.
struct Forgotten {
    shared: Arc<Shared>,
    session: Arc<Session>,
}

impl Drop for Forgotten {
    fn drop(&mut self) {
        self.shared.sessions().remove(&self.session.id);
    }
}

impl<S, B> Service<Request<B>> for Endpoint<S>
where
    S: RequestService + Sync,
    B: http_body::Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.clone().answer(request).map(Ok).boxed()
    }
}

impl<S> fmt::Debug for Endpoint<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sessions = self.shared.sessions().len();
        f.debug_struct("Endpoint")
            .field("sessions", &sessions)
            .field("options", &self.shared.options)
            .finish_non_exhaustive()
    }
}
