//! Sessions whose requests can reach any of several processes.
//!
//! Each session has a home, the replica that runs it, and other replicas forward requests there. When the home dies,
//! the next replica that receives a request becomes the home.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, PROXY_AUTHORIZATION};
use http::{HeaderMap, HeaderName, Request, Response, StatusCode};
use http_body_util::BodyExt;
use mcpgen_mcp::protocol::change::Change;
use mcpgen_mcp::protocol::info::can;
use mcpgen_mcp::replicas::{ForwardedRequest, ForwardedResponse, Home, Replicas, StoreError, StoredSession};
use mcpgen_runtime::router::RequestService;
use mcpgen_runtime::transport::{Inbound, Principal};
use tokio::time::MissedTickBehavior;

use super::admission::{Operation, admit};
use super::allowed_hosts::AllowedHosts;
use super::body::{self, Body};
use super::endpoint::Endpoint;
use super::event_writer::EventWriter;
use super::permit::Permit;
use super::refusal::Refusal;
use super::request_body::RequestBody;
use super::session::{self, Identity, Session, SessionGuard};
use super::session_record::SessionRecord;
use super::state::{Caller, EndpointState, Found, RemoteHome};
use crate::headers::SESSION;

/// How much time passes between renewals of this replica's sessions in the store. A renewal also finds out which
/// sessions have moved.
const RENEWAL: Duration = Duration::from_secs(5);

/// How long to wait for more sessions to move, so that one renewal covers them all.
const BATCH: Duration = Duration::from_millis(100);

/// Grace period added to a session's lifetime in the store.
const MARGIN: Duration = Duration::from_secs(60);

/// Headers that are not forwarded, because credentials do not belong in the store. The replica that receives a request
/// checks them, and forwards the owner and principal.
const CREDENTIALS: [HeaderName; 4] = [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE, HeaderName::from_static("dpop")];

impl<S: RequestService + Sync> Endpoint<S> {
    /// Finds the session that `Mcp-Session-Id` names; `None` if the header is missing. Takes over the session if its
    /// home has died.
    ///
    /// # Errors
    ///
    /// Fails with 404 if the session does not exist, has ended, or belongs to another owner.
    pub(super) async fn find(&self, caller: &Caller) -> Result<Option<Found>, Refusal> {
        let shared = &self.shared;
        let Some(id) = caller.parts.headers.get(SESSION) else { return Ok(None) };
        let id = id.to_str().map_err(|_| session::not_found())?;
        let found = match (shared.session(id), &shared.options.replicas) {
            (Some(used), _) => Found::Here(used),
            (None, Some(replicas)) => match shared.homes.get(id).filter(|_| !caller.is_forwarded) {
                Some(replica) => Found::At(RemoteHome { session: id.to_owned(), replica, is_remembered: true }),
                None => self.locate(replicas, id, caller).await?,
            },
            (None, None) => return Err(session::not_found()),
        };
        if let Found::Here(used) = &found {
            if used.0.owner != caller.owner {
                return Err(session::not_found());
            }
            shared.check_version(&caller.parts)?;
            used.0.confirm();
        }
        Ok(Some(found))
    }

    async fn locate(&self, replicas: &Replicas, id: &str, caller: &Caller) -> Result<Found, Refusal> {
        let shared = &self.shared;
        let restoring = shared.restoring(id);
        let _only_one = restoring.lock().await;
        if let Some(used) = shared.session(id) {
            return Ok(Found::Here(used));
        }
        let home = replicas.sessions.locate(id).await.map_err(Refusal::from)?;
        match home.ok_or_else(session::not_found)? {
            Home::Replica(_) if caller.is_forwarded => Err(misdirected()),
            Home::Replica(replica) => {
                let replica = Arc::from(replica);
                shared.homes.insert(id, &replica);
                Ok(Found::At(RemoteHome { session: id.to_owned(), replica, is_remembered: false }))
            }
            Home::Here(stored) => self.take_over(replicas, stored).await.map(Found::Here),
        }
    }

