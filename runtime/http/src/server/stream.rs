//! A stream of messages that clients can resume.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use mcpgen_mcp::replicas::{StoredEvent, StoredStream};
use mcpgen_runtime::transport::{OutboxPermit, Outcome};
use mcpgen_types::{ErrorCode, ErrorId, ErrorMessage, ErrorObject, RequestId};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, oneshot};

use super::budget::Charge;
use super::event_writer::EventWriter;

/// The messages of one request, or those that belong to no request.
///
/// Delivered messages are retained, up to a number of bytes, for a client that resumes. While a reader is attached,
/// undelivered messages hold their permits in the outbox, so that senders wait. Without a reader, they are retained
/// instead.
#[derive(Debug)]
pub(super) struct Stream {
    /// Part of the event IDs.
    pub(super) number: u64,
    /// The maximum number of bytes to retain.
    replay: usize,
    /// Bytes of all streams of the session.
    total: Arc<SessionBytes>,
    /// Writes events to the replicas' store.
    writer: Option<StreamWriter>,
    state: Mutex<State>,
    changed: Notify,
}

/// Bytes of all streams of a session.
#[derive(Debug)]
pub(super) struct SessionBytes {
    /// What the streams retain for clients that resume.
    retained: AtomicUsize,
    /// All bytes of the streams, as part of the endpoint's budget.
    memory: Charge,
}

impl SessionBytes {
    pub(super) fn new(memory: Charge) -> Arc<Self> {
        Arc::new(Self { retained: AtomicUsize::new(0), memory })
    }

    pub(super) fn retained(&self) -> usize {
        self.retained.load(Ordering::SeqCst)
    }

    /// Stops counting toward the endpoint's budget, because the session ends.
    pub(super) fn release(&self) {
        self.memory.remove(usize::MAX);
    }
}

#[cfg(test)]
impl SessionBytes {
    pub(super) fn of_budget(bytes: usize) -> Arc<Self> {
        use super::{budget::Budget, quota::Kind};
        let budget = Budget::new("session_memory", bytes, Kind::SessionBytes, &Arc::default());
        Self::new(budget.charge_existing(None, 0))
    }
}

/// Writes one stream's events to the replicas' store.
#[derive(Clone, Debug)]
pub(super) struct StreamWriter {
    pub(super) events: EventWriter,
    /// The requests that the stream responds to.
    pub(super) requests: Arc<[RequestId]>,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Event>,
    bytes: usize,
    /// Bytes of retained events: the delivered ones, or all of them without a reader.
    retained: usize,
    /// Number of the last dropped event. Later events are all available.
    dropped: u64,
    /// Number of the last event. Events are numbered from 1; 0 means before the first.
    last: u64,
    /// Number of the last delivered event.
    delivered: u64,
    /// Number of the current reader. A new reader replaces the previous one.
    reader: u64,
    is_read: bool,
    /// Tells the reader to disconnect and to reconnect after this delay.
    retry: Option<Duration>,
    ended: bool,
    /// Whether events are also written to the store.
    is_stored: bool,
}

#[derive(Debug)]
struct Event {
    number: u64,
    message: Bytes,
    response: Option<ResponseInfo>,
    room: Option<OutboxPermit>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ResponseInfo {
    pub(super) id: RequestId,
    pub(super) outcome: Outcome,
}

#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// A message with its number, and the outcome if it is a response.
    Message(u64, Bytes, Option<Outcome>),
    /// Disconnect, and reconnect after this delay.
    Retry(Duration),
}

impl Stream {
    /// Creates a stream that retains at most `replay` bytes, which it adds to `total`. `writer` is used once
    /// [`store`](Self::store) is called.
    pub(super) fn new(
        number: u64,
        replay: usize,
        total: &Arc<SessionBytes>,
        writer: Option<StreamWriter>,
    ) -> Arc<Self> {
        let total = Arc::clone(total);
        Arc::new(Self { number, replay, total, writer, state: Mutex::default(), changed: Notify::new() })
    }

    /// Continues the stream of a replica that has died. The next event gets a number that the other replica has not
    /// used.
    pub(super) fn restore(
        stored: StoredStream,
        replay: usize,
        total: &Arc<SessionBytes>,
        writer: Option<StreamWriter>,
    ) -> Arc<Self> {
        let StoredStream { number, events, dropped, .. } = stored;
        let stream = Self::new(number, replay, total, writer);
        stream.change(|state| {
            let last = events.last();
            state.ended = last.is_some_and(|last| last.is_last);
            // The other replica may have sent events that it could not store.
            state.last = last.map_or(dropped, |last| last.number) + UNSTORED_EVENTS;
            state.dropped = dropped;
            state.is_stored = stream.writer.is_some();
            for StoredEvent { number, message, .. } in events {
                // An empty message merely marks the end.
                if !message.is_empty() {
                    state.bytes += message.len();
                    state.retained += message.len();
                    state.events.push_back(Event { number, message, response: None, room: None });
                }
            }
        });
        stream
    }

