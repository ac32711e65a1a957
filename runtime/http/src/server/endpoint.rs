//! The endpoint: a tower service that handles POST, GET and DELETE.

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{Request, Response, StatusCode};
use mcpgen_mcp::protocol::config::ServerConfig;
use mcpgen_mcp::protocol::{Role, RouterExt};
use mcpgen_mcp::replicas::Replicas;
use mcpgen_mcp::server::HeaderMismatch;
use mcpgen_mcp::{protocol, telemetry};
use mcpgen_runtime::connection::{Connection, OneShot};
use mcpgen_runtime::router::{RequestService, Router};
use mcpgen_runtime::transport::{self, Extensions, Inbound, Outcome, Principal, TransportBudget};
use mcpgen_types::{ErrorId, Revision};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::{BoxError, Service};

use super::admission::{Operation, admit};
use super::body::{self, Body};
use super::body_check::BodyCheck;
use super::body_reader::BodyReader;
use super::budget::{Budget, Charge, Exceeded};
use super::current_config::{CurrentConfig, ModernProtocol};
use super::exchange::Exchange;
use super::homes::Homes;
use super::options::EndpointOptions;
use super::permit::Limiter;
use super::quota::{Kind, Quotas};
use super::refusal::Refusal;
use super::request_body::RequestBody;
use super::session::{self, Identity, PostedMessage, SESSION_COST, Session, SessionGuard};
use super::state::{Caller, EndpointState, Found, RegistryGuard};
use crate::headers::LAST_EVENT;

/// An HTTP endpoint of an MCP server. Clones share all state.
///
/// Handlers find the [`Parts`] of the HTTP request in [`Context::extensions`](mcpgen_runtime::Context::extensions), and
/// the [`Principal`] attached by an authentication layer with
/// [`Context::principal`](mcpgen_runtime::Context::principal).
#[derive(Clone)]
pub struct Endpoint<S = Router> {
    pub(super) requests: S,
    pub(super) shared: Arc<EndpointState>,
}

impl<S: RequestService + Sync> Endpoint<S> {
    /// Creates an endpoint. For the first three parameters, see [`serve`](mcpgen_mcp::serve).
    pub fn new(config: impl Into<ServerConfig>, requests: S, handlers: Router, options: EndpointOptions) -> Self {
        let config = config.into();
        let handled = handlers.handled(Role::Server);
        let config = CurrentConfig::new(move || config.clone(), || 0, handled);
        Self::of(config, requests, handlers, options)
    }

    /// Like [`Endpoint::new`], but the configuration can change.
    pub(super) fn of(config: CurrentConfig, requests: S, handlers: Router, mut options: EndpointOptions) -> Self {
        options.replicas = options.replicas.map(Replicas::measured);
        let (spoken, quotas, tasks) = (config.supported_revisions(), Arc::<Quotas>::default(), TaskTracker::new());
        let budget = |option, total, kind| Budget::new(option, total, kind, &quotas);
        let (legacy, modern): (Vec<Revision>, _) = spoken.into_iter().partition(|revision| revision.is_legacy());
        let endpoint = Self {
            requests,
            shared: Arc::new(EndpointState {
                keeps_sessions: !legacy.is_empty(),
                speaks_modern: !modern.is_empty(),
                handlers,
                config,
                sessions: Mutex::default(),
                bodies: BodyReader::new(&options, &quotas),
                limiter: Limiter::new(&options, &quotas, &tasks),
                message_memory: budget("message_memory", options.message_memory, Kind::MessageBytes),
                session_memory: budget("session_memory", options.session_memory, Kind::SessionBytes),
                options,
                closing: CancellationToken::new(),
                tasks,
                homes: Homes::default(),
                restoring: Mutex::default(),
                forwarded: OnceLock::new(),
            }),
        };
        if endpoint.shared.keeps_sessions {
            endpoint.join_replicas();
        }
        endpoint
    }

