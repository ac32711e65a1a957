//! Sessions: the connections of the revisions until 2025-11-25, of which each message is a request of its own.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream as Events, StreamExt, stream};
use http::{HeaderValue, Response, StatusCode};
use mcpgen_types::{ErrorId, RequestId, Revision};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Options;
use super::body::{self, Body};
use super::host_filter::Refusal;
use super::permit::Permit;
use super::stream::{Answer, Next, Reader, Stream};
use crate::connection::{Connection, Inbound};
use crate::http::headers::SESSION;
use crate::http::sse;
use crate::jsonrpc::errors;
use crate::peer::outbox::{Line, Lines, Outcome, Place};
use crate::protocol::Protocol;
use crate::protocol::legacy::Legacy;
use crate::service::router::{RequestService, Router};
use crate::util::lock::Mutex;

/// How long an answer is waited for before the response becomes a stream.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long a session is kept that nobody goes on with.
const UNTOUCHED: Duration = Duration::from_secs(60);

/// How many streams are kept for whoever comes back to them.
const MOST_KEPT: usize = 256;

/// Bytes of the messages that have arrived and that the connection has not taken yet. A longer body has the inbox alone.
const INBOX_BYTES: usize = 16 << 20;

/// What a message in the inbox costs at least, so that the number of messages is bounded too.
const MESSAGE_COST: usize = 16 << 10;

/// One client.
pub(super) struct Session {
    pub(super) id: String,
    /// The owner that began it, where owners are identified.
    pub(super) owner: Option<Arc<str>>,
    /// What the ids of its events begin with: those of another session are none of its own.
    mark: String,
    protocol: Arc<Legacy>,
    inbox: mpsc::UnboundedSender<Delivery>,
    inbox_room: Arc<Semaphore>,
    /// Requests in flight.
    pub(super) requests: Arc<Semaphore>,
    /// Open streams.
    pub(super) open_streams: Arc<Semaphore>,
    streams: Mutex<Streams>,
    /// Bytes that all streams retain for a client that resumes.
    retained: Arc<AtomicUsize>,
    /// What belongs to no request.
    alone: Arc<Stream>,
    /// HTTP requests that are open, and when the last one ended.
    open: AtomicUsize,
    used: Mutex<Instant>,
    /// Something came after what began it.
    touched: AtomicBool,
    end: CancellationToken,
    replay: usize,
    keep_alive: Duration,
}

#[derive(Default)]
struct Streams {
    /// How many there were.
    count: u64,
    /// Of requests that are not answered yet.
    waiting: HashMap<RequestId, Waiting>,
    /// Those that have become streams of events, oldest first.
    kept: VecDeque<Arc<Stream>>,
    ended: bool,
}

struct Waiting {
    stream: Arc<Stream>,
    /// Others have the same stream, and the same answer.
    in_batch: bool,
    /// It is handled, be anybody there to read the answer or not.
    _permit: Permit,
}

/// What a client has sent, as far as it matters here.
pub(super) struct PostedMessage {
    pub(super) arrived: Inbound,
    /// The requests in it: their ids, and the permit to handle them.
    pub(super) requests: Option<(Vec<RequestId>, Permit)>,
}

/// A message on its way to the connection.
struct Delivery {
    arrived: Inbound,
    _room: OwnedSemaphorePermit,
}

