//! Sessions (up to 2025-11-25): connections whose messages arrive in separate HTTP requests.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream as Events, StreamExt, stream};
use http::{HeaderValue, Response, StatusCode};
use mcpgen_mcp::protocol::change::Change;
use mcpgen_mcp::protocol::legacy::Legacy;
use mcpgen_mcp::protocol::{RevisionRules, methods};
use mcpgen_mcp::replicas::{JournalEntry, StoreError, StoredStream};
use mcpgen_mcp::telemetry;
use mcpgen_runtime::connection::Connection;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::router::{RequestService, Router};
use mcpgen_runtime::transport::{self, Inbound, Outbound, OutboxPermit, Outcome, Principal, Route};
use mcpgen_types::{ErrorId, ErrorObject, JsonObject, RequestId, Revision};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::body::{self, Body};
use super::budget::{Budget, Charge};
use super::options::EndpointOptions;
use super::permit::Permit;
use super::refusal::Refusal;
use super::request_body::StateChange;
use super::resumable::Resumable;
use super::session_record::{SessionRecord, error_response, lost_response};
use super::session_state::{self, SessionState};
use super::sse;
use super::state_change::subscribed_uri;
use super::stream::{Next, Reader, ResponseInfo, SessionBytes, Stream};
use crate::headers::SESSION;

/// How long a POST waits for its first message before the response becomes an event stream.
const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_millis(500);

/// How long to wait until the replicas' store knows a stream.
const STORE_TIMEOUT: Duration = Duration::from_secs(1);

/// How long to keep a session that the client never uses after `initialize`.
const UNCONFIRMED_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum memory of received messages that the connection has not taken yet, in bytes. A larger message is accepted if
/// no other is queued. If [`EndpointOptions::body`] is larger, that limit applies.
const INBOX_BYTES: usize = 16 << 20;

/// The minimum that a message counts toward [`INBOX_BYTES`], which thus limits the number of messages, too.
const MESSAGE_COST: usize = 16 << 10;

pub(super) struct Session {
    pub(super) id: String,
    /// The session's owner, if it has one; see [`EndpointOptions::owner`].
    pub(super) owner: Option<Arc<str>>,
    /// The prefix of the session's event IDs, which distinguishes them from those of other sessions.
    event_prefix: String,
    protocol: Arc<Legacy>,
    inbox: mpsc::UnboundedSender<Delivery>,
    /// One permit per byte in the inbox.
    inbox_room: Arc<Semaphore>,
    inbox_bytes: usize,
    /// One permit per request in flight.
    pub(super) requests: Arc<Semaphore>,
    /// One permit per open stream.
    pub(super) open_streams: Arc<Semaphore>,
    streams: Mutex<Streams>,
    /// Bytes of all streams together.
    stream_bytes: Arc<SessionBytes>,
    /// What the session retains besides its streams.
    state: SessionState,
    /// Memory that every session takes, whatever it retains.
    memory: Mutex<Option<Charge>>,
    /// The stream for messages that belong to no request. Clients read it with GET.
    standalone: Mutex<Arc<Stream>>,
    open: AtomicUsize,
    used: Mutex<Instant>,
    /// Whether the client has used the session after `initialize`.
    confirmed: AtomicBool,
    end: CancellationToken,
    /// The session in the replicas' store. `None` if the server runs in one process.
    pub(super) record: Option<SessionRecord>,
    /// How many streams to keep for clients that resume.
    max_resumable: usize,
    replay: usize,
    keep_alive: Duration,
}

#[derive(Default)]
struct Streams {
    count: u64,
    waiting: HashMap<RequestId, Waiting>,
    /// Streams whose HTTP response is an event stream, oldest first.
    resumable: Resumable,
    /// URIs of replayed resource subscriptions, until they have a response.
    resubscribed: HashMap<RequestId, String>,
    ended: bool,
}

