//! In-memory stores, shared by replicas in one process.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, ready};
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use mcpgen_mcp::protocol::change::Change;
use mcpgen_mcp::replicas::{
    Answer, BusEvent, ChangeBus, EventStore, ExchangeBus, ForwardedRequest, ForwardedResponse, Home, JournalEntry,
    SessionStore, StoreError, StoredEvent, StoredSession, StoredStream, StreamId,
};

/// How far a subscriber may lag.
const CHANGES: usize = 1024;

/// The memory that replicas in one process share, for tests and for trying out several replicas.
///
/// ```
/// use mcpgen_cluster::MemoryHub;
/// use mcpgen_sdk::replicas::Replicas;
///
/// let hub = MemoryHub::new(10_000, 256 << 10);
/// let replicas: Vec<_> = (0..3).map(|_| Replicas::new(hub.replica())).collect();
/// # assert_eq!(replicas.len(), 3);
/// ```
#[derive(Clone)]
pub struct MemoryHub(Arc<Hub>);

impl fmt::Debug for MemoryHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryHub").field("max_sessions", &self.0.max_sessions).finish_non_exhaustive()
    }
}

struct Hub {
    max_sessions: usize,
    max_bytes: usize,
    state: Mutex<State>,
    /// Changes, each with the ID of the replica that published it.
    changes: broadcast::Sender<(String, Change)>,
}

#[derive(Default)]
struct State {
    sessions: HashMap<String, Entry>,
    replicas: HashMap<String, Replica>,
    next_replica: u64,
}

struct Entry {
    session: StoredSession,
    home: String,
    until: Instant,
    streams: BTreeMap<u64, StoredStream>,
}

#[derive(Clone)]
struct Replica {
    answer: Option<Arc<Answer>>,
    died: CancellationToken,
}

impl MemoryHub {
    /// Creates a hub for at most `max_sessions` sessions. Each stream keeps its latest events, up to `max_bytes` bytes.
    #[must_use]
    pub fn new(max_sessions: usize, max_bytes: usize) -> Self {
        let (changes, _) = broadcast::channel(CHANGES);
        Self(Arc::new(Hub { max_sessions, max_bytes, state: Mutex::default(), changes }))
    }

    /// Creates the stores of a new replica. The replica dies when all clones are dropped, or with
    /// [`SessionStore::leave`].
    #[must_use]
    pub fn replica(&self) -> MemoryStores {
        let mut state = self.0.state.lock();
        state.next_replica += 1;
        let id = format!("replica-{}", state.next_replica);
        state.replicas.insert(id.clone(), Replica { answer: None, died: CancellationToken::new() });
        drop(state);
        MemoryStores(Arc::new(Member { hub: Arc::clone(&self.0), id }))
    }
}

/// One replica's stores in a [`MemoryHub`]. Clones belong to the same replica.
#[derive(Clone)]
pub struct MemoryStores(Arc<Member>);

impl fmt::Debug for MemoryStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStores").field("replica", &self.0.id).finish_non_exhaustive()
    }
}

struct Member {
    hub: Arc<Hub>,
    id: String,
}

impl MemoryStores {
    /// Runs `work` on the state, without sessions that have expired.
    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> BoxFuture<'static, T>
    where
        T: Send + 'static,
    {
        let mut state = self.0.hub.state.lock();
        let now = Instant::now();
        state.sessions.retain(|_, entry| entry.until > now);
        ready(work(&mut state)).boxed()
    }
}

impl Member {
    fn die(&self) {
        if let Some(replica) = self.hub.state.lock().replicas.remove(&self.id) {
            replica.died.cancel();
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.die();
    }
}

impl SessionStore for MemoryStores {
    fn create<'a>(&'a self, session: StoredSession, lifetime: Duration) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.with(|state| {
            if state.sessions.contains_key(&session.id) {
                return Ok(false);
            }
            if state.sessions.len() >= self.0.hub.max_sessions {
                return Err(StoreError::full());
            }
            let until = Instant::now() + lifetime;
            let entry = Entry { home: self.0.id.clone(), until, streams: BTreeMap::new(), session };
            state.sessions.insert(entry.session.id.clone(), entry);
            Ok(true)
        })
    }

    fn locate<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Home>, StoreError>> {
        self.with(|state| {
            let Some(entry) = state.sessions.get_mut(id) else { return Ok(None) };
            if entry.home != self.0.id && state.replicas.contains_key(&entry.home) {
                return Ok(Some(Home::Replica(entry.home.clone())));
            }
            entry.home.clone_from(&self.0.id);
            entry.session.epoch += 1;
            Ok(Some(Home::Here(entry.session.clone())))
        })
    }

    fn record<'a>(&'a self, id: &'a str, entry: JournalEntry) -> BoxFuture<'a, Result<(), StoreError>> {
        self.with(|state| {
            let stored = state.sessions.get_mut(id).filter(|stored| stored.home == self.0.id);
            let stored = stored.ok_or_else(|| StoreError::unavailable(NOT_HOME))?;
            stored.session.record(entry);
            Ok(())
        })
    }

    fn renew<'a>(&'a self, ids: &'a [String], lifetime: Duration) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        self.with(|state| {
            let until = Instant::now() + lifetime;
            let is_lost = |id: &&String| match state.sessions.get_mut(*id).filter(|entry| entry.home == self.0.id) {
                Some(entry) => {
                    entry.until = until;
                    false
                }
                None => true,
            };
            Ok(ids.iter().filter(is_lost).cloned().collect())
        })
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.with(|state| {
            state.sessions.remove(id);
            Ok(())
        })
    }

    fn leave(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.die();
        ready(Ok(())).boxed()
    }
}

