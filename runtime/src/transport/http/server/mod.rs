//! The server's side of Streamable HTTP: a [`Service`] for axum, hyper, or whatever takes those.
//!
//! ```no_run
//! use mcpgen_runtime::Server;
//! use mcpgen_runtime::transport::http::server::Options;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let endpoint = Server::new("greeter", "1.0.0").http(Options::default())?;
//! let app = axum::Router::new().route_service("/mcp", endpoint);
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
//! axum::serve(listener, app).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Both eras are on one endpoint. A request of 2026-07-28 needs nothing but itself, so that any of several processes may
//! answer it; a session of an older revision lives in the process that it began in.

mod body;
mod door;
mod exchange;
mod posted;
mod session;
mod stream;

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use mcpgen_types::{ErrorId, Revision};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tower::{BoxError, Service};

pub use body::Body;
pub use door::Names;

use self::door::{Errand, Refusal};
use self::exchange::Exchange;
use self::posted::Posted;
use self::session::{Parcel, Session};
use super::fields::{self, LAST_EVENT, METHOD, NAME, PROTOCOL_VERSION, SESSION};
use crate::app::headers::Header;
use crate::connection::{Arrived, Connection, Limits};
use crate::errors;
use crate::outbox::Outcome;
use crate::router::{Requests, Router};
use crate::seal::random;
use crate::server::Offer;

/// How an endpoint takes requests.
#[derive(Clone)]
pub struct Options {
    /// By which names it may be called; from this machine only unless something else is said.
    pub names: Names,
    /// What a session, and a request that is none of a session's, takes on.
    pub limits: Limits,
    /// Bytes of the body of a request.
    pub body: usize,
    /// How long a body may take to arrive.
    pub reading: Duration,
    /// Requests that are being handled at a time, be anybody waiting for their answers or not; more are refused with 503.
    pub requests: usize,
    /// Streams that last (those that belong to no request, and subscriptions) at a time; more are refused with 503.
    pub streams: usize,
    /// Sessions at a time; more are refused with 503.
    pub sessions: usize,
    /// How long a session is kept that nobody uses: no request and no stream of it is open. One that nobody goes on with
    /// after `initialize` is kept for a minute.
    pub idle: Duration,
    /// Bytes that a session keeps for a client that comes back, for its streams that are over and for each that is not; and
    /// for a client that does not read what belongs to no request.
    pub replay: usize,
    /// How often something is sent on a stream on which nothing is said.
    pub keep_alive: Duration,
    /// Who makes a request, by what a layer in front has found out and put into its extensions. A session is used by whoever
    /// began it, and for all others there is none.
    pub owner: Option<Owner>,
    /// The arguments of a tool that are headers too, by the name of the tool: [`headers`](crate::app::headers::headers) finds
    /// them in its schema. A [`Server`](crate::Server) knows those of its own tools.
    pub tool_headers: Option<ToolHeaders>,
}

/// The arguments of a tool that are headers too.
pub type ToolHeaders = Arc<dyn Fn(&str) -> Vec<Header> + Send + Sync>;

/// Says who makes a request.
pub type Owner = Arc<dyn Fn(&Parts) -> String + Send + Sync>;