    /// Continues a session whose home has died.
    async fn take_over(&self, replicas: &Replicas, stored: StoredSession) -> Result<SessionGuard, Refusal> {
        let shared = &self.shared;
        let streams = replicas.events.streams(&stored.id).await.map_err(Refusal::from)?;
        let writer = EventWriter::new(stored.id.clone(), Arc::clone(&replicas.events), shared.options.replay);
        let journal = stored.journal.clone();
        let owner = stored.owner.as_deref().map(Arc::from);
        let principal = stored.principal.as_deref().map(Principal::new);
        let record = SessionRecord::new(stored.clone(), Arc::clone(&replicas.sessions), writer);
        record.set_stored();
        tracing::debug!(streams = streams.len(), "taking over a session, because the replica that ran it has died");
        self.run(Identity { id: stored.id, owner, record: Some(record) }, |session| {
            session.restore(streams);
            session.replay(journal, principal.as_ref(), &shared.session_memory);
            for change in shared.missable_changes() {
                session.notify_of(&change);
            }
        })
    }

    /// Forwards a request to its session's home, and holds `held` until the response is written. If a remembered home
    /// no longer runs the session, looks up the new one.
    pub(super) async fn forward(
        &self,
        home: RemoteHome,
        caller: Caller,
        body: Bytes,
        held: Permit,
    ) -> Result<Response<Body>, Refusal> {
        let shared = &self.shared;
        let Some(replicas) = &shared.options.replicas else { return Err(session::not_found()) };
        let mut request = ForwardedRequest::new(caller.parts.method.clone(), caller.parts.uri.clone());
        request.headers = without_credentials(caller.parts.headers.clone());
        request.body = body;
        request.owner = caller.owner.as_ref().map(ToString::to_string);
        request.principal = caller.parts.extensions.get::<Principal>().map(|principal| principal.name().to_owned());
        let again = home.is_remembered.then(|| request.clone());
        let response = match (shared.forward_to(replicas, &home, request).await?, again) {
            (Some(response), _) => response,
            (None, None) => return Err(moving()),
            (None, Some(request)) => match self.locate(replicas, &home.session, &caller).await? {
                Found::Here(_used) => {
                    // Handling the request here takes permits again.
                    drop(held);
                    let response = self.answer(request).await;
                    // This replica refuses forwarded requests, because it is closing.
                    let is_misdirected = response.status() == StatusCode::MISDIRECTED_REQUEST;
                    return if is_misdirected { Err(moving()) } else { Ok(response) };
                }
                Found::At(home) => shared.forward_to(replicas, &home, request).await?.ok_or_else(moving)?,
            },
        };
        let ForwardedResponse { status, headers, mut frames, .. } = response;
        let is_stream = headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
        let mut forwarded = if is_stream {
            // A client resumes a stream that ends early.
            let closing = self.shared.closing.clone().cancelled_owned();
            let frames = frames.take_while(|frame| std::future::ready(frame.is_ok())).filter_map(async |f| f.ok());
            body::events(frames.take_until(closing).map(move |frame| {
                let _until_written = &held;
                frame
            }))
        } else {
            let mut whole = Vec::new();
            while let Some(frame) = frames.next().await {
                let frame = frame.map_err(Refusal::lost)?;
                held.memory.add(frame.len());
                whole.extend_from_slice(&frame);
            }
            body::json(status, body::holding(whole, held))
        };
        *forwarded.status_mut() = status;
        *forwarded.headers_mut() = headers;
        Ok(forwarded)
    }

