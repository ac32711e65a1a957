//! Writes a session's events to the store that the replicas share.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mcpgen_mcp::replicas::{EventStore, StoreError, StoredEvent, StreamId};
use mcpgen_types::RequestId;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

/// Writes events in order, in the background. Clones write for the same session.
#[derive(Clone)]
pub(super) struct EventWriter(Arc<Queue>);

struct Queue {
    session: String,
    store: Arc<dyn EventStore>,
    /// The queue of jobs. Created by the first event, because many sessions have none.
    queue: Mutex<Option<mpsc::UnboundedSender<Job>>>,
    /// Bytes in the queue. Each job counts as at least [`EVENT_COST`].
    bytes: Arc<AtomicUsize>,
    max_bytes: usize,
    /// Streams with an event that was dropped because the queue was full. Their earlier events must be removed from the
    /// store, so that the stored events have no gaps.
    gaps: Mutex<HashSet<u64>>,
    /// Set when the session ends here, after which another replica may write its events.
    is_closed: Arc<AtomicBool>,
}

enum Job {
    /// Creates the stream, then sends a signal through the channel.
    Open(u64, Arc<[RequestId]>, oneshot::Sender<()>),
    Append(u64, Arc<[RequestId]>, StoredEvent),
    Remove(u64),
}

/// The minimum size that a job counts as, in bytes. This also limits the number of jobs.
const EVENT_COST: usize = 256;

/// The pause after a failed write. Doubles with each failure, up to [`MAX_DELAY`].
const DELAY: Duration = Duration::from_millis(50);
const MAX_DELAY: Duration = Duration::from_secs(2);

impl EventWriter {
    /// Creates a writer that queues at most `max_bytes` while the store is unavailable.
    pub(super) fn new(session: String, store: Arc<dyn EventStore>, max_bytes: usize) -> Self {
        Self(Arc::new(Queue {
            session,
            store,
            queue: Mutex::default(),
            bytes: Arc::default(),
            max_bytes,
            gaps: Mutex::default(),
            is_closed: Arc::default(),
        }))
    }

    /// Creates a stream, so that clients can resume it before its first event. Completes when the stream is stored, or
    /// with an error if the session ends first or the queue is full.
    pub(super) fn open(&self, stream: u64, requests: &Arc<[RequestId]>) -> oneshot::Receiver<()> {
        let (sender, stored) = oneshot::channel();
        if self.reserve(EVENT_COST) {
            self.push(Job::Open(stream, Arc::clone(requests), sender));
        }
        stored
    }

    pub(super) fn write(&self, stream: u64, requests: &Arc<[RequestId]>, event: StoredEvent) {
        if !self.reserve(cost(&event)) {
            if self.0.gaps.lock().insert(stream) {
                tracing::warn!("the event store is too slow; clients may have to repeat requests if this replica dies");
            }
            return;
        }
        if self.0.gaps.lock().remove(&stream) {
            self.0.bytes.fetch_add(EVENT_COST, Ordering::SeqCst);
            self.push(Job::Remove(stream));
        }
        self.push(Job::Append(stream, Arc::clone(requests), event));
    }

    /// Removes a stream that no client can resume. If the queue is full, the stream stays in the store until it is one
    /// of the session's oldest or the session ends.
    pub(super) fn remove(&self, stream: u64) {
        self.0.gaps.lock().remove(&stream);
        if self.reserve(EVENT_COST) {
            self.push(Job::Remove(stream));
        }
    }

    /// Reserves room for a job in the queue. Returns `false` if the job does not fit.
    fn reserve(&self, cost: usize) -> bool {
        let most = self.0.max_bytes.max(cost);
        let add = |bytes: usize| bytes.checked_add(cost).filter(|bytes| *bytes <= most);
        self.0.bytes.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add).is_ok()
    }

    pub(super) fn close(&self) {
        self.0.is_closed.store(true, Ordering::SeqCst);
        *self.0.queue.lock() = None;
    }

    fn push(&self, job: Job) {
        if self.0.is_closed.load(Ordering::SeqCst) {
            return;
        }
        let mut queue = self.0.queue.lock();
        if queue.is_none() {
            // Without a runtime, the process is shutting down.
            let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
            let (sender, jobs) = mpsc::unbounded_channel();
            runtime.spawn(self.worker().run(jobs));
            *queue = Some(sender);
        }
        if let Some(sender) = &*queue {
            // Fails only if the runtime has shut down.
            let _ = sender.send(job);
        }
    }

    fn worker(&self) -> Worker {
        let Queue { session, store, bytes, is_closed, .. } = &*self.0;
        Worker {
            session: session.clone(),
            store: Arc::clone(store),
            bytes: Arc::clone(bytes),
            is_closed: Arc::clone(is_closed),
        }
    }
}

impl fmt::Debug for EventWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventWriter").finish_non_exhaustive()
    }
}