    /// Writes available and later events to the store, so that clients can resume the stream on another replica.
    /// Completes when the store knows the stream. `None` if there is nothing to wait for.
    pub(super) fn store(&self) -> Option<oneshot::Receiver<()>> {
        let writer = self.writer.as_ref()?;
        let mut state = self.state();
        if std::mem::replace(&mut state.is_stored, true) {
            return None;
        }
        // Stream 0 always exists.
        let stored = (self.number != 0).then(|| writer.events.open(self.number, &writer.requests));
        for event in &state.events {
            writer.write(self.number, event);
        }
        if state.ended && state.events.back().is_none_or(|last| last.response.is_none()) {
            writer.end(self.number, state.last + 1);
        }
        stored
    }

    /// Adds a message. A response is the stream's last message.
    pub(super) fn push(&self, message: Vec<u8>, response: Option<ResponseInfo>, room: Option<OutboxPermit>) {
        self.change(|state| {
            state.last += 1;
            state.ended |= response.is_some();
            let (number, room) = (state.last, room.filter(|_| state.is_read));
            state.bytes += message.len();
            if !state.is_read {
                state.retained += message.len();
            }
            let event = Event { number, message: message.into(), response, room };
            if let Some(writer) = self.writer.as_ref().filter(|_| state.is_stored) {
                writer.write(self.number, &event);
            }
            state.events.push_back(event);
        });
        self.changed.notify_waiters();
    }