    /// Handles a request that another replica forwarded.
    fn answer(&self, request: ForwardedRequest) -> BoxFuture<'_, Response<Body>> {
        let response = async move {
            let ForwardedRequest { method, uri, headers, body, owner, principal, .. } = request;
            let mut parts = Request::new(()).into_parts().0;
            (parts.method, parts.uri, parts.headers) = (method, uri, headers);
            if let Some(principal) = principal {
                parts.extensions.insert(Principal::new(principal));
            }
            // The other replica has checked the host.
            let operation = admit(&parts, &AllowedHosts::any(), true)?;
            self.shared.check_open().map_err(|_| misdirected())?;
            let caller = Caller { parts, owner: owner.map(Arc::from), is_forwarded: true };
            match operation {
                Operation::Listen => self.listen(caller).await,
                Operation::End => self.end(caller).await,
                Operation::Post => {
                    let mut inbound = Inbound::new(body.into());
                    let memory = self.shared.charge(&mut inbound, caller.owner.as_ref())?;
                    match RequestBody::read(&mut inbound) {
                        Ok(posted) => self.post_to_session(caller, (inbound, memory), posted).await,
                        Err((id, error)) => Ok(body::error(StatusCode::BAD_REQUEST, id, error)),
                    }
                }
            }
        };
        async { response.await.unwrap_or_else(Into::into) }.boxed()
    }

    /// Stores a new session. Does nothing if the server runs in one process.
    pub(super) async fn create_in_store(&self, session: &Session) -> Result<(), Refusal> {
        let shared = &self.shared;
        let (Some(replicas), Some(record)) = (&shared.options.replicas, &session.record) else {
            return Ok(());
        };
        match replicas.sessions.create(record.stored(), shared.lifetime()).await {
            Ok(_) => {
                record.set_stored();
                Ok(())
            }
            Err(error) => {
                session.end();
                Err(error.into())
            }
        }
    }

    /// Handles requests from other replicas, and renews this replica's sessions, until the endpoint is dropped.
    pub(super) fn join_replicas(&self) {
        let Some(replicas) = &self.shared.options.replicas else { return };
        let requests = Arc::new(self.requests.clone());
        let (weak, shared) = (Arc::downgrade(&requests), Arc::downgrade(&self.shared));
        let _ = self.shared.forwarded.set(requests);
        replicas.exchanges.answer(Box::new(move |request| {
            let endpoint = weak.upgrade().zip(shared.upgrade());
            let endpoint = endpoint.map(|(requests, shared)| Self { requests: (*requests).clone(), shared });
            async move {
                let response = match endpoint {
                    Some(endpoint) => endpoint.answer(request).await,
                    None => Refusal::busy("the endpoint was dropped").into(),
                };
                let (parts, body) = response.into_parts();
                let frames = body.into_data_stream().map(|frame| frame.map_err(|never| match never {}));
                ForwardedResponse::new(parts.status, parts.headers, frames.boxed())
            }
            .boxed()
        }));
        tokio::spawn(renew(Arc::downgrade(&self.shared)));
    }
}

impl EndpointState {
    /// Returns `None` if the replica did not handle the request, because it does not run the session.
    async fn forward_to(
        &self,
        replicas: &Replicas,
        home: &RemoteHome,
        request: ForwardedRequest,
    ) -> Result<Option<ForwardedResponse>, Refusal> {
        match replicas.exchanges.forward(&home.replica, request).await {
            Ok(response) if response.status == StatusCode::MISDIRECTED_REQUEST => {
                self.homes.forget(&home.session);
                Ok(None)
            }
            Ok(response) => Ok(Some(response)),
            Err(error) => {
                self.homes.forget_replica(&home.replica);
                if error.is_undelivered() {
                    tracing::debug!(%error, "a request was not forwarded");
                    return Ok(None);
                }
                Err(Refusal::lost(error))
            }
        }
    }

    /// Creates the record of a new session. `None` if the server runs in one process.
    pub(super) fn session_record(&self, id: &str, caller: &Caller) -> Option<SessionRecord> {
        let replicas = self.options.replicas.as_ref()?;
        let mut stored = StoredSession::new(id);
        stored.owner = caller.owner.as_deref().map(str::to_owned);
        stored.principal = caller.parts.extensions.get::<Principal>().map(|principal| principal.name().to_owned());
        let writer = EventWriter::new(id.to_owned(), Arc::clone(&replicas.events), self.options.replay);
        Some(SessionRecord::new(stored, Arc::clone(&replicas.sessions), writer))
    }