fn cost(event: &StoredEvent) -> usize {
    event.message.len().max(EVENT_COST)
}

/// Encodes IDs as JSON text.
fn texts(requests: &[RequestId]) -> Vec<String> {
    requests.iter().map(mcpgen_types::to_string).collect()
}

struct Worker {
    session: String,
    store: Arc<dyn EventStore>,
    bytes: Arc<AtomicUsize>,
    is_closed: Arc<AtomicBool>,
}

impl Worker {
    async fn run(self, mut jobs: mpsc::UnboundedReceiver<Job>) {
        let mut next = None;
        loop {
            let job = match next.take() {
                Some(job) => job,
                None => match jobs.recv().await {
                    Some(job) => job,
                    None => return,
                },
            };
            match job {
                Job::Remove(number) => {
                    let stream = self.stream(number);
                    self.retry(|| self.store.remove_stream(&stream)).await;
                    self.bytes.fetch_sub(EVENT_COST, Ordering::SeqCst);
                }
                Job::Open(number, requests, stored) => {
                    let (stream, requests) = (self.stream(number), texts(&requests));
                    self.retry(|| self.store.append(&stream, &requests, Vec::new())).await;
                    self.bytes.fetch_sub(EVENT_COST, Ordering::SeqCst);
                    // Fails if nobody waits any more.
                    let _ = stored.send(());
                }
                Job::Append(number, requests, event) => {
                    let mut events = vec![event];
                    // Writes consecutive events of a stream together.
                    while let Ok(job) = jobs.try_recv() {
                        match job {
                            Job::Append(other, _, event) if other == number => events.push(event),
                            job => {
                                next = Some(job);
                                break;
                            }
                        }
                    }
                    let costs: usize = events.iter().map(cost).sum();
                    let (stream, requests) = (self.stream(number), texts(&requests));
                    self.retry(|| self.store.append(&stream, &requests, events.clone())).await;
                    self.bytes.fetch_sub(costs, Ordering::SeqCst);
                }
            }
        }
    }

    fn stream(&self, number: u64) -> StreamId {
        StreamId { session: self.session.clone(), number }
    }

    /// Retries until the operation succeeds or the session has ended.
    async fn retry<F: Future<Output = Result<(), StoreError>>>(&self, operation: impl Fn() -> F) {
        let mut delay = DELAY;
        while let Err(error) = operation().await {
            if self.is_closed.load(Ordering::SeqCst) {
                return;
            }
            tracing::debug!(%error, "failed to write events; trying again");
            tokio::time::sleep(delay).await;
            delay = (2 * delay).min(MAX_DELAY);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;

    use super::*;
    use mcpgen_mcp::replicas::StoredStream;

    /// A store that can be made unavailable, and counts its operations.
    #[derive(Default)]
    struct Switched {
        is_available: AtomicBool,
        operations: AtomicUsize,
    }

    impl Switched {
        fn operation(&self) -> BoxFuture<'_, Result<(), StoreError>> {
            let is_available = self.is_available.load(Ordering::SeqCst);
            self.operations.fetch_add(usize::from(is_available), Ordering::SeqCst);
            let result = if is_available { Ok(()) } else { Err(StoreError::unavailable("switched off")) };
            std::future::ready(result).boxed()
        }
    }

    impl EventStore for Switched {
        fn append<'a>(
            &'a self,
            _: &'a StreamId,
            _: &'a [String],
            _: Vec<StoredEvent>,
        ) -> BoxFuture<'a, Result<(), StoreError>> {
            self.operation()
        }

        fn streams<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<StoredStream>, StoreError>> {
            std::future::ready(Ok(Vec::new())).boxed()
        }

        fn remove_stream<'a>(&'a self, _: &'a StreamId) -> BoxFuture<'a, Result<(), StoreError>> {
            self.operation()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn queues_a_limited_number_of_jobs_while_the_store_is_unavailable() {
        const JOBS: usize = 20;
        let store = Arc::new(Switched::default());
        let writer = EventWriter::new("s".to_owned(), store.clone(), JOBS * EVENT_COST);
        let mut opened = Vec::new();
        for number in 1..=1000 {
            opened.push(writer.open(number, &Arc::from([])));
            writer.write(number, &Arc::from([]), StoredEvent { number: 1, message: "x".into(), is_last: true });
            writer.remove(number);
        }
        let bytes = || writer.0.bytes.load(Ordering::SeqCst);
        assert_eq!(bytes(), JOBS * EVENT_COST);
        store.is_available.store(true, Ordering::SeqCst);
        while bytes() > 0 {
            tokio::time::sleep(DELAY).await;
        }
        assert!((1..=JOBS).contains(&store.operations.load(Ordering::SeqCst)));
        assert!(opened.remove(0).await.is_ok());
        assert!(opened.pop().expect("the last one").await.is_err(), "the queue was full");
        // There is room again.
        assert!(writer.open(2000, &Arc::from([])).await.is_ok());
    }
}
