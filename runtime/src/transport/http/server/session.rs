//! Sessions: the connections of the revisions until 2025-11-25, of which each message is a request of its own.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream as Events, StreamExt, stream};
use http::{HeaderValue, Response, StatusCode};
use mcpgen_types::{ErrorId, RequestId, Revision};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::body::{self, Body};
use super::door::Refusal;
use super::stream::{Next, Reader, Stream};
use super::{Options, Permit};
use crate::connection::{Arrived, Connection};
use crate::era::Era;
use crate::errors;
use crate::legacy::Legacy;
use crate::outbox::{Line, Lines, Outcome, Place};
use crate::router::{Requests, Router};
use crate::transport::ReceiveError;
use crate::transport::http::fields::SESSION;
use crate::transport::http::sse;

/// How long an answer is waited for before the response becomes a stream.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long a session is kept that nobody goes on with.
const UNTOUCHED: Duration = Duration::from_secs(60);

/// How many streams are kept for whoever comes back to them.
const MOST_KEPT: usize = 256;

/// One client.
pub(super) struct Session {
    pub(super) id: String,
    /// Whose it is.
    pub(super) owner: String,
    /// What the ids of its events begin with: those of another session are none of its own.
    mark: String,
    era: Arc<Legacy>,
    inbox: mpsc::Sender<Result<Arrived, ReceiveError>>,
    streams: Mutex<Streams>,
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
pub(super) struct Parcel {
    pub(super) arrived: Arrived,
    /// The ids of the requests in it.
    pub(super) ids: Vec<RequestId>,
}

impl Session {
    /// A session, and what runs it until it ends.
    pub(super) fn begin<S: Requests>(
        (id, mark): (String, String),
        owner: String,
        era: Legacy,
        (service, handlers): (S, Router),
        options: &Options,
        end: CancellationToken,
    ) -> (Arc<Self>, impl Future<Output = ()> + Send + use<S>) {
        let (inbox, arrived) = mpsc::channel(16);
        let era = Arc::new(era);
        let session = Arc::new(Self {
            id,
            mark,
            owner,
            era: Arc::clone(&era),
            inbox,
            streams: Mutex::default(),
            alone: Stream::new(0, options.replay),
            open: AtomicUsize::new(0),
            touched: AtomicBool::new(false),
            used: Mutex::new(Instant::now()),
            end,
            replay: options.replay,
            keep_alive: options.keep_alive,
        });
        let connection = Connection::new(service, handlers, era, options.limits.clone());
        (Arc::clone(&session), session.run(connection, arrived, options.idle))
    }

    async fn run<S: Requests>(
        self: Arc<Self>,
        connection: Connection<S>,
        mut arrived: mpsc::Receiver<Result<Arrived, ReceiveError>>,
        idle: Duration,
    ) {
        let arrived = stream::poll_fn(move |context| arrived.poll_recv(context));
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
            let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
            let is_open = self.open.load(Ordering::SeqCst) > 0;
            match used.checked_add(idle) {
                Some(until) if !is_open && until <= Instant::now() => return,
                Some(until) if !is_open => tokio::time::sleep_until(until).await,
                _ => tokio::time::sleep(idle.clamp(Duration::from_millis(10), UNTOUCHED)).await,
            }
        }
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The revision that was agreed on, once it was.
    pub(super) fn revision(&self) -> Option<Revision> {
        self.era.about().map(|about| about.revision)
    }

