//! A stream of messages that a client reads, loses, and comes back to.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use mcpgen_types::{ErrorCode, ErrorId, ErrorMessage, ErrorObject, RequestId};
use tokio::sync::{Notify, OwnedSemaphorePermit};

use crate::peer::outbox::Outcome;
use crate::util::lock::Mutex;

/// The messages of one request, or those that belong to no request. Messages that were handed out are retained, up to a
/// number of bytes, for a client that resumes. A message that is still to be read holds its room in the outbox, so that its
/// sender waits; without a reader it is retained instead.
#[derive(Debug)]
pub(super) struct Stream {
    /// What the ids of its events begin with.
    pub(super) number: u64,
    /// How many bytes are retained.
    replay: usize,
    /// What all streams of the session retain.
    total: Arc<AtomicUsize>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Event>,
    /// Bytes of the events that no reader is about to take.
    retained: usize,
    /// Numbers of events begin with 1; 0 is what was received before any.
    last: u64,
    /// What was handed out last.
    taken: u64,
    /// There is one reader at a time; a new one takes the place of the one before.
    reader: u64,
    is_read: bool,
    /// Whoever reads is to go, and to come back after so long.
    later: Option<Duration>,
    ended: bool,
}

#[derive(Debug)]
struct Event {
    number: u64,
    message: Bytes,
    answer: Option<Answer>,
    room: Option<OwnedSemaphorePermit>,
}

/// Which request a message answers, and how.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) id: RequestId,
    pub(super) outcome: Outcome,
}

/// What a reader sees next.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// A message: its number, and how it answers the request, if it does.
    Message(u64, Bytes, Option<Outcome>),
    /// It is to come back after so long.
    Later(Duration),
}

impl Stream {
    /// A stream that retains at most `replay` bytes, and counts what it retains in `total`.
    pub(super) fn new(number: u64, replay: usize, total: &Arc<AtomicUsize>) -> Arc<Self> {
        let total = Arc::clone(total);
        Arc::new(Self { number, replay, total, state: Mutex::default(), changed: Notify::new() })
    }

    /// Puts a message at the end. With an answer it is the last one.
    pub(super) fn push(&self, message: Vec<u8>, answer: Option<Answer>, room: Option<OwnedSemaphorePermit>) {
        self.change(|state| {
            state.last += 1;
            state.ended |= answer.is_some();
            let (number, room) = (state.last, room.filter(|_| state.is_read));
            if !state.is_read {
                state.retained += message.len();
            }
            state.events.push_back(Event { number, message: message.into(), answer, room });
        });
        self.changed.notify_waiters();
    }

    /// Nothing more comes.
    pub(super) fn end(&self) {
        self.state().ended = true;
        self.changed.notify_waiters();
    }

    /// Whoever reads is to go, and to come back after so long.
    pub(super) fn later(&self, after: Duration) {
        self.state().later = Some(after);
        self.changed.notify_waiters();
    }

    /// Whether nothing more comes.
    pub(super) fn has_ended(&self) -> bool {
        self.state().ended
    }

    /// Bytes that whoever reads has not taken yet.
    pub(super) fn unread(&self) -> usize {
        let state = self.state();
        if !state.is_read {
            return 0;
        }
        state.events.iter().rev().take_while(|event| event.number > state.taken).map(|event| event.message.len()).sum()
    }

    /// Whoever reads has to come back for the rest.
    pub(super) fn send_away(&self) {
        self.change(|state| {
            state.reader += 1;
            state.read_by(false);
        });
        self.changed.notify_waiters();
    }

    /// Retains `excess` bytes less, as far as it retains that much.
    pub(super) fn shrink(&self, excess: usize) {
        self.change(|state| state.trim(state.retained.saturating_sub(excess)));
    }

    /// Reads what comes after this event, and takes the place of whoever reads now. `None` if not all of it is kept.
    pub(super) fn read(self: &Arc<Self>, after: u64) -> Option<Reader> {
        self.change(|state| (state.first() <= after + 1 && after <= state.last).then(|| self.reader(state, after)))
    }

    /// Reads what nobody has taken yet and is kept.
    pub(super) fn go_on(self: &Arc<Self>) -> Reader {
        self.change(|state| {
            let after = state.taken.max(state.first() - 1);
            self.reader(state, after)
        })
    }