impl Streams {
    /// Returns the pending requests that share a response with this one.
    fn requests_with(&self, id: &RequestId) -> Vec<RequestId> {
        match self.waiting.get(id) {
            Some(waiting) if waiting.in_batch => {
                let is_same = |other: &&Waiting| Arc::ptr_eq(&other.stream, &waiting.stream);
                self.waiting.iter().filter(|(_, other)| is_same(other)).map(|(id, _)| id.clone()).collect()
            }
            Some(_) => vec![id.clone()],
            None => Vec::new(),
        }
    }
}

struct Waiting {
    stream: Arc<Stream>,
    /// Whether other requests share the stream and its one response message.
    in_batch: bool,
    /// Held while the request is handled, even if the client has disconnected.
    _permit: Permit,
}

pub(super) struct Identity {
    pub(super) id: String,
    /// The session's owner, if it has one; see [`EndpointOptions::owner`].
    pub(super) owner: Option<Arc<str>>,
    pub(super) record: Option<SessionRecord>,
}

/// The memory that a session takes even if the client declares nothing, in bytes (measured).
pub(super) const SESSION_COST: usize = 32 << 10;

/// The event IDs of a session begin with this many hexadecimal digits of its ID. The other digits stay secret.
const EVENT_PREFIX: usize = 8;

pub(super) struct PostedMessage {
    pub(super) arrived: Inbound,
    /// The IDs of the requests in the message, and a permit to handle them.
    pub(super) requests: Option<(Vec<RequestId>, Permit)>,
    /// Requests that change the session's state, with the memory that it will retain.
    pub(super) changes: Vec<(RequestId, StateChange, Charge)>,
}

struct Delivery {
    arrived: Inbound,
    _room: OwnedSemaphorePermit,
}