const NOT_HOME: &str = "another replica runs the session";

impl EventStore for MemoryStores {
    fn append<'a>(
        &'a self,
        stream: &'a StreamId,
        requests: &'a [String],
        events: Vec<StoredEvent>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.with(|state| {
            let Some(entry) = state.sessions.get_mut(&stream.session) else { return Ok(()) };
            if entry.home != self.0.id {
                return Err(StoreError::unavailable(NOT_HOME));
            }
            let number = stream.number;
            let stored = entry.streams.entry(number).or_insert_with(|| StoredStream {
                number,
                requests: requests.to_vec(),
                events: Vec::new(),
                dropped: 0,
            });
            if let Some(first) = events.first().filter(|_| stored.events.is_empty() && stored.dropped == 0) {
                stored.dropped = first.number.saturating_sub(1);
            }
            for event in events {
                if event.number > stored.events.last().map_or(stored.dropped, |last| last.number) {
                    stored.events.push(event);
                }
            }
            let mut bytes: usize = stored.events.iter().map(|event| event.message.len()).sum();
            while bytes > self.0.hub.max_bytes {
                let first = stored.events.remove(0);
                bytes -= first.message.len();
                stored.dropped = first.number;
            }
            Ok(())
        })
    }

    fn streams<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<StoredStream>, StoreError>> {
        self.with(|state| {
            let entry = state.sessions.get(session);
            Ok(entry.map(|entry| entry.streams.values().cloned().collect()).unwrap_or_default())
        })
    }

    fn remove_stream<'a>(&'a self, stream: &'a StreamId) -> BoxFuture<'a, Result<(), StoreError>> {
        self.with(|state| {
            if let Some(entry) = state.sessions.get_mut(&stream.session) {
                entry.streams.remove(&stream.number);
            }
            Ok(())
        })
    }
}

impl ChangeBus for MemoryStores {
    fn publish<'a>(&'a self, change: &'a Change) -> BoxFuture<'a, Result<(), StoreError>> {
        // Fails only if there are no subscribers.
        let _ = self.0.hub.changes.send((self.0.id.clone(), change.clone()));
        ready(Ok(())).boxed()
    }

    fn subscribe(&self) -> BoxStream<'static, BusEvent> {
        stream::unfold((self.0.hub.changes.subscribe(), self.0.id.clone()), |(mut changes, own)| async move {
            loop {
                let event = match changes.recv().await {
                    Ok((replica, _)) if replica == own => continue,
                    Ok((_, change)) => BusEvent::Change(change),
                    Err(broadcast::error::RecvError::Lagged(_)) => BusEvent::Missed,
                    Err(broadcast::error::RecvError::Closed) => return None,
                };
                return Some((event, (changes, own)));
            }
        })
        .boxed()
    }
}

impl ExchangeBus for MemoryStores {
    fn forward<'a>(
        &'a self,
        replica: &'a str,
        request: ForwardedRequest,
    ) -> BoxFuture<'a, Result<ForwardedResponse, StoreError>> {
        let known = self.0.hub.state.lock().replicas.get(replica).cloned();
        async move {
            const GONE: &str = "the replica that runs the session has died";
            let gone = || StoreError::unavailable(GONE);
            let Replica { answer, died } = known.ok_or_else(|| StoreError::undelivered(GONE))?;
            let answer = answer.ok_or_else(|| StoreError::undelivered("the replica does not accept requests"))?;
            let response = tokio::select! {
                response = answer(request) => response,
                () = died.cancelled() => return Err(gone()),
            };
            let ForwardedResponse { status, headers, frames, .. } = response;
            let ended = stream::once(async move {
                died.cancelled().await;
                Err(gone())
            });
            // Ends with an error if the replica dies, and without one after the last frame.
            let frames = frames.map(Some).chain(stream::once(ready(None)));
            let frames = stream::select(frames, ended.map(Some));
            let frames = frames.flat_map(|frame| {
                let end = (!matches!(frame, Some(Ok(_)))).then_some(None);
                stream::iter([Some(frame), end].into_iter().flatten())
            });
            let frames = frames.scan((), |(), frame| ready(frame));
            Ok(ForwardedResponse::new(status, headers, frames.boxed()))
        }
        .boxed()
    }

    fn answer(&self, answer: Answer) {
        if let Some(replica) = self.0.hub.state.lock().replicas.get_mut(&self.0.id) {
            replica.answer = Some(Arc::new(answer));
        }
    }
}