    /// Returns the lock to hold while this session is located.
    fn restoring(&self, id: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut restoring = self.restoring.lock();
        if let Some(lock) = restoring.get(id).and_then(Weak::upgrade) {
            return lock;
        }
        restoring.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::new(tokio::sync::Mutex::new(()));
        restoring.insert(id.to_owned(), Arc::downgrade(&lock));
        lock
    }

    /// Returns how long the store keeps a session that is not renewed.
    fn lifetime(&self) -> Duration {
        self.options.idle.saturating_add(MARGIN)
    }

    /// Returns the changes to lists that a client may have missed while its session had no home.
    fn missable_changes(&self) -> Vec<Change> {
        let config = self.config.read();
        let lists = [("tools", Change::Tools), ("prompts", Change::Prompts), ("resources", Change::Resources)];
        let lists =
            lists.into_iter().filter(|(list, _)| can(config.local_info.capabilities.as_ref(), &[list, "listChanged"]));
        lists.map(|(_, change)| change).collect()
    }

    pub(super) async fn remove_from_store(&self, session: &Session) -> Result<(), Refusal> {
        match (&self.options.replicas, &session.record) {
            (Some(replicas), Some(record)) if record.begin_removal() => {
                replicas.sessions.remove(&session.id).await.map_err(Refusal::from)
            }
            _ => Ok(()),
        }
    }

    /// Removes a session from the store in the background if it has ended.
    pub(super) fn remove_ended(&self, session: &Arc<Session>) {
        let Some(replicas) = self.options.replicas.clone() else { return };
        let must_be_removed = session.record.as_ref().is_some_and(SessionRecord::begin_removal);
        if must_be_removed && let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let session = Arc::clone(session);
            runtime.spawn(async move {
                // If this fails, the session expires later on its own.
                let _ = replicas.sessions.remove(&session.id).await;
            });
        }
    }

    /// Lets other replicas take over this one's sessions at once.
    pub(super) async fn leave_replicas(&self) {
        if let Some(replicas) = &self.options.replicas
            && let Err(error) = replicas.sessions.leave().await
        {
            tracing::warn!(%error, "failed to hand over the sessions; other replicas take over in a few seconds");
        }
    }

    async fn renew(&self, replicas: &Replicas) -> Result<(), StoreError> {
        let ids: Vec<String> = self.sessions().stored_ids();
        let lost = replicas.sessions.renew(&ids, self.lifetime()).await?;
        for id in lost {
            let Some(session) = self.session(&id) else { continue };
            let Some(record) = &session.0.record else { continue };
            // If the store has lost its data, store the session again, unless another replica has it.
            if !replicas.sessions.create(record.stored(), self.lifetime()).await? {
                tracing::debug!("another replica has taken over a session");
                session.0.release();
            }
        }
        Ok(())
    }
}

/// Renews this replica's sessions until the endpoint is dropped.
async fn renew(weak: Weak<EndpointState>) {
    let mut ticks = tokio::time::interval(RENEWAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        // This must not keep the endpoint alive.
        let Some(moved) = weak.upgrade().and_then(|shared| Some(shared.options.replicas.as_ref()?.sessions.moved()))
        else {
            return;
        };
        tokio::select! {
            _ = ticks.tick() => {}
            () = moved => tokio::time::sleep(BATCH).await,
        }
        let Some(shared) = weak.upgrade() else { return };
        let Some(replicas) = &shared.options.replicas else { return };
        if shared.closing.is_cancelled() {
            return;
        }
        if let Err(error) = shared.renew(replicas).await {
            tracing::warn!(%error, "failed to renew sessions; trying again in {RENEWAL:?}");
        }
    }
}

/// Refuses a forwarded request, because this replica does not run its session.
fn misdirected() -> Refusal {
    Refusal::new(StatusCode::MISDIRECTED_REQUEST, "this replica does not run the session")
}

/// Refuses a request while its session has no home.
fn moving() -> Refusal {
    Refusal::busy("the session is moving to another replica; try again")
}

fn without_credentials(mut headers: HeaderMap) -> HeaderMap {
    for name in CREDENTIALS {
        headers.remove(name);
    }
    headers
}