impl Session {
    /// Returns the session with the future that runs it until it ends.
    pub(super) fn begin<S: RequestService>(
        Identity { id, owner, record }: Identity,
        protocol: Legacy,
        (service, handlers): (S, Router),
        options: &EndpointOptions,
        (memory, stream_bytes): (Charge, Charge),
        end: CancellationToken,
    ) -> (Arc<Self>, impl Future<Output = ()> + Send + use<S>) {
        let (inbox, arrived) = mpsc::unbounded_channel();
        let (protocol, stream_bytes) = (Arc::new(protocol), SessionBytes::new(stream_bytes));
        let permits = |count: usize| Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS)));
        let event_prefix = id.get(id.len().saturating_sub(EVENT_PREFIX)..).unwrap_or_default().to_owned();
        let (epoch, writer) = match &record {
            Some(record) => (u64::from(record.stored().epoch), Some(record.stream_writer(&[]))),
            None => (0, None),
        };
        let standalone = Stream::new(0, options.replay, &stream_bytes, writer);
        // No need to wait: clients can always resume stream 0.
        let _ = standalone.store();
        let session = Arc::new(Self {
            id,
            event_prefix,
            owner,
            protocol: Arc::clone(&protocol),
            inbox,
            inbox_room: Arc::new(Semaphore::new(inbox_bytes(options.body))),
            inbox_bytes: inbox_bytes(options.body),
            requests: permits(options.requests_per_session),
            open_streams: permits(options.streams_per_session),
            // A later home must not reuse an earlier home's stream numbers.
            streams: Mutex::new(Streams { count: epoch << 32, ..Streams::default() }),
            standalone: Mutex::new(standalone),
            stream_bytes,
            state: SessionState::default(),
            memory: Mutex::new(Some(memory)),
            open: AtomicUsize::new(0),
            confirmed: AtomicBool::new(false),
            used: Mutex::new(Instant::now()),
            end,
            record,
            max_resumable: options.streams_per_session.max(1),
            replay: options.replay,
            keep_alive: options.keep_alive,
        });
        let connection = telemetry::connection(service, handlers, protocol, options.limits.clone());
        (Arc::clone(&session), session.run(connection, arrived, options.idle))
    }

    async fn run<S: RequestService>(
        self: Arc<Self>,
        connection: Connection<S>,
        mut arrived: mpsc::UnboundedReceiver<Delivery>,
        idle: Duration,
    ) {
        let arrived = stream::poll_fn(move |context| arrived.poll_recv(context));
        let arrived = arrived.map(|delivery| Ok(delivery.arrived));
        let arrived = arrived.take_until(self.end.clone().cancelled_owned());
        let this = Arc::clone(&self);
        let outgoing = transport::sink(move |message| {
            this.route(message);
            Ok(())
        });
        let running = connection.run(arrived, outgoing.with_request_streams());
        tokio::pin!(running);
        loop {
            tokio::select! {
                ended = &mut running => {
                    if let Err(error) = ended {
                        tracing::warn!(%error, "a session ended with an error");
                    }
                    break;
                }
                () = self.idle_timeout(idle), if !self.end.is_cancelled() => self.end(),
            }
        }
        self.release();
        let mut streams = self.streams();
        streams.ended = true;
        streams.waiting.drain().for_each(|(_, waiting)| waiting.stream.end());
        drop(streams);
        match &self.record {
            // The session may continue on another replica, with this stream.
            Some(record) => {
                record.close();
                self.standalone().disconnect_reader();
            }
            None => self.standalone().end(),
        }
    }

    /// Records that the client used the session after `initialize`.
    pub(super) fn confirm(&self) {
        self.confirmed.store(true, Ordering::SeqCst);
    }

    /// Accepts no more messages. Requests in flight may still finish within the drain time.
    pub(super) fn end(&self) {
        if let Some(record) = &self.record {
            record.end();
        }
        self.end.cancel();
    }

    /// Ends an idle session and frees its memory at once.
    pub(super) fn evict(&self) {
        self.end();
        self.memory.lock().take();
        self.state.release();
        self.stream_bytes.release();
    }

    /// Stops running the session, because it continues on another replica.
    pub(super) fn release(&self) {
        self.end.cancel();
    }

    /// Records a notification that changes the state. Its params are left out, because no state depends on them.
    pub(super) async fn record_notification(&self, method: String) -> Result<(), StoreError> {
        let Some(record) = &self.record else { return Ok(()) };
        let message = serde_json::json!({ "jsonrpc": "2.0", "method": method });
        record.record(JournalEntry::new(method.as_str(), Bytes::from(mcpgen_types::to_vec(&message))));
        record.write(&method).await
    }

    /// Passes the journal's messages to the connection on behalf of `principal`. No request waits for their responses,
    /// which are dropped. If a resource subscription succeeds, the client is notified that the resource has changed,
    /// because it may have missed changes.
    pub(super) fn replay(
        &self,
        journal: impl IntoIterator<Item = JournalEntry>,
        principal: Option<&Principal>,
        budget: &Arc<Budget>,
    ) {
        self.confirm();
        for (number, JournalEntry { key, message, .. }) in journal.into_iter().enumerate() {
            let Some(message) = message else { continue };
            let bytes = key.len() + message.len();
            let memory = budget.charge_existing(self.owner.as_ref(), retained_cost(bytes));
            self.state.restore(&key, bytes, memory);
            let id = format!("{}-replay-{number}", self.id);
            if let Some(uri) = subscribed_uri(&key) {
                self.streams().resubscribed.insert(id.as_str().into(), uri.to_owned());
            }
            let mut arrived = Inbound::new(with_id(message, &id).into());
            if let Some(principal) = principal {
                arrived.extensions.insert(principal.clone());
            }
            let Ok(room) = Arc::clone(&self.inbox_room).try_acquire_many_owned(0) else { return };
            let delivery = Delivery { arrived, _room: room };
            // Fails only if the session has ended.
            let _ = self.inbox.send(delivery);
        }
    }

    /// Continues the previous home's streams. Requests without a response get an error.
    pub(super) fn restore(&self, mut streams: Vec<StoredStream>) {
        let Some(record) = &self.record else { return };
        if streams.iter().all(|stream| stream.number != 0) {
            streams.push(StoredStream::default());
        }
        for stored in streams {
            let requests: Vec<RequestId> =
                stored.requests.iter().filter_map(|id| mcpgen_types::from_str(id).ok()).collect();
            let is_standalone = stored.number == 0;
            let writer = record.stream_writer(&requests);
            let stream = Stream::restore(stored, self.replay, &self.stream_bytes, Some(writer));
            if is_standalone {
                *self.standalone.lock() = stream;
                continue;
            }
            if !stream.has_ended() {
                match lost_response(&requests) {
                    Some((message, response)) => stream.push(message, Some(response), None),
                    None => stream.end(),
                }
            }
            self.streams().resumable.insert(&stream, self.max_resumable);
        }
    }

    pub(super) fn notify_of(&self, change: &Change) {
        let params = match change {
            Change::Resource(uri) => serde_json::json!({ "uri": uri }),
            _ => serde_json::json!({}),
        };
        let message = serde_json::json!({ "jsonrpc": "2.0", "method": change.method(), "params": params });
        self.push_standalone(mcpgen_types::to_vec(&message), None);
    }

    /// Returns the stream for messages that belong to no request.
    fn standalone(&self) -> Arc<Stream> {
        Arc::clone(&self.standalone.lock())
    }

    pub(super) fn has_ended(&self) -> bool {
        self.end.is_cancelled()
    }

    /// Completes once the session has been idle for this long.
    async fn idle_timeout(&self, idle: Duration) {
        loop {
            let idle = if self.confirmed.load(Ordering::SeqCst) { idle } else { idle.min(UNCONFIRMED_TIMEOUT) };
            // Read in this order, because an HTTP request that ends in between has already set the time.
            let is_open = self.open.load(Ordering::SeqCst) > 0;
            let used = *self.used.lock();
            match used.checked_add(idle) {
                Some(until) if !is_open && until <= Instant::now() => return,
                Some(until) if !is_open => tokio::time::sleep_until(until).await,
                _ => tokio::time::sleep(idle.clamp(Duration::from_millis(10), UNCONFIRMED_TIMEOUT)).await,
            }
        }
    }

    /// Returns when the session was last used. `None` while an HTTP request or stream is open or a handler runs.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let is_idle = self.open.load(Ordering::SeqCst) == 0 && self.streams().waiting.is_empty();
        is_idle.then(|| *self.used.lock())
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock()
    }

    /// Returns the negotiated revision. `None` before the handshake.
    pub(super) fn revision(&self) -> Option<Revision> {
        self.protocol.peer_info().map(|peer_info| peer_info.revision)
    }

    pub(super) fn takes_batches(&self) -> bool {
        self.protocol.allows_batches()
    }

    /// Sends each message to the stream of its request while that is pending, and otherwise to the stream for messages
    /// that belong to no request.
    fn route(self: &Arc<Self>, mut message: Outbound) {
        let room = message.take_permit();
        let Outbound { bytes, route, .. } = message;
        match route {
            Route::Connection => self.push_standalone(bytes, room),
            Route::Request(id) => {
                let stream = self.streams().waiting.get(&id).map(|waiting| Arc::clone(&waiting.stream));
                match stream {
                    Some(stream) => stream.push(bytes, None, room),
                    None => self.push_standalone(bytes, room),
                }
            }
            Route::Reconnect(id, after) => {
                // Older revisions lack the initial event, from whose ID a client could resume.
                if self.revision().is_some_and(Revision::has_priming_events)
                    && let Some(waiting) = self.streams().waiting.get(&id)
                {
                    waiting.stream.retry_after(after);
                }
            }
            Route::Response(id, outcome) => {
                let resubscribed = self.streams().resubscribed.remove(&id);
                if let (Some(uri), Outcome::Result) = (resubscribed, outcome) {
                    self.notify_of(&Change::Resource(uri));
                }
                let changed = self.settle_changes(&id, outcome, &bytes);
                let response = (bytes, ResponseInfo { id, outcome });
                match &self.record {
                    Some(record) if record.is_stored() && !changed.is_empty() => {
                        let this = Arc::clone(self);
                        tokio::spawn(async move {
                            let response = this.write_changes(&changed, response).await;
                            this.push_response(response, room);
                        });
                    }
                    _ => self.push_response(response, room),
                }
            }
            Route::NoResponse(id) => {
                self.state.settle(&id, false);
                if let Some(stream) = self.finish_request(&id) {
                    stream.end();
                }
            }
        }
        self.trim_streams();
    }

    fn push_response(&self, (bytes, response): (Vec<u8>, ResponseInfo), room: Option<OutboxPermit>) {
        if let Some(stream) = self.finish_request(&response.id) {
            stream.push(bytes, Some(response), room);
        }
    }

    /// Applies the changes of requests that this response accepts, records them in the journal, and drops the others.
    /// Returns the keys of the journal entries.
    fn settle_changes(&self, id: &RequestId, outcome: Outcome, response: &[u8]) -> Vec<String> {
        if !self.state.has_pending() {
            return Vec::new();
        }
        let requests = self.streams().requests_with(id);
        let settled: Vec<JournalEntry> = match &*requests {
            [] | [_] => self.state.settle(id, outcome == Outcome::Result).into_iter().collect(),
            batch => {
                let accepted = session_state::accepted(response);
                batch.iter().filter_map(|id| self.state.settle(id, accepted.contains(id))).collect()
            }
        };
        let Some(record) = &self.record else { return Vec::new() };
        let keys = settled.iter().map(|entry| entry.key.clone()).collect();
        settled.into_iter().for_each(|entry| record.record(entry));
        keys
    }

    /// Writes state changes to the store before the client learns of them. Returns the response, or an error in its
    /// place if the store fails.
    async fn write_changes(
        &self,
        keys: &[String],
        (bytes, response): (Vec<u8>, ResponseInfo),
    ) -> (Vec<u8>, ResponseInfo) {
        let Some(record) = &self.record else { return (bytes, response) };
        for key in keys {
            if let Err(error) = record.write(key).await {
                let requests = self.streams().requests_with(&response.id);
                let failed = error_response(&requests, &ErrorObject::from(error));
                return failed.unwrap_or((bytes, response));
            }
        }
        (bytes, response)
    }

    /// Pushes a message to the stream for messages that belong to no request. A client that leaves too much of it
    /// unread is disconnected and must resume it. Otherwise it could delay the responses on other streams.
    fn push_standalone(&self, message: Vec<u8>, room: Option<OutboxPermit>) {
        let standalone = self.standalone();
        standalone.push(message, None, room);
        if standalone.unread() > self.replay {
            standalone.disconnect_reader();
        }
    }

    /// Removes a pending request and returns its stream. Removes the whole batch if it belongs to one, because a batch
    /// has one response message.
    fn finish_request(&self, id: &RequestId) -> Option<Arc<Stream>> {
        let mut streams = self.streams();
        let Waiting { stream, in_batch, .. } = streams.waiting.remove(id)?;
        if in_batch {
            streams.waiting.retain(|_, other| !Arc::ptr_eq(&other.stream, &stream));
        }
        Some(stream)
    }

    /// Passes a POST to the connection. Completes with the first message of its stream: as plain JSON if that is the
    /// response, and otherwise, or after [`FIRST_MESSAGE_TIMEOUT`], as an event stream. A POST without requests
    /// completes at once.
    pub(super) async fn post(
        self: &Arc<Self>,
        posted_message: PostedMessage,
        used: SessionGuard,
    ) -> Result<(Response<Body>, Option<Outcome>), Refusal> {
        let PostedMessage { arrived, requests, changes } = posted_message;
        if self.has_ended() {
            return Err(not_found());
        }
        let room = Arc::clone(&self.inbox_room)
            .try_acquire_many_owned(inbox_cost(arrived.memory(&methods::free_form).total(), self.inbox_bytes));
        let room = room.map_err(|_| Refusal::busy("too many unhandled messages in this session"))?;
        let delivery = Delivery { arrived, _room: room };
        let Some((ids, permit)) = requests else {
            self.inbox.send(delivery).map_err(|_| not_found())?;
            return Ok((body::empty(StatusCode::ACCEPTED), None));
        };
        let stream = match self.register_requests(&ids, &permit) {
            Ok(stream) => stream,
            Err(Some(id)) => {
                let error = errors::invalid_request("a request with this ID is still pending");
                return Ok((body::error(StatusCode::BAD_REQUEST, ErrorId::Id(id), error), None));
            }
            Err(None) => return Err(not_found()),
        };
        for (id, change, memory) in changes {
            if let Err(refusal) = self.state.prepare(id, change, memory) {
                ids.iter().for_each(|id| drop((self.state.settle(id, false), self.finish_request(id))));
                return Err(refusal);
            }
        }
        let mut reader = stream.resume_undelivered();
        self.inbox.send(delivery).map_err(|_| not_found())?;
        let first = match tokio::time::timeout(FIRST_MESSAGE_TIMEOUT, reader.next()).await {
            Ok(Some(Next::Message(_, response, Some(outcome)))) => {
                let response = body::holding(response, (used, permit));
                return Ok((body::json(StatusCode::OK, response), Some(outcome)));
            }
            Ok(None) if self.has_ended() => return Err(not_found()),
            Ok(None) => return Ok((body::events(stream::empty()), None)),
            Ok(first) => first,
            Err(_) => None,
        };
        self.keep(&reader.stream).await;
        Ok((self.events(reader, 0, first, (used, permit)), None))
    }

    /// Creates a stream for the responses to these requests.
    ///
    /// # Errors
    ///
    /// Returns the ID of a request that is already pending, or `None` if the session has ended.
    fn register_requests(&self, ids: &[RequestId], permit: &Permit) -> Result<Arc<Stream>, Option<RequestId>> {
        let mut streams = self.streams();
        if streams.ended {
            return Err(None);
        }
        if let Some(known) = ids.iter().find(|id| streams.waiting.contains_key(id)) {
            return Err(Some(known.clone()));
        }
        streams.count += 1;
        let writer = self.record.as_ref().map(|record| record.stream_writer(ids));
        let stream = Stream::new(streams.count, self.replay, &self.stream_bytes, writer);
        for id in ids {
            let (stream, permit) = (Arc::clone(&stream), Arc::clone(permit));
            let waiting = Waiting { stream, in_batch: ids.len() > 1, _permit: permit };
            streams.waiting.insert(id.clone(), waiting);
        }
        Ok(stream)
    }

    /// Keeps a stream for a client that resumes. Waits until other replicas can resume it, too.
    async fn keep(&self, stream: &Arc<Stream>) {
        let stored = stream.store();
        self.streams().resumable.insert(stream, self.max_resumable);
        self.trim_streams();
        if let Some(stored) = stored {
            // If the store does not respond, the client can still resume the stream on this replica.
            let _ = tokio::time::timeout(STORE_TIMEOUT, stored).await;
        }
    }

    /// Limits what all streams of the session retain together. Drops events of the oldest streams first.
    fn trim_streams(&self) {
        let excess = || self.stream_bytes.retained().saturating_sub(self.replay);
        if excess() == 0 {
            return;
        }
        let streams = self.streams();
        let waiting = streams.waiting.values().map(|waiting| &waiting.stream);
        for stream in streams.resumable.iter().chain([&self.standalone()]).chain(waiting) {
            match excess() {
                0 => return,
                excess => stream.shrink(excess),
            }
        }
    }

    /// Handles a GET: opens the stream for messages that belong to no request, or resumes a stream after `last_event`.
    pub(super) fn listen(
        self: &Arc<Self>,
        last_event: Option<&HeaderValue>,
        used: SessionGuard,
        permit: Permit,
    ) -> Result<Response<Body>, Refusal> {
        let Some(last_event) = last_event else {
            let reader = self.standalone().resume_undelivered();
            let after = reader.delivered();
            return Ok(self.events(reader, after, None, (used, permit)));
        };
        let place = last_event.to_str().ok().and_then(|id| {
            let (number, event) = id.strip_prefix(&self.event_prefix)?.strip_prefix('-')?.split_once('-')?;
            Some((number.parse::<u64>().ok()?, event.parse::<u64>().ok()?))
        });
        let Some((number, after)) = place else {
            return Err(Refusal::bad("`Last-Event-ID` is not an event ID of this session"));
        };
        let stream = match number {
            0 => Some(self.standalone()),
            _ => self.streams().resumable.get(number),
        };
        let reader = stream.and_then(|stream| stream.read(after));
        let reader = reader.ok_or_else(|| Refusal::bad("the events after `Last-Event-ID` are no longer retained"))?;
        Ok(self.events(reader, after, None, (used, permit)))
    }

    fn event_id(&self, reader: &Reader, event: u64) -> String {
        format!("{}-{}-{event}", self.event_prefix, reader.stream.number)
    }

    /// Creates the event stream for a reader. Since 2025-11-25, its first event is empty and carries the ID from which
    /// to resume.
    fn events(
        self: &Arc<Self>,
        reader: Reader,
        after: u64,
        first: Option<Next>,
        (used, permit): (SessionGuard, Permit),
    ) -> Response<Body> {
        let mut ready = VecDeque::new();
        if self.revision().is_some_and(Revision::has_priming_events) {
            ready.push_back(sse::event(Some(&self.event_id(&reader, after)), b""));
        }
        let items = SseWriter { reader, ready, ended: false, keep_alive: self.keep_alive, used, permit };
        body::events(items.beginning_with(first).events())
    }
}