    /// Returns how many sessions there are.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.shared.sessions().len()
    }

    /// Shuts the endpoint down: refuses new requests, and ends all streams and sessions. Waits until requests in flight
    /// have their responses and clients have read them, for at most
    /// [`Limits::drain_timeout`](mcpgen_runtime::Limits::drain_timeout) plus one second. Call this before stopping the
    /// HTTP server, which waits for open streams.
    pub async fn close(&self) {
        self.shared.closing.cancel();
        self.shared.tasks.close();
        let timeout = self.shared.options.limits.drain_timeout.saturating_add(Duration::from_secs(1));
        if tokio::time::timeout(timeout, self.shared.tasks.wait()).await.is_err() {
            tracing::warn!(left = self.shared.tasks.len(), "shutdown timed out with unfinished requests or sessions");
        }
        self.shared.leave_replicas().await;
    }

    async fn handle<B>(self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Error: Into<BoxError>>,
    {
        let (parts, body) = request.into_parts();
        let response = async {
            let operation = admit(&parts, &self.shared.options.allowed_hosts, self.shared.keeps_sessions)?;
            self.shared.check_open()?;
            let owner = match &self.shared.options.owner {
                Some(owner) => Some(owner(&parts).into()),
                None => parts.extensions.get::<Principal>().cloned().map(Into::into),
            };
            let caller = Caller { parts, owner, is_forwarded: false };
            match operation {
                Operation::Post => self.post(caller, body).await,
                Operation::Listen => self.listen(caller).await,
                Operation::End => self.end(caller).await,
            }
        };
        response.await.unwrap_or_else(Into::into)
    }

    async fn post<B>(&self, mut caller: Caller, body: B) -> Result<Response<Body>, Refusal>
    where
        B: http_body::Body<Error: Into<BoxError>>,
    {
        let shared = &self.shared;
        let check = BodyCheck::take(&mut caller.parts);
        let (bytes, buffer) = shared.bodies.read(&caller.parts, caller.owner.as_ref(), body).await?;
        shared.check_open()?;
        if let Some(Err(response)) = check.map(|check| check.check(&bytes)) {
            return Ok((*response).map(Body::whole));
        }
        let mut inbound = Inbound::new(bytes);
        let memory = shared.charge(&mut inbound, caller.owner.as_ref())?;
        // From here on, the charge accounts for the bytes.
        drop(buffer);
        let posted = match RequestBody::read(&mut inbound) {
            Ok(posted) => posted,
            Err((id, error)) => return Ok(body::error(StatusCode::BAD_REQUEST, id, error)),
        };
        match shared.is_modern(&caller.parts, &posted)? {
            true => self.exchange(caller, (inbound, memory), posted).await,
            false => self.post_to_session(caller, (inbound, memory), posted).await,
        }
    }

    /// Handles a POST that belongs to a session or begins one.
    pub(super) async fn post_to_session(
        &self,
        caller: Caller,
        (mut inbound, memory): (Inbound, Arc<Charge>),
        posted: RequestBody,
    ) -> Result<Response<Body>, Refusal> {
        let shared = &self.shared;
        let is_initialize = posted.is_initialize;
        let permit = |session| shared.limiter.request(caller.owner.as_ref(), session, Arc::clone(&memory));
        let (used, permit) = match (self.find(&caller).await?, is_initialize) {
            (Some(Found::At(home)), _) => {
                let permit = permit(None)?;
                let body = inbound.into_bytes().map_err(|_| Refusal::bad("the body is not JSON"))?;
                return self.forward(home, caller, body.into(), permit).await;
            }
            (Some(Found::Here(used)), _) => {
                let permit = posted.has_requests().then(|| permit(Some(&used.0.requests))).transpose()?;
                // The session still accepts responses, so that its requests can end.
                if permit.is_some()
                    && let Some(exceeded) = shared.session_memory.exceeded(caller.owner.as_ref())
                {
                    return Err(shared.session_memory.refusal(exceeded));
                }
                (used, permit)
            }
            (None, true) => {
                let permit = permit(None)?;
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
            let error = protocol::errors::not_in_batches();
            return Ok(body::error(StatusCode::BAD_REQUEST, ErrorId::Absent, error));
        }
        let requests = permit.map(|permit| (posted.ids(), permit));
        let mut changes = Vec::new();
        for change in posted.state_changes {
            let Some(id) = change.id.clone() else {
                session.record_notification(change.key).await?;
                continue;
            };
            let recorded = session::retained_cost(change.key.len() + change.message.len());
            let retained = match (is_initialize, change.is_reset) {
                // The session also keeps what the client declares in `initialize`.
                (true, _) => recorded + inbound.size(),
                (_, true) => 0,
                (_, false) => recorded,
            };
            changes.push((id, change, self.session_memory(caller.owner.as_ref(), retained)?));
        }
        inbound.extensions = extensions(caller.parts, memory);
        let posted_message = PostedMessage { arrived: inbound, requests, changes };
        let (mut response, outcome) = session.post(posted_message, used).await?;
        match (is_initialize, outcome) {
            (true, Some(Outcome::Refused(_) | Outcome::Failed(_))) if session.revision().is_none() => {
                session.end();
                *response.status_mut() = StatusCode::BAD_REQUEST;
            }
            (true, _) => {
                self.create_in_store(&session).await?;
                session::set_session_id(&mut response, &session);
            }
            _ => {}
        }
        Ok(response)
    }

    async fn exchange(
        &self,
        caller: Caller,
        (mut inbound, memory): (Inbound, Arc<Charge>),
        posted: RequestBody,
    ) -> Result<Response<Body>, Refusal> {
        let shared = &self.shared;
        let (id, method) = match &posted.message {
            Some((Some(id), method)) => (id.clone(), method.as_str()),
            // In modern revisions, a client cancels a request by closing its response stream.
            Some((None, method)) if method == "notifications/cancelled" => {
                return Ok(body::empty(StatusCode::ACCEPTED));
            }
            Some((None, _)) => return self.notify(caller, inbound, memory),
            None => return Err(Refusal::bad("the body must be a single request or notification")),
        };
        // A legacy client that sends `initialize` does not know these headers. It gets an error with the supported
        // revisions.
        let is_initialize = posted.is_initialize && !posted.has_metadata;
        let mut of_arguments = shared.check_arguments(&caller.parts, &posted, method).err();
        let checked = match of_arguments.take_if(|_| !shared.config.reports_mismatches()) {
            Some(why) => shared.check(&caller.parts, &posted, method).and(Err(why)),
            None => shared.check(&caller.parts, &posted, method),
        };
        if let Some(why) = checked.err().filter(|_| !is_initialize) {
            let error = protocol::errors::header_mismatch(&why);
            return Ok(body::error(StatusCode::BAD_REQUEST, ErrorId::Id(id), error));
        }
        let (owner, of_message) = (caller.owner.as_ref(), Arc::clone(&memory));
        let permit = match method {
            "subscriptions/listen" => shared.limiter.stream(owner, None, of_message)?,
            _ => shared.limiter.request(owner, None, of_message)?,
        };
        drop(posted);
        inbound.extensions = extensions(caller.parts, memory);
        if let Some(why) = of_arguments {
            inbound.extensions.insert(HeaderMismatch(why));
        }
        let ModernProtocol { protocol, rules } = shared.config.modern();
        let (limits, observer) = (&shared.options.limits, telemetry::observer(rules));
        let queued = Arc::clone(&permit.memory);
        let gauge = move |bytes: i64| match usize::try_from(bytes) {
            Ok(added) => queued.add(added),
            Err(_) => queued.remove(usize::try_from(bytes.unsigned_abs()).unwrap_or(usize::MAX)),
        };
        let one_shot = OneShot::new(self.requests.clone(), protocol, limits, observer, Some(Arc::new(gauge)));
        let (running, closing) = (one_shot.call(inbound), shared.closing.clone());
        let exchange = Exchange::new(running, closing, limits.drain_timeout, permit);
        Ok(exchange.respond(shared.options.keep_alive).await)
    }

    fn notify(&self, caller: Caller, mut inbound: Inbound, memory: Arc<Charge>) -> Result<Response<Body>, Refusal> {
        let shared = &self.shared;
        let quota = shared.limiter.quota(caller.owner.as_ref(), Kind::Notifications, shared.options.requests_per_owner);
        let quota = quota.ok_or_else(|| {
            Refusal::busy(
                "too many notifications of this owner are in progress (`EndpointOptions::requests_per_owner`)",
            )
        })?;
        inbound.extensions = extensions(caller.parts, memory);
        // The client of a sessionless notification reads no messages.
        let arrived = futures_util::stream::once(std::future::ready(Ok(inbound)));
        let handled = self.connection().run(arrived, transport::sink(|_| Ok(())));
        shared.tasks.spawn(async move {
            let _held = quota;
            handled.await
        });
        Ok(body::empty(StatusCode::ACCEPTED))
    }

    /// Creates a connection for a single sessionless message.
    fn connection(&self) -> Connection<S> {
        let shared = &self.shared;
        let (requests, handlers) = (self.requests.clone(), shared.handlers.clone());
        telemetry::connection(requests, handlers, shared.config.modern().rules, shared.options.limits.clone())
    }

    fn begin(&self, caller: &Caller) -> Result<SessionGuard, Refusal> {
        let mut random = [0; 20];
        getrandom::fill(&mut random)
            .map_err(|_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "no random bytes are available"))?;
        let id: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let record = self.shared.session_record(&id, caller);
        self.run(Identity { id, owner: caller.owner.clone(), record }, |_| {})
    }

    /// Runs a new session, and calls `prepare` before requests can reach it. At the session limit, first evicts the
    /// least recently used idle session.
    pub(super) fn run(&self, identity: Identity, prepare: impl FnOnce(&Session)) -> Result<SessionGuard, Refusal> {
        let shared = &self.shared;
        let owner = identity.owner.clone();
        let most = shared.options.sessions_per_owner;
        let quota = || shared.limiter.quota(owner.as_ref(), Kind::Sessions, most);
        let evicted = || owner.as_ref().is_some_and(|owner| shared.sessions().evict_of(owner));
        let quota = quota().or_else(|| evicted().then(quota).flatten()).ok_or_else(|| {
            Refusal::busy(format!(
                "this owner has {most} sessions in use, which is the limit (`EndpointOptions::sessions_per_owner`)"
            ))
        })?;
        let memory = self.session_memory(owner.as_ref(), SESSION_COST)?;
        let stream_bytes = shared.session_memory.charge_existing(owner.as_ref(), 0);
        let (session, running) = Session::begin(
            identity,
            shared.config.legacy(),
            (self.requests.clone(), shared.handlers.clone()),
            &shared.options,
            (memory, stream_bytes),
            shared.closing.child_token(),
        );
        let used = SessionGuard::new(&session);
        prepare(&session);
        let mut sessions = shared.sessions();
        let most = shared.options.sessions;
        if sessions.len() >= most && !sessions.evict() {
            return Err(Refusal::busy(format!("all {most} sessions are in use (`EndpointOptions::sessions`)")));
        }
        sessions.insert(&session, quota);
        drop(sessions);
        let (shared, ended, counted) =
            (Arc::clone(shared), session, telemetry::installed().map(telemetry::Telemetry::session));
        self.shared.tasks.spawn(async move {
            // Removes the session from the registry, even after a panic.
            let _registered = RegistryGuard { shared, session: ended, _counted: counted };
            running.await;
        });
        Ok(used)
    }

    /// Charges memory to a session. At the limit, evicts the least recently used idle sessions first.
    fn session_memory(&self, owner: Option<&Arc<str>>, bytes: usize) -> Result<Charge, Refusal> {
        let shared = &self.shared;
        loop {
            let exceeded = match shared.session_memory.charge(owner, bytes) {
                Ok(memory) => return Ok(memory),
                Err(exceeded) => exceeded,
            };
            let evicted = match (exceeded, owner) {
                (Exceeded::Owner, Some(owner)) => shared.sessions().evict_of(owner),
                (Exceeded::Total, _) => shared.sessions().evict(),
                _ => false,
            };
            if !evicted {
                return Err(shared.session_memory.refusal(exceeded));
            }
        }
    }

    pub(super) async fn listen(&self, caller: Caller) -> Result<Response<Body>, Refusal> {
        match self.find(&caller).await? {
            None => Err(Refusal::bad("`Mcp-Session-Id` is required to open a stream")),
            Some(Found::At(home)) => {
                let memory = self.shared.no_message(&caller);
                let permit = self.shared.limiter.stream(caller.owner.as_ref(), None, memory)?;
                self.forward(home, caller, Bytes::new(), permit).await
            }
            Some(Found::Here(used)) => {
                let session = Arc::clone(&used.0);
                let memory = self.shared.no_message(&caller);
                let permit = self.shared.limiter.stream(caller.owner.as_ref(), Some(&session.open_streams), memory)?;
                session.listen(caller.parts.headers.get(LAST_EVENT), used, permit)
            }
        }
    }

    pub(super) async fn end(&self, caller: Caller) -> Result<Response<Body>, Refusal> {
        match self.find(&caller).await? {
            None => Err(Refusal::bad("`Mcp-Session-Id` is required to end a session")),
            Some(Found::At(home)) => {
                let memory = self.shared.no_message(&caller);
                let permit = self.shared.limiter.request(caller.owner.as_ref(), None, memory)?;
                self.forward(home, caller, Bytes::new(), permit).await
            }
            Some(Found::Here(used)) => {
                used.0.end();
                self.shared.sessions().remove(&used.0.id);
                self.shared.remove_from_store(&used.0).await?;
                Ok(body::empty(StatusCode::NO_CONTENT))
            }
        }
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
        self.clone().handle(request).map(Ok).boxed()
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

/// Returns the extensions of a message in this HTTP request. They hold the message's memory until all handlers have
/// dropped them.
fn extensions(parts: Parts, memory: Arc<Charge>) -> Extensions {
    let mut extensions = Extensions::new();
    extensions.insert(TransportBudget(memory));
    if let Some(principal) = parts.extensions.get::<Principal>() {
        extensions.insert(principal.clone());
    }
    extensions.insert(parts);
    extensions
}