impl Session {
    /// A session, and what runs it until it ends.
    pub(super) fn begin<S: RequestService>(
        (id, mark): (String, String),
        owner: Option<Arc<str>>,
        protocol: Legacy,
        (service, handlers): (S, Router),
        options: &Options,
        end: CancellationToken,
    ) -> (Arc<Self>, impl Future<Output = ()> + Send + use<S>) {
        let (inbox, arrived) = mpsc::unbounded_channel();
        let (protocol, retained) = (Arc::new(protocol), Arc::default());
        let share = Arc::new(Semaphore::new(options.requests_per_session.clamp(1, Semaphore::MAX_PERMITS)));
        let open_streams = Arc::new(Semaphore::new(share.available_permits()));
        let session = Arc::new(Self {
            id,
            mark,
            owner,
            protocol: Arc::clone(&protocol),
            inbox,
            inbox_room: Arc::new(Semaphore::new(inbox_bytes(options.body))),
            requests: share,
            open_streams,
            streams: Mutex::default(),
            alone: Stream::new(0, options.replay, &retained),
            retained,
            open: AtomicUsize::new(0),
            touched: AtomicBool::new(false),
            used: Mutex::new(Instant::now()),
            end,
            replay: options.replay,
            keep_alive: options.keep_alive,
        });
        let connection = Connection::new(service, handlers, protocol, options.limits.clone());
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
        let running = connection.run_by(arrived, move |lines| this.route(lines));
        tokio::pin!(running);
        loop {
            tokio::select! {
                ended = &mut running => {
                    if let Err(error) = ended {
                        tracing::warn!(%error, "a session ended with an error");
                    }
                    break;
                }
                () = self.unused(idle), if !self.end.is_cancelled() => self.end(),
            }
        }
        self.end();
        let mut streams = self.streams();
        streams.ended = true;
        streams.waiting.drain().for_each(|(_, waiting)| waiting.stream.end());
        self.alone.end();
    }

    /// Somebody goes on with it.
    pub(super) fn touch(&self) {
        self.touched.store(true, Ordering::SeqCst);
    }

    /// Ends it: nothing more arrives, and what was asked is answered for a while.
    pub(super) fn end(&self) {
        self.end.cancel();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.end.is_cancelled()
    }

    /// Ends when nobody has used it for so long.
    async fn unused(&self, idle: Duration) {
        loop {
            let idle = if self.touched.load(Ordering::SeqCst) { idle } else { idle.min(UNTOUCHED) };
            // In this order: a request that ends in between has set the time.
            let is_open = self.open.load(Ordering::SeqCst) > 0;
            let used = *self.used.lock();
            match used.checked_add(idle) {
                Some(until) if !is_open && until <= Instant::now() => return,
                Some(until) if !is_open => tokio::time::sleep_until(until).await,
                _ => tokio::time::sleep(idle.clamp(Duration::from_millis(10), UNTOUCHED)).await,
            }
        }
    }