impl Default for Options {
    fn default() -> Self {
        Self {
            names: Names::default(),
            limits: Limits::default(),
            body: 4 << 20,
            reading: Duration::from_secs(30),
            requests: 1024,
            streams: 4096,
            sessions: 10_000,
            idle: Duration::from_secs(30 * 60),
            replay: 256 << 10,
            keep_alive: Duration::from_secs(15),
            owner: None,
            tool_headers: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("names", &self.names).field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// A server at a place of the web. Clones are the same.
///
/// What a message came with is in [`Context::carrier`](crate::Context::carrier), as [`Parts`].
#[derive(Clone)]
pub struct Endpoint<S = Router> {
    requests: S,
    shared: Arc<Shared>,
}

struct Shared {
    /// Take the notifications.
    handlers: Router,
    /// Say what the server is able to do, besides what it says itself.
    able: Router,
    offer: OfferNow,
    options: Options,
    keeps_sessions: bool,
    speaks_modern: bool,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    room: Arc<Semaphore>,
    lasting: Arc<Semaphore>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

/// What the server is now.
type OfferNow = Box<dyn Fn() -> Offer + Send + Sync>;

/// What is held as long as something is handled, or answered.
type Permit = Arc<Room>;

struct Room {
    _room: OwnedSemaphorePermit,
    /// Whoever closes the endpoint waits for it.
    _counted: TaskTrackerToken,
}

impl<S: Requests> Endpoint<S> {
    /// An endpoint of a server: see [`serve`](crate::serve) for the three.
    pub fn new(offer: impl Into<Offer>, requests: S, handlers: Router, options: Options) -> Self {
        let offer = offer.into();
        Self::of(move || offer.clone(), requests, (handlers.clone(), handlers), options)
    }

    /// An endpoint of a server that may change: the second of the routers has the handlers that say what it is able to do.
    pub(crate) fn of(
        offer: impl Fn() -> Offer + Send + Sync + 'static,
        requests: S,
        (handlers, able): (Router, Router),
        options: Options,
    ) -> Self {
        let spoken = offer().spoken(&able);
        let (legacy, modern): (Vec<Revision>, _) = spoken.into_iter().partition(|revision| revision.is_legacy());
        Self {
            requests,
            shared: Arc::new(Shared {
                keeps_sessions: !legacy.is_empty(),
                speaks_modern: !modern.is_empty(),
                handlers,
                able,
                offer: Box::new(offer),
                sessions: Mutex::default(),
                room: Arc::new(Semaphore::new(options.requests.clamp(1, Semaphore::MAX_PERMITS))),
                lasting: Arc::new(Semaphore::new(options.streams.clamp(1, Semaphore::MAX_PERMITS))),
                options,
                closing: CancellationToken::new(),
                tasks: TaskTracker::new(),
            }),
        }
    }

    /// Sessions that there are.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.shared.sessions().len()
    }

    /// Takes no more requests, ends all streams and sessions, and waits until what was asked is answered and read, though not
    /// much longer than [`Limits::drain`]. To be called before the HTTP server is told to end, which waits for its streams.
    pub async fn close(&self) {
        self.shared.closing.cancel();
        self.shared.tasks.close();
        let patience = self.shared.options.limits.drain.saturating_mul(2).max(Duration::from_secs(1));
        if tokio::time::timeout(patience, self.shared.tasks.wait()).await.is_err() {
            tracing::warn!(left = self.shared.tasks.len(), "some answers are not read");
        }
    }

    async fn answer<B>(self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Error: Into<BoxError>>,
    {
        let (parts, body) = request.into_parts();
        let answered = async {
            let errand = door::admit(&parts, &self.shared.options.names, self.shared.keeps_sessions)?;
            if self.shared.closing.is_cancelled() {
                return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "this server is about to end"));
            }
            match errand {
                Errand::Post => self.post(parts, body).await,
                Errand::Listen => self.listen(&parts),
                Errand::End => self.end(&parts),
            }
        };
        answered.await.unwrap_or_else(Into::into)
    }

    async fn post<B>(&self, parts: Parts, body: B) -> Result<Response<Body>, Refusal>
    where
        B: http_body::Body<Error: Into<BoxError>>,
    {
        let shared = &self.shared;
        let permit = shared.permit(&shared.room, "requests")?;
        let bytes = shared.read(body).await?;
        let posted = match Posted::read(&bytes) {
            Ok(posted) => posted,
            Err((id, error)) => return Ok(body::error(StatusCode::BAD_REQUEST, id, error)),
        };
        if shared.is_modern(&parts, &posted)? {
            return self.exchange(parts, bytes, &posted, permit).await;
        }
        let begins = posted.begins;
        let (ids, is_batch) = (posted.ids(), posted.is_batch);
        let session = match (shared.session(&parts)?, begins) {
            (Some(session), _) => session,
            (None, true) => self.begin(&parts)?,
            (None, false) => {
                return Err(Refusal::bad(
                    "a message of a session needs `Mcp-Session-Id`, as `initialize` was answered",
                ));
            }
        };
        if is_batch && !session.takes_batches() {
            let error = errors::not_in_batches();
            return Ok(body::error(StatusCode::BAD_REQUEST, ErrorId::Absent, error));
        }
        let arrived = Arrived { bytes: bytes.into(), carrier: Some(Arc::new(parts)) };
        let (mut response, outcome) = session.post(Parcel { arrived, ids }, permit).await?;
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

    /// A request that needs no session, or a notification of no session.
    async fn exchange(
        &self,
        parts: Parts,
        bytes: Bytes,
        posted: &Posted,
        permit: Permit,
    ) -> Result<Response<Body>, Refusal> {
        let shared = &self.shared;
        let era = shared.offer().modern(&shared.able);
        let new = || {
            let limits = shared.options.limits.clone();
            Connection::new(self.requests.clone(), shared.handlers.clone(), Arc::new(era), limits)
        };
        let (id, method) = match &posted.message {
            Some((Some(id), method)) => (id.clone(), method.as_str()),
            Some((None, method)) => {
                if method != "notifications/cancelled" {
                    let arrived = Arrived { bytes: bytes.into(), carrier: Some(Arc::new(parts)) };
                    let arrived = futures_util::stream::once(std::future::ready(Ok(arrived)));
                    let told = new().run_by(arrived, |mut lines| async move {
                        while let Some(Some(_)) = lines.recv().await {}
                        Ok(())
                    });
                    shared.tasks.spawn(async move {
                        let _permit = permit;
                        told.await
                    });
                }
                return Ok(body::empty(StatusCode::ACCEPTED));
            }
            None => return Err(Refusal::bad("a single request or notification is expected")),
        };
        // Whoever begins a session knows nothing of these headers, and is told what is spoken here.
        let begins = posted.begins && !posted.is_meant;
        if let Some(why) = shared.check(&parts, posted, method).err().filter(|_| !begins) {
            let error = errors::header_mismatch(&why);
            return Ok(body::error(StatusCode::BAD_REQUEST, ErrorId::Id(id), error));
        }
        let permit = match method {
            "subscriptions/listen" => shared.permit(&shared.lasting, "streams")?,
            _ => permit,
        };
        let arrived = Arrived { bytes: bytes.into(), carrier: Some(Arc::new(parts)) };
        let exchange = Exchange::begin(new(), arrived, shared.closing.clone(), permit);
        Ok(exchange.respond(shared.options.keep_alive).await)
    }

    fn begin(&self, parts: &Parts) -> Result<Arc<Session>, Refusal> {
        let shared = &self.shared;
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let random = random::<20>().ok();
        let (id, mark) = random
            .map(|bytes| (hex(&bytes[..16]), hex(&bytes[16..])))
            .ok_or_else(|| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "there are no random bytes"))?;
        let mut sessions = shared.sessions();
        if sessions.len() >= shared.options.sessions {
            return Err(Refusal::busy("sessions"));
        }
        let (session, running) = Session::begin(
            (id.clone(), mark),
            shared.owner(parts),
            shared.offer().legacy(&shared.able),
            (self.requests.clone(), shared.handlers.clone()),
            &shared.options,
            shared.closing.child_token(),
        );
        sessions.insert(id, Arc::clone(&session));
        drop(sessions);
        let (shared, ended) = (Arc::clone(shared), Arc::clone(&session));
        self.shared.tasks.spawn(async move {
            // However it ends, it is forgotten.
            let _forgotten = Forgotten { shared, session: ended };
            running.await;
        });
        Ok(session)
    }

    fn listen(&self, parts: &Parts) -> Result<Response<Body>, Refusal> {
        let session = self.shared.session(parts)?;
        let session = session.ok_or_else(|| Refusal::bad("a stream of a session needs `Mcp-Session-Id`"))?;
        let permit = self.shared.permit(&self.shared.lasting, "streams")?;
        session.listen(parts.headers.get(LAST_EVENT), permit)
    }

    fn end(&self, parts: &Parts) -> Result<Response<Body>, Refusal> {
        let session = self.shared.session(parts)?;
        let session = session.ok_or_else(|| Refusal::bad("to end a session takes `Mcp-Session-Id`"))?;
        session.end();
        self.shared.sessions().remove(&session.id);
        Ok(body::empty(StatusCode::NO_CONTENT))
    }
}

impl Shared {
    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn offer(&self) -> Offer {
        (self.offer)()
    }

    fn permit(&self, room: &Arc<Semaphore>, what: &str) -> Result<Permit, Refusal> {
        let room = Arc::clone(room).try_acquire_owned().map_err(|_| Refusal::busy(what))?;
        Ok(Arc::new(Room { _room: room, _counted: self.tasks.token() }))
    }

    fn owner(&self, parts: &Parts) -> String {
        self.options.owner.as_ref().map_or_else(String::new, |owner| owner(parts))
    }

    /// The session that a request names, if it names one.
    fn session(&self, parts: &Parts) -> Result<Option<Arc<Session>>, Refusal> {
        let Some(id) = parts.headers.get(SESSION) else { return Ok(None) };
        let session = id.to_str().ok().and_then(|id| self.sessions().get(id).cloned());
        let theirs = session.filter(|session| session.owner == self.owner(parts) && !session.has_ended());
        let session = theirs.ok_or_else(session::gone)?;
        self.check_version(parts)?;
        session.touch();
        Ok(Some(session))
    }

    /// Whoever says a revision says one that there is.
    fn check_version(&self, parts: &Parts) -> Result<(), Refusal> {
        match said_version(parts)? {
            None => Ok(()),
            Some(version) => {
                let spoken = self.offer().spoken(&self.able);
                match spoken.iter().any(|known| known.as_str() == version) {
                    true => Ok(()),
                    false => Err(Refusal::bad(format!(
                        "`MCP-Protocol-Version`: {version:?} is not supported here, but {}",
                        spoken.iter().map(|known| known.as_str()).collect::<Vec<_>>().join(", ")
                    ))),
                }
            }
        }
    }

    async fn read<B>(&self, body: B) -> Result<Bytes, Refusal>
    where
        B: http_body::Body<Error: Into<BoxError>>,
    {
        let most = self.options.body;
        let read = tokio::time::timeout(self.options.reading, Limited::new(body, most).collect()).await;
        match read {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a message of more than {most} bytes")))
            }
            Ok(Err(error)) => Err(Refusal::bad(format!("the message could not be read: {error}"))),
            Err(_) => Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "the message took too long to arrive")),
        }
    }

    /// Whether a message is meant for a server without sessions: by what it says of itself, otherwise by its header.
    fn is_modern(&self, parts: &Parts, posted: &Posted) -> Result<bool, Refusal> {
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

    /// Whether the headers of a request say what its body says.
    fn check(&self, parts: &Parts, posted: &Posted, method: &str) -> Result<(), String> {
        let headers = &parts.headers;
        let missing = |name: &http::HeaderName| format!("{name} is missing");
        let version = said_version(parts).map_err(|refusal| refusal.why)?;
        let version = version.ok_or_else(|| missing(&PROTOCOL_VERSION))?;
        match &posted.version {
            Some(said) if *said != version => {
                return Err(format!("{PROTOCOL_VERSION} is {version:?}, and the body says {said:?}"));
            }
            _ => {}
        }
        match headers.get_all(METHOD).iter().collect::<Vec<_>>()[..] {
            [] => return Err(missing(&METHOD)),
            [said] if said.as_bytes() == method.as_bytes() => {}
            _ => return Err(format!("{METHOD} is not the method of the body, {method:?}")),
        }
        if fields::named_by(method).is_some() {
            match (fields::only(headers, &NAME)?, &posted.subject) {
                (said, subject) if said == *subject => {}
                (None, _) => return Err(missing(&NAME)),
                (Some(said), _) => return Err(format!("{NAME} is {said:?}, and the body says something else")),
            }
        }
        match &posted.subject {
            Some(tool) if method == "tools/call" => {
                let annotated = self.options.tool_headers.as_ref().map_or_else(Vec::new, |of| of(tool));
                match annotated.is_empty() {
                    true => Ok(()),
                    false => fields::check_params(headers, &annotated, &posted.arguments()),
                }
            }
            _ => Ok(()),
        }
    }
}

/// The revision that the headers say.
fn said_version(parts: &Parts) -> Result<Option<&str>, Refusal> {
    let mut values = parts.headers.get_all(PROTOCOL_VERSION).iter();
    match (values.next().map(|value| value.to_str()), values.next()) {
        (None, _) => Ok(None),
        (Some(Ok(version)), None) => Ok(Some(version)),
        _ => Err(Refusal::bad(format!("{PROTOCOL_VERSION} is no text, or is there more than once"))),
    }
}

/// A session that has ended.
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
    S: Requests + Sync,
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