    fn reader(self: &Arc<Self>, state: &mut State, after: u64) -> Reader {
        state.reader += 1;
        state.taken = after;
        state.read_by(true);
        state.later = None;
        self.changed.notify_waiters();
        Reader { stream: Arc::clone(self), reader: state.reader }
    }

    /// Changes what is retained, within the limit.
    fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state();
        let before = state.retained;
        let changed = change(&mut state);
        state.trim(self.replay);
        match state.retained.checked_sub(before) {
            Some(more) => self.total.fetch_add(more, Ordering::SeqCst),
            None => self.total.fetch_sub(before - state.retained, Ordering::SeqCst),
        };
        changed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let retained = self.state().retained;
        self.total.fetch_sub(retained, Ordering::SeqCst);
    }
}

impl State {
    /// The number of the first event that is kept, or of the next one.
    fn first(&self) -> u64 {
        self.events.front().map_or(self.last + 1, |event| event.number)
    }

    /// With a reader, the events that it has not taken are no longer retained. Without one, all are, and hold no room.
    fn read_by(&mut self, is_read: bool) {
        self.is_read = is_read;
        let taken = self.taken;
        if !is_read {
            self.events.iter_mut().for_each(|event| event.room = None);
        }
        let retained = self.events.iter().filter(|event| !is_read || event.number <= taken);
        self.retained = retained.map(|event| event.message.len()).sum();
    }

    /// Drops the oldest retained events until no more than `most` bytes are retained.
    fn trim(&mut self, most: usize) {
        if self.retained <= most {
            return;
        }
        self.replace_answer(most);
        while self.retained > most {
            let Some(first) = self.events.pop_front() else { break };
            self.retained = self.retained.saturating_sub(first.message.len());
            if first.number > self.taken {
                tracing::warn!("a message without a reader is dropped: the session retains too many bytes");
            }
        }
    }

    /// Puts an error in place of an answer that is too large to retain, so that a client that resumes is not left without an
    /// answer.
    fn replace_answer(&mut self, most: usize) {
        let Some(last) = self.events.back_mut() else { return };
        let size = last.message.len();
        if (!self.is_read || last.number <= self.taken)
            && size > most
            && let Some(answer) = &last.answer
            && let Some(error) = too_large_to_keep(&answer.id, size)
        {
            self.retained -= size - error.len();
            last.message = error;
        }
    }
}

/// The error in place of an answer of this size; `None` if it is not smaller.
fn too_large_to_keep(id: &RequestId, size: usize) -> Option<Bytes> {
    let why = format!("the answer of {size} bytes was too large to keep until the stream was resumed");
    let error = ErrorMessage::new(ErrorId::Id(id.clone()), ErrorObject::new(ErrorCode::INTERNAL_ERROR, why));
    let error = mcpgen_types::to_vec(&error);
    (error.len() < size).then(|| error.into())
}

/// Reads a stream. Dropped, it leaves the stream to whoever comes back.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) stream: Arc<Stream>,
    reader: u64,
}

impl Reader {
    /// The next thing, as soon as it is there; `None` after the last one, or once somebody else reads.
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

    /// What there is to say now: `None` if there is nothing.
    fn now(&self) -> Option<Option<Next>> {
        self.stream.change(|state| {
            if state.reader != self.reader {
                return Some(None);
            }
            let wanted = state.taken + 1;
            let place = state.events.partition_point(|event| event.number < wanted);
            if let Some(event) = state.events.get_mut(place) {
                event.room = None;
                let outcome = event.answer.as_ref().map(|answer| answer.outcome);
                let next = Next::Message(event.number, event.message.clone(), outcome);
                state.taken = event.number;
                state.retained += event.message.len();
                return Some(Some(next));
            }
            if state.ended {
                return Some(None);
            }
            state.later.take().map(|after| Some(Next::Later(after)))
        })
    }