    /// When it was last used; `None` while a request or stream is open or a handler runs.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let is_idle = self.open.load(Ordering::SeqCst) == 0 && self.streams().waiting.is_empty();
        is_idle.then(|| *self.used.lock())
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock()
    }

    /// The revision that was agreed on, once it was.
    pub(super) fn revision(&self) -> Option<Revision> {
        self.protocol.peer_info().map(|peer_info| peer_info.revision)
    }

    /// Whether several messages may come at once.
    pub(super) fn takes_batches(&self) -> bool {
        self.protocol.batches()
    }

    /// Each message goes to one stream: that of its request while that has no answer, otherwise the one that belongs to no
    /// request.
    async fn route(self: Arc<Self>, mut lines: Lines) -> std::io::Result<()> {
        while let Some(Some(Line { message, room })) = lines.recv().await {
            match message.place {
                Place::Anywhere => self.push_alone(message.bytes, room),
                Place::Within(id) => {
                    let stream = self.streams().waiting.get(&id).map(|waiting| Arc::clone(&waiting.stream));
                    match stream {
                        Some(stream) => stream.push(message.bytes, None, room),
                        None => self.push_alone(message.bytes, room),
                    }
                }
                Place::Later(id, after) => {
                    // Without the event that says where to go on there is no way back.
                    if self.revision().is_some_and(|revision| revision >= Revision::V2025_11_25)
                        && let Some(waiting) = self.streams().waiting.get(&id)
                    {
                        waiting.stream.later(after);
                    }
                }
                Place::Answer(id, outcome) => {
                    if let Some(stream) = self.answered(&id) {
                        stream.push(message.bytes, Some(Answer { id, outcome }), room);
                    }
                }
                Place::Unanswered(id) => {
                    if let Some(stream) = self.answered(&id) {
                        stream.end();
                    }
                }
            }
            self.tidy();
        }
        Ok(())
    }

    /// Whoever does not read it must not keep others from being answered: what is too much for it, it has to come back for.
    fn push_alone(&self, message: Vec<u8>, room: Option<OwnedSemaphorePermit>) {
        self.alone.push(message, None, room);
        if self.alone.unread() > self.replay {
            self.alone.send_away();
        }
    }

    /// The stream of a request that has its answer now. The requests of a batch have one answer.
    fn answered(&self, id: &RequestId) -> Option<Arc<Stream>> {
        let mut streams = self.streams();
        let Waiting { stream, in_batch, .. } = streams.waiting.remove(id)?;
        if in_batch {
            streams.waiting.retain(|_, other| !Arc::ptr_eq(&other.stream, &stream));
        }
        Some(stream)
    }

    /// Hands what a client has sent to the connection, and responds as soon as there is an answer or an event.
    pub(super) async fn post(
        self: &Arc<Self>,
        posted_message: PostedMessage,
        used: Used,
    ) -> Result<(Response<Body>, Option<Outcome>), Refusal> {
        let PostedMessage { arrived, requests } = posted_message;
        if self.has_ended() {
            return Err(gone());
        }
        let room = Arc::clone(&self.inbox_room).try_acquire_many_owned(inbox_cost(arrived.bytes.len()));
        let room = room.map_err(|_| Refusal::busy("too many messages of this session wait to be handled"))?;
        let delivery = Delivery { arrived, _room: room };
        let Some((ids, permit)) = requests else {
            self.inbox.send(delivery).map_err(|_| gone())?;
            return Ok((body::empty(StatusCode::ACCEPTED), None));
        };
        let stream = match self.expect(&ids, &permit) {
            Ok(stream) => stream,
            Err(Some(id)) => {
                let error = errors::invalid_request("a request of this id is not answered yet");
                return Ok((body::error(StatusCode::BAD_REQUEST, ErrorId::Id(id), error), None));
            }
            Err(None) => return Err(gone()),
        };
        let mut reader = stream.go_on();
        self.inbox.send(delivery).map_err(|_| gone())?;
        let first = match tokio::time::timeout(PATIENCE, reader.next()).await {
            Ok(Some(Next::Message(_, answer, Some(outcome)))) => {
                let answer = body::holding(answer, (used, permit));
                return Ok((body::json(StatusCode::OK, answer), Some(outcome)));
            }
            Ok(None) if self.has_ended() => return Err(gone()),
            Ok(None) => return Ok((body::events(stream::empty()), None)),
            Ok(first) => first,
            Err(_) => None,
        };
        self.keep(&reader.stream);
        Ok((self.events(reader, 0, first, (used, permit)), None))
    }

    /// A stream for the answers to these requests; the id of one that has one already, or nothing if the session has ended.
    fn expect(&self, ids: &[RequestId], permit: &Permit) -> Result<Arc<Stream>, Option<RequestId>> {
        let mut streams = self.streams();
        if streams.ended {
            return Err(None);
        }
        if let Some(known) = ids.iter().find(|id| streams.waiting.contains_key(id)) {
            return Err(Some(known.clone()));
        }
        streams.count += 1;
        let stream = Stream::new(streams.count, self.replay, &self.retained);
        for id in ids {
            let (stream, permit) = (Arc::clone(&stream), Arc::clone(permit));
            let waiting = Waiting { stream, in_batch: ids.len() > 1, _permit: permit };
            streams.waiting.insert(id.clone(), waiting);
        }
        Ok(stream)
    }

    /// Keeps a stream, so that a client can resume it. Forgets the oldest one that has ended if there are too many.
    fn keep(&self, stream: &Arc<Stream>) {
        let mut streams = self.streams();
        streams.kept.push_back(Arc::clone(stream));
        if streams.kept.len() > MOST_KEPT
            && let Some(oldest) = streams.kept.iter().position(|kept| kept.has_ended())
        {
            streams.kept.remove(oldest);
        }
        drop(streams);
        self.tidy();
    }

    /// Bounds what all streams of the session retain together. Drops the oldest first.
    fn tidy(&self) {
        let excess = || self.retained.load(Ordering::SeqCst).saturating_sub(self.replay);
        if excess() == 0 {
            return;
        }
        let streams = self.streams();
        let waiting = streams.waiting.values().map(|waiting| &waiting.stream);
        for stream in streams.kept.iter().chain([&self.alone]).chain(waiting) {
            match excess() {
                0 => return,
                excess => stream.shrink(excess),
            }
        }
    }

    /// What belongs to no request, or what was missed of a stream.
    pub(super) fn listen(
        self: &Arc<Self>,
        last_event: Option<&HeaderValue>,
        used: Used,
        permit: Permit,
    ) -> Result<Response<Body>, Refusal> {
        let Some(last_event) = last_event else {
            let reader = self.alone.go_on();
            let after = reader.taken();
            return Ok(self.events(reader, after, None, (used, permit)));
        };
        let place = last_event.to_str().ok().and_then(|id| {
            let (number, event) = id.strip_prefix(&self.mark)?.strip_prefix('-')?.split_once('-')?;
            Some((number.parse::<u64>().ok()?, event.parse::<u64>().ok()?))
        });
        let Some((number, after)) = place else {
            return Err(Refusal::bad("`Last-Event-ID` is none of this server's"));
        };
        let stream = match number {
            0 => Some(Arc::clone(&self.alone)),
            _ => self.streams().kept.iter().find(|kept| kept.number == number).cloned(),
        };
        let reader = stream.and_then(|stream| stream.read(after));
        let reader = reader.ok_or_else(|| Refusal::bad("what came after this event is not kept any more"))?;
        Ok(self.events(reader, after, None, (used, permit)))
    }

    fn event_id(&self, reader: &Reader, event: u64) -> String {
        format!("{}-{}-{event}", self.mark, reader.stream.number)
    }

    /// Events for a reader; the first of them says where to go on, in the revisions that have such a one.
    fn events(
        self: &Arc<Self>,
        reader: Reader,
        after: u64,
        first: Option<Next>,
        (used, permit): (Used, Permit),
    ) -> Response<Body> {
        let mut ready = VecDeque::new();
        if self.revision().is_some_and(|revision| revision >= Revision::V2025_11_25) {
            ready.push_back(sse::event(Some(&self.event_id(&reader, after)), b""));
        }
        let told = SseWriter { reader, ready, ended: false, keep_alive: self.keep_alive, used, permit };
        body::events(told.beginning_with(first).events())
    }
}