/// Replaces a request's ID, so that its response does not reach another request of a client that reuses IDs.
fn with_id(message: Bytes, id: &str) -> Bytes {
    match mcpgen_types::from_slice::<JsonObject>(&message) {
        Ok(mut request) if request.contains_key("id") => {
            request.insert("id", id);
            mcpgen_types::to_vec(&request).into()
        }
        _ => message,
    }
}

pub(super) fn not_found() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "session not found or ended; begin a new one with `initialize`")
}

pub(super) fn set_session_id(response: &mut Response<Body>, session: &Session) {
    if let Ok(id) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(SESSION, id);
    }
}

/// Returns how much memory a session retains for a state change whose message has this size, in bytes.
pub(super) fn retained_cost(bytes: usize) -> usize {
    2 * bytes + 256
}

fn inbox_bytes(body: usize) -> usize {
    body.clamp(INBOX_BYTES, u32::MAX as usize)
}

/// Returns how many inbox permits a message that takes this much memory needs.
fn inbox_cost(memory: usize, inbox_bytes: usize) -> u32 {
    u32::try_from(memory.clamp(MESSAGE_COST, inbox_bytes)).unwrap_or(u32::MAX)
}

/// While this exists, the session is in use: neither idle nor evicted.
pub(super) struct SessionGuard(pub(super) Arc<Session>);