    /// Ends the stream: no messages follow.
    pub(super) fn end(&self) {
        let mut state = self.state();
        if !std::mem::replace(&mut state.ended, true)
            && let Some(writer) = self.writer.as_ref().filter(|_| state.is_stored)
        {
            writer.end(self.number, state.last + 1);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Asks the reader to disconnect and to reconnect after this delay.
    pub(super) fn retry_after(&self, after: Duration) {
        self.state().retry = Some(after);
        self.changed.notify_waiters();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state().ended
    }

    /// Returns how many bytes the current reader has yet to read. Zero without a reader.
    pub(super) fn unread(&self) -> usize {
        let state = self.state();
        if !state.is_read {
            return 0;
        }
        state
            .events
            .iter()
            .rev()
            .take_while(|event| event.number > state.delivered)
            .map(|event| event.message.len())
            .sum()
    }

    /// Disconnects the reader. To get the rest, the client has to resume the stream.
    pub(super) fn disconnect_reader(&self) {
        self.change(|state| {
            state.reader += 1;
            state.set_read(false);
        });
        self.changed.notify_waiters();
    }

    /// Drops at least `excess` retained bytes, or all there are.
    pub(super) fn shrink(&self, excess: usize) {
        self.change(|state| state.trim(state.retained.saturating_sub(excess)));
    }

    /// Creates a reader that starts after this event and replaces the current one. `None` if the event does not exist,
    /// or if a later one is no longer retained.
    pub(super) fn read(self: &Arc<Self>, after: u64) -> Option<Reader> {
        self.change(|state| (state.dropped <= after && after <= state.last).then(|| self.reader(state, after)))
    }

    /// Creates a reader that starts with the first undelivered event that is available. Replaces the current reader.
    pub(super) fn resume_undelivered(self: &Arc<Self>) -> Reader {
        self.change(|state| {
            let after = state.delivered.max(state.dropped);
            self.reader(state, after)
        })
    }

    fn reader(self: &Arc<Self>, state: &mut State, after: u64) -> Reader {
        state.reader += 1;
        state.delivered = after;
        state.set_read(true);
        state.retry = None;
        self.changed.notify_waiters();
        Reader { stream: Arc::clone(self), reader: state.reader }
    }

    /// Changes the state, then enforces the limit and updates `total`.
    fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state();
        let (bytes, retained) = (state.bytes, state.retained);
        let changed = change(&mut state);
        state.trim(if self.total.memory.is_exceeded() { self.replay.min(SCARCE_REPLAY) } else { self.replay });
        match state.retained.checked_sub(retained) {
            Some(more) => self.total.retained.fetch_add(more, Ordering::SeqCst),
            None => self.total.retained.fetch_sub(retained - state.retained, Ordering::SeqCst),
        };
        match state.bytes.checked_sub(bytes) {
            Some(0) => {}
            Some(more) => self.total.memory.add(more),
            None => self.total.memory.remove(bytes - state.bytes),
        }
        changed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl StreamWriter {
    fn write(&self, stream: u64, event: &Event) {
        let Event { number, message, response, .. } = event;
        let event = StoredEvent { number: *number, message: message.clone(), is_last: response.is_some() };
        self.events.write(stream, &self.requests, event);
    }

    fn end(&self, stream: u64, number: u64) {
        self.events.write(stream, &self.requests, StoredEvent { number, message: Bytes::new(), is_last: true });
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let state = self.state();
        self.total.retained.fetch_sub(state.retained, Ordering::SeqCst);
        self.total.memory.remove(state.bytes);
        // Stream 0 lives as long as the session.
        if let Some(writer) = self.writer.as_ref().filter(|_| state.is_stored && self.number != 0) {
            writer.events.remove(self.number);
        }
    }
}

impl State {
    /// Attaches or detaches a reader. With a reader, only delivered events count as retained. Without one, all do, and
    /// they release their outbox permits.
    fn set_read(&mut self, is_read: bool) {
        self.is_read = is_read;
        let taken = self.delivered;
        if !is_read {
            self.events.iter_mut().for_each(|event| event.room = None);
        }
        let retained = self.events.iter().filter(|event| !is_read || event.number <= taken);
        self.retained = retained.map(|event| event.message.len()).sum();
    }

    fn trim(&mut self, most: usize) {
        if self.retained <= most {
            return;
        }
        self.replace_response(most);
        while self.retained > most {
            let Some(first) = self.events.pop_front() else { break };
            self.bytes -= first.message.len();
            self.retained = self.retained.saturating_sub(first.message.len());
            self.dropped = first.number;
            if first.number > self.delivered {
                tracing::warn!("dropped a message that no client has read: the session retains too many bytes");
            }
        }
    }

    /// Replaces a response that is too large to retain with an error response, so that a client that resumes still gets
    /// one.
    fn replace_response(&mut self, most: usize) {
        let Some(last) = self.events.back_mut() else { return };
        let size = last.message.len();
        if (!self.is_read || last.number <= self.delivered)
            && size > most
            && let Some(response) = &last.response
            && let Some(error) = too_large_to_keep(&response.id, size)
        {
            self.bytes -= size - error.len();
            self.retained -= size - error.len();
            last.message = error;
        }
    }
}

/// What a stream retains while the endpoint's budget is exceeded: enough for an error in place of the response.
const SCARCE_REPLAY: usize = 1 << 10;

/// How many events a replica may have sent but not stored when it died.
const UNSTORED_EVENTS: u64 = 1 << 20;

/// Creates the error in place of a response. `None` if the error would not be smaller than the response.
fn too_large_to_keep(id: &RequestId, size: usize) -> Option<Bytes> {
    let why = format!("the response of {size} bytes was too large to retain until the stream was resumed");
    let error = ErrorMessage::new(ErrorId::Id(id.clone()), ErrorObject::new(ErrorCode::INTERNAL_ERROR, why));
    let error = mcpgen_types::to_vec(&error);
    (error.len() < size).then(|| error.into())
}

/// Reads a stream for one HTTP response. Once the reader is dropped, a client can resume the stream.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) stream: Arc<Stream>,
    reader: u64,
}

impl Reader {
    /// Returns `None` after the last item, or when another reader has taken over.
    pub(super) async fn next(&mut self) -> Option<Next> {
        loop {
            let changed = self.stream.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(now) = self.now() {
                return now;
            }
            changed.await;
        }
    }

    /// Returns the result of [`next`](Self::next) if it is available now.
    fn now(&self) -> Option<Option<Next>> {
        self.stream.change(|state| {
            if state.reader != self.reader {
                return Some(None);
            }
            let wanted = state.delivered + 1;
            let place = state.events.partition_point(|event| event.number < wanted);
            if let Some(event) = state.events.get_mut(place) {
                event.room = None;
                let outcome = event.response.as_ref().map(|response| response.outcome);
                let next = Next::Message(event.number, event.message.clone(), outcome);
                state.delivered = event.number;
                state.retained += event.message.len();
                return Some(Some(next));
            }
            if state.ended {
                return Some(None);
            }
            state.retry.take().map(|after| Some(Next::Retry(after)))
        })
    }

    pub(super) fn delivered(&self) -> u64 {
        self.stream.state().delivered
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stream.change(|state| {
            if state.reader == self.reader {
                state.set_read(false);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::sync::Semaphore;

    use super::*;

    fn items(reader: &mut Reader) -> Vec<String> {
        let mut items = Vec::new();
        loop {
            match reader.next().now_or_never() {
                None => return items,
                Some(None) => {
                    items.push("end".to_owned());
                    return items;
                }
                Some(Some(Next::Retry(after))) => items.push(format!("later {}", after.as_millis())),
                Some(Some(Next::Message(number, message, _))) => {
                    items.push(format!("{number} {}", String::from_utf8_lossy(&message)));
                }
            }
        }
    }

    #[test]
    fn resumes_after_the_last_event() {
        let stream = Stream::new(7, 10, &SessionBytes::of_budget(1000), None);
        let push = |text: &str| stream.push(text.into(), None, None);
        let mut reader = stream.resume_undelivered();
        push("a");
        push("b");
        assert_eq!(items(&mut reader), ["1 a", "2 b"]);
        drop(reader);
        push("c");
        let mut reader = stream.read(1).expect("retained");
        assert_eq!(items(&mut reader), ["2 b", "3 c"], "starts after event 1");
        let mut other = stream.resume_undelivered();
        push("d");
        assert_eq!(items(&mut reader), ["end"], "the new reader has replaced this one");
        drop(reader);
        assert_eq!(items(&mut other), ["4 d"], "dropping the replaced reader does not detach this one");
        stream.retry_after(Duration::from_millis(5));
        assert_eq!(items(&mut other), ["later 5"]);
        drop(other);
        push("0123456789");
        stream.push(b"z".into(), response(), None);
        assert!(stream.read(4).is_none(), "event 5 is no longer retained");
        assert!(stream.read(9).is_none(), "event 9 does not exist");
        let mut last = stream.read(5).expect("retained");
        assert_eq!(items(&mut last), ["6 z", "end"]);
        assert_eq!(items(&mut stream.resume_undelivered()), ["end"]);
    }

    #[test]
    fn undelivered_messages_hold_outbox_permits() {
        let (outbox, total) = (Arc::new(Semaphore::new(100)), SessionBytes::of_budget(1000));
        let stream = Stream::new(1, 10, &total, None);
        let permits_and_total = || (outbox.available_permits(), total.retained());
        let push = |text: &str| {
            let size = u32::try_from(text.len()).expect("small");
            let permits = Arc::clone(&outbox).try_acquire_many_owned(size).expect("free permits");
            stream.push(text.into(), None, Some(OutboxPermit::new(permits, None)));
        };
        let mut reader = stream.resume_undelivered();
        for _ in 0..5 {
            push("0123456789");
        }
        assert_eq!(permits_and_total(), (50, 0), "undelivered messages are not retained");
        assert_eq!(items(&mut reader).len(), 5);
        assert_eq!(permits_and_total(), (100, 10), "delivered messages are retained up to the limit");
        push("0123456789");
        push("0123456789");
        drop(reader);
        assert_eq!(permits_and_total(), (100, 10), "without a reader, messages are retained");
        assert_eq!(items(&mut stream.resume_undelivered()), ["7 0123456789"]);
        drop(stream);
        assert_eq!(total.retained(), 0);
    }

    #[test]
    fn retains_no_message_larger_than_its_limit() {
        let total = SessionBytes::of_budget(1000);
        let stream = Stream::new(1, 10, &total, None);
        let mut reader = stream.resume_undelivered();
        stream.push(b"0123456789".into(), None, None);
        stream.push(b"01234567890".into(), response(), None);
        assert_eq!(items(&mut reader), ["1 0123456789", "2 01234567890", "end"]);
        assert_eq!(total.retained(), 0);
        assert!(stream.read(1).is_none(), "the response is not retained");
        assert!(stream.read(2).is_some(), "nothing after event 2 is missing");
    }

    #[test]
    fn retains_an_error_in_place_of_a_large_unread_response() {
        let total = SessionBytes::of_budget(1000);
        let stream = Stream::new(1, 500, &total, None);
        let reader = stream.resume_undelivered();
        stream.push(vec![b'x'; 501], response(), None);
        drop(reader);
        assert!((1..=500).contains(&total.retained()));
        let error = items(&mut stream.read(0).expect("retained")).remove(0);
        assert!(error.contains("the response of 501 bytes was too large to retain"), "{error}");
        stream.shrink(500);
        assert_eq!(total.retained(), 0);
    }

    #[test]
    fn retains_almost_nothing_while_the_budget_is_exceeded() {
        let total = SessionBytes::of_budget(1400);
        let stream = Stream::new(1, 2000, &total, None);
        stream.push(vec![b'x'; 2000], None, None);
        assert!(total.retained() == 2000 && total.memory.is_exceeded());
        let mut reader = stream.resume_undelivered();
        stream.push(vec![b'x'; 1500], response(), None);
        assert_eq!(items(&mut reader).len(), 3, "a reader gets everything");
        drop(reader);
        assert!(total.retained() <= SCARCE_REPLAY && !total.memory.is_exceeded());
    }

    fn response() -> Option<ResponseInfo> {
        Some(ResponseInfo { id: RequestId::Integer(1), outcome: Outcome::Result })
    }
}
