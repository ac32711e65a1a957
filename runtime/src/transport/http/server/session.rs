//! Sessions: the connections of the revisions until 2025-11-25, of which each message is a request of its own.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream as Events, StreamExt, stream};
use http::{HeaderValue, Response, StatusCode};
use mcpgen_types::{ErrorId, RequestId, Revision};
use tokio::sync::mpsc;
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

/// How many streams are kept for whoever comes back to them.
const MOST_KEPT: usize = 256;

/// One client.
pub(super) struct Session {
    pub(super) id: String,
    /// Whose it is.
    pub(super) owner: String,
    era: Arc<Legacy>,
    inbox: mpsc::Sender<Result<Arrived, ReceiveError>>,
    streams: Mutex<Streams>,
    /// What belongs to no request.
    alone: Arc<Stream>,
    /// HTTP requests that are open, and when the last one ended.
    open: AtomicUsize,
    used: Mutex<Instant>,
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
        id: String,
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
            owner,
            era: Arc::clone(&era),
            inbox,
            streams: Mutex::default(),
            alone: Stream::new(0, options.replay),
            open: AtomicUsize::new(0),
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
            let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
            let busy = self.open.load(Ordering::SeqCst) > 0 || !self.streams().waiting.is_empty();
            match used.checked_add(idle) {
                Some(until) if !busy && until <= Instant::now() => return,
                Some(until) if !busy => tokio::time::sleep_until(until).await,
                Some(_) => tokio::time::sleep(idle.max(Duration::from_millis(10))).await,
                None => std::future::pending().await,
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
                Place::Anywhere => self.alone.push(message.bytes, None, room),
                Place::Within(id) => {
                    let stream = self.streams().waiting.get(&id).map(|waiting| Arc::clone(&waiting.stream));
                    stream.as_ref().unwrap_or(&self.alone).push(message.bytes, None, room);
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

    /// The stream of a request that has its answer now. The requests of a batch have one answer.
    fn answered(&self, id: &RequestId) -> Option<Arc<Stream>> {
        let mut streams = self.streams();
        let Waiting { stream, in_batch } = streams.waiting.remove(id)?;
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
        let used = Used::by(self, permit);
        if parcel.ids.is_empty() {
            self.put(parcel.arrived).await?;
            return Ok((body::empty(StatusCode::ACCEPTED), None));
        }
        let stream = match self.expect(&parcel.ids) {
            Ok(stream) => stream,
            Err(Some(id)) => {
                let error = errors::invalid_request("a request of this id is not answered yet");
                return Ok((body::error(StatusCode::BAD_REQUEST, ErrorId::Id(id), error), None));
            }
            Err(None) => return Err(gone()),
        };
        let mut reader = stream.go_on();
        self.put(parcel.arrived).await?;
        let first = match tokio::time::timeout(PATIENCE, reader.next()).await {
            Ok(Some(Next::Message(_, answer, Some(outcome)))) => {
                return Ok((body::json(StatusCode::OK, answer), Some(outcome)));
            }
            Ok(None) => return Ok((body::events(stream::empty()), None)),
            Ok(first) => first,
            Err(_) => None,
        };
        self.keep(&reader.stream);
        Ok((self.events(reader, 0, first, used), None))
    }

    async fn put(&self, arrived: Arrived) -> Result<(), Refusal> {
        self.inbox.send(Ok(arrived)).await.map_err(|_| gone())
    }

    /// A stream for the answers to these requests; the id of one that has one already, or nothing if the session has ended.
    fn expect(&self, ids: &[RequestId]) -> Result<Arc<Stream>, Option<RequestId>> {
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
            let waiting = Waiting { stream: Arc::clone(&stream), in_batch: ids.len() > 1 };
            streams.waiting.insert(id.clone(), waiting);
        }
        Ok(stream)
    }

    /// From now on the stream can be come back to. Others that have ended are forgotten for it, the oldest first.
    fn keep(&self, stream: &Arc<Stream>) {
        let mut streams = self.streams();
        streams.kept.push_back(Arc::clone(stream));
        let ended = || streams.kept.iter().filter(|kept| kept.has_ended());
        let (mut bytes, mut count) = (ended().map(|kept| kept.bytes()).sum::<usize>(), ended().count());
        while bytes > self.replay || count > MOST_KEPT {
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
            let (number, event) = id.split_once('-')?;
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

    /// Events for a reader; the first of them says where to go on, in the revisions that have such a one.
    fn events(self: &Arc<Self>, reader: Reader, after: u64, first: Option<Next>, used: Used) -> Response<Body> {
        let mut ready = VecDeque::new();
        if self.revision().is_some_and(|revision| revision >= Revision::V2025_11_25) {
            ready.push_back(sse::event(Some(&event_id(&reader, after)), b""));
        }
        let told = Telling { reader, ready, ended: false, keep_alive: self.keep_alive, _used: used };
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

fn event_id(reader: &Reader, event: u64) -> String {
    format!("{}-{event}", reader.stream.number)
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
    _used: Used,
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
                self.ready.push_back(sse::event(Some(&event_id(&self.reader, number)), &message));
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