impl SessionGuard {
    pub(super) fn new(session: &Arc<Session>) -> Self {
        session.open.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(session))
    }
}

impl Drop for SessionGuard {
    fn drop(&mut self) {
        *self.0.used.lock() = Instant::now();
        self.0.open.fetch_sub(1, Ordering::SeqCst);
        self.0.trim_streams();
    }
}

struct SseWriter {
    /// Must be dropped before `used`, whose drop limits what the stream retains without a reader.
    reader: Reader,
    ready: VecDeque<Bytes>,
    ended: bool,
    keep_alive: Duration,
    used: SessionGuard,
    permit: Permit,
}

impl SseWriter {
    fn beginning_with(mut self, first: Option<Next>) -> Self {
        if let Some(first) = first {
            self.add(first);
        }
        self
    }

    fn add(&mut self, next: Next) {
        match next {
            Next::Message(number, message, outcome) => {
                let id = self.used.0.event_id(&self.reader, number);
                let event = sse::event(Some(&id), &message);
                // The response stream may be dropped before its last event is written, so the event holds the permit.
                let holds = outcome.is_some();
                self.ready.push_back(if holds { body::holding(event, Arc::clone(&self.permit)) } else { event });
                self.used.0.trim_streams();
            }
            Next::Retry(after) => {
                self.ready.push_back(sse::retry(after));
                self.ended = true;
            }
        }
    }

    fn events(self) -> impl Events<Item = Bytes> + Send {
        stream::unfold(self, |mut this| async move {
            loop {
                if let Some(event) = this.ready.pop_front() {
                    return Some((event, this));
                }
                if this.ended {
                    return None;
                }
                match tokio::time::timeout(this.keep_alive, this.reader.next()).await {
                    Ok(Some(next)) => this.add(next),
                    Ok(None) => return None,
                    Err(_) => return Some((sse::COMMENT, this)),
                }
            }
        })
    }
}