    /// Whether several messages may come at once.
    pub(super) fn takes_batches(&self) -> bool {
        self.era.batches()
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
                        stream.push(message.bytes, Some(outcome), room);
                        self.tidy(&mut self.streams());
                    }
                }
                Place::Unanswered(id) => {
                    if let Some(stream) = self.answered(&id) {
                        stream.end();
                    }
                }
            }
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

    /// Takes what a client has sent to whoever it is for, and answers as soon as there is something to say.
    pub(super) async fn post(
        self: &Arc<Self>,
        parcel: Parcel,
        permit: Permit,
    ) -> Result<(Response<Body>, Option<Outcome>), Refusal> {
        let used = Used::by(self, Arc::clone(&permit));
        // From here to where it is sent nothing waits: whoever goes away meanwhile leaves nothing behind.
        let place = self.inbox.reserve().await.map_err(|_| gone())?;
        if self.has_ended() {
            return Err(gone());
        }
        if parcel.ids.is_empty() {
            place.send(Ok(parcel.arrived));
            return Ok((body::empty(StatusCode::ACCEPTED), None));
        }
        let stream = match self.expect(&parcel.ids, &permit) {
            Ok(stream) => stream,
            Err(Some(id)) => {
                let error = errors::invalid_request("a request of this id is not answered yet");
                return Ok((body::error(StatusCode::BAD_REQUEST, ErrorId::Id(id), error), None));
            }
            Err(None) => return Err(gone()),
        };
        let mut reader = stream.go_on();
        place.send(Ok(parcel.arrived));
        let first = match tokio::time::timeout(PATIENCE, reader.next()).await {
            Ok(Some(Next::Message(_, answer, Some(outcome)))) => {
                return Ok((body::json(StatusCode::OK, answer), Some(outcome)));
            }
            Ok(None) if self.has_ended() => return Err(gone()),
            Ok(None) => return Ok((body::events(stream::empty()), None)),
            Ok(first) => first,
            Err(_) => None,
        };
        self.keep(&reader.stream);
        Ok((self.events(reader, 0, first, used), None))
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
        let stream = Stream::new(streams.count, self.replay);
        for id in ids {
            let (stream, permit) = (Arc::clone(&stream), Arc::clone(permit));
            let waiting = Waiting { stream, in_batch: ids.len() > 1, _permit: permit };
            streams.waiting.insert(id.clone(), waiting);
        }
        Ok(stream)
    }

    /// From now on the stream can be come back to.
    fn keep(&self, stream: &Arc<Stream>) {
        let mut streams = self.streams();
        streams.kept.push_back(Arc::clone(stream));
        self.tidy(&mut streams);
    }

    /// Forgets streams that are over, the oldest first, but for the last one.
    fn tidy(&self, streams: &mut Streams) {
        let over = || streams.kept.iter().filter(|kept| kept.has_ended());
        let (mut bytes, mut count) = (over().map(|kept| kept.bytes()).sum::<usize>(), over().count());
        while count > 1 && (bytes > self.replay || count > MOST_KEPT) {
            let Some(oldest) = streams.kept.iter().position(|kept| kept.has_ended()) else { return };
            bytes -= streams.kept.remove(oldest).map_or(0, |kept| kept.bytes());
            count -= 1;
        }
    }

    /// What belongs to no request, or what was missed of a stream.
    pub(super) fn listen(
        self: &Arc<Self>,
        last_event: Option<&HeaderValue>,
        permit: Permit,
    ) -> Result<Response<Body>, Refusal> {
        let used = Used::by(self, permit);
        let Some(last_event) = last_event else {
            let reader = self.alone.go_on();
            let after = reader.taken();
            return Ok(self.events(reader, after, None, used));
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
        Ok(self.events(reader, after, None, used))
    }

    fn event_id(&self, reader: &Reader, event: u64) -> String {
        format!("{}-{}-{event}", self.mark, reader.stream.number)
    }

    /// Events for a reader; the first of them says where to go on, in the revisions that have such a one.
    fn events(self: &Arc<Self>, reader: Reader, after: u64, first: Option<Next>, used: Used) -> Response<Body> {
        let mut ready = VecDeque::new();
        if self.revision().is_some_and(|revision| revision >= Revision::V2025_11_25) {
            ready.push_back(sse::event(Some(&self.event_id(&reader, after)), b""));
        }
        let told = Telling { reader, ready, ended: false, keep_alive: self.keep_alive, used };
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

/// While a session is used.
pub(super) struct Used {
    session: Arc<Session>,
    _permit: Permit,
}

impl Used {
    fn by(session: &Arc<Session>, permit: Permit) -> Self {
        session.open.fetch_add(1, Ordering::SeqCst);
        Self { session: Arc::clone(session), _permit: permit }
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        *self.session.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.session.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What is told to one reader.
struct Telling {
    reader: Reader,
    ready: VecDeque<Bytes>,
    ended: bool,
    keep_alive: Duration,
    used: Used,
}

impl Telling {
    fn beginning_with(mut self, first: Option<Next>) -> Self {
        if let Some(first) = first {
            self.add(first);
        }
        self
    }

    fn add(&mut self, next: Next) {
        match next {
            Next::Message(number, message, _) => {
                let id = self.used.session.event_id(&self.reader, number);
                self.ready.push_back(sse::event(Some(&id), &message));
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