/// The answer to whoever wants something of a session that is not there.
pub(super) fn gone() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "there is no such session, or it has ended: begin a new one")
}

/// Says which session a response belongs to.
pub(super) fn name(response: &mut Response<Body>, session: &Session) {
    if let Ok(id) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(SESSION, id);
    }
}

fn inbox_bytes(body: usize) -> usize {
    body.clamp(INBOX_BYTES, u32::MAX as usize)
}

/// What a message of this size costs in the inbox.
fn inbox_cost(size: usize) -> u32 {
    u32::try_from(size.max(MESSAGE_COST)).unwrap_or(u32::MAX)
}

/// While a session is used: it is not idle, and not evicted.
pub(super) struct Used(pub(super) Arc<Session>);

impl Used {
    pub(super) fn by(session: &Arc<Session>) -> Self {
        session.open.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(session))
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        *self.0.used.lock() = Instant::now();
        self.0.open.fetch_sub(1, Ordering::SeqCst);
        self.0.tidy();
    }
}

/// What is told to one reader.
struct SseWriter {
    /// Dropped before `used`, which bounds what the stream retains without a reader.
    reader: Reader,
    ready: VecDeque<Bytes>,
    ended: bool,
    keep_alive: Duration,
    used: Used,
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
                // The response ends with the answer, perhaps before it is written.
                let holds = outcome.is_some();
                self.ready.push_back(if holds { body::holding(event, Arc::clone(&self.permit)) } else { event });
                self.used.0.tidy();
            }
            Next::Later(after) => {
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