    /// What was handed out last.
    pub(super) fn taken(&self) -> u64 {
        self.stream.state().taken
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stream.change(|state| {
            if state.reader == self.reader {
                state.read_by(false);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::sync::Semaphore;

    use super::*;

    /// What a reader is told now, as text.
    fn told(reader: &mut Reader) -> Vec<String> {
        let mut told = Vec::new();
        loop {
            match reader.next().now_or_never() {
                None => return told,
                Some(None) => {
                    told.push("end".to_owned());
                    return told;
                }
                Some(Some(Next::Later(after))) => told.push(format!("later {}", after.as_millis())),
                Some(Some(Next::Message(number, message, _))) => {
                    told.push(format!("{number} {}", String::from_utf8_lossy(&message)));
                }
            }
        }
    }

    #[test]
    fn whoever_comes_back_hears_what_was_missed() {
        let stream = Stream::new(7, 10, &Arc::default());
        let say = |text: &str| stream.push(text.into(), None, None);
        let mut reader = stream.go_on();
        say("a");
        say("b");
        assert_eq!(told(&mut reader), ["1 a", "2 b"]);
        drop(reader);
        say("c");
        let mut reader = stream.read(1).expect("kept");
        assert_eq!(told(&mut reader), ["2 b", "3 c"], "from where it wants");
        let mut other = stream.go_on();
        say("d");
        assert_eq!(told(&mut reader), ["end"], "there is one reader");
        drop(reader);
        assert_eq!(told(&mut other), ["4 d"], "the one before has gone, not this one");
        stream.later(Duration::from_millis(5));
        assert_eq!(told(&mut other), ["later 5"]);
        drop(other);
        say("0123456789");
        stream.push(b"z".into(), answer(), None);
        assert!(stream.read(4).is_none(), "not all of it is kept");
        assert!(stream.read(9).is_none(), "there was no such event");
        let mut last = stream.read(5).expect("kept");
        assert_eq!(told(&mut last), ["6 z", "end"]);
        assert_eq!(told(&mut stream.go_on()), ["end"]);
    }

    #[test]
    fn what_nobody_has_taken_holds_its_room() {
        let (room, total) = (Arc::new(Semaphore::new(100)), Arc::<AtomicUsize>::default());
        let stream = Stream::new(1, 10, &total);
        let now = || (room.available_permits(), total.load(Ordering::SeqCst));
        let say = |text: &str| {
            let size = u32::try_from(text.len()).expect("small");
            let taken = Arc::clone(&room).try_acquire_many_owned(size).expect("room");
            stream.push(text.into(), None, Some(taken));
        };
        let mut reader = stream.go_on();
        for _ in 0..5 {
            say("0123456789");
        }
        assert_eq!(now(), (50, 0), "somebody will read it");
        assert_eq!(told(&mut reader).len(), 5);
        assert_eq!(now(), (100, 10), "it was read");
        say("0123456789");
        say("0123456789");
        drop(reader);
        assert_eq!(now(), (100, 10), "nobody is there to read it");
        assert_eq!(told(&mut stream.go_on()), ["7 0123456789"]);
        drop(stream);
        assert_eq!(total.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn retains_no_message_larger_than_its_limit() {
        let total = Arc::<AtomicUsize>::default();
        let stream = Stream::new(1, 10, &total);
        let mut reader = stream.go_on();
        stream.push(b"0123456789".into(), None, None);
        stream.push(b"01234567890".into(), answer(), None);
        assert_eq!(told(&mut reader), ["1 0123456789", "2 01234567890", "end"]);
        assert_eq!(total.load(Ordering::SeqCst), 0);
        assert!(stream.read(1).is_none(), "the answer is not kept");
        assert!(stream.read(2).is_some(), "nothing is missing after it");
    }

    #[test]
    fn keeps_an_error_in_place_of_a_large_answer_that_was_never_read() {
        let total = Arc::<AtomicUsize>::default();
        let stream = Stream::new(1, 500, &total);
        let reader = stream.go_on();
        stream.push(vec![b'x'; 501], answer(), None);
        drop(reader);
        assert!((1..=500).contains(&total.load(Ordering::SeqCst)));
        let answer = told(&mut stream.read(0).expect("kept")).remove(0);
        assert!(answer.contains("the answer of 501 bytes was too large to keep"), "{answer}");
        stream.shrink(500);
        assert_eq!(total.load(Ordering::SeqCst), 0);
    }

    fn answer() -> Option<Answer> {
        Some(Answer { id: RequestId::Integer(1), outcome: Outcome::Result })
    }
}
