//! A stream of messages that a client reads, loses, and comes back to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, OwnedSemaphorePermit};

use crate::outbox::Outcome;

/// What belongs to one request, or to none. Messages are kept after they were handed out, up to a number of bytes, for whoever
/// comes back; those that nobody has taken yet hold their room in the outbox, so that who sends more has to wait.
#[derive(Debug)]
pub(super) struct Stream {
    /// What the ids of its events begin with.
    pub(super) number: u64,
    /// How many bytes are kept for whoever comes back.
    replay: usize,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Event>,
    bytes: usize,
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
pub(super) struct Event {
    pub(super) number: u64,
    pub(super) message: Bytes,
    /// How the request was answered, if this does.
    pub(super) answer: Option<Outcome>,
    room: Option<OwnedSemaphorePermit>,
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
    pub(super) fn new(number: u64, replay: usize) -> Arc<Self> {
        Arc::new(Self { number, replay, state: Mutex::default(), changed: Notify::new() })
    }

    /// Puts a message at the end. With an answer it is the last one.
    pub(super) fn push(&self, message: Vec<u8>, answer: Option<Outcome>, room: Option<OwnedSemaphorePermit>) {
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        state.bytes += message.len();
        state.ended |= answer.is_some();
        state.events.push_back(Event { number, message: message.into(), answer, room });
        state.trim(self.replay);
        drop(state);
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
        let mut state = self.state();
        state.reader += 1;
        state.is_read = false;
        state.trim(self.replay);
        drop(state);
        self.changed.notify_waiters();
    }

    /// Bytes that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// Reads what comes after this event, and takes the place of whoever reads now. `None` if not all of it is kept.
    pub(super) fn read(self: &Arc<Self>, after: u64) -> Option<Reader> {
        let mut state = self.state();
        let first = state.events.front().map_or(state.last + 1, |event| event.number);
        if after > state.last || after + 1 < first {
            return None;
        }
        Some(self.reader(&mut state, after))
    }

    /// Reads what nobody has taken yet and is kept.
    pub(super) fn go_on(self: &Arc<Self>) -> Reader {
        let mut state = self.state();
        let first = state.events.front().map_or(state.last + 1, |event| event.number);
        let after = state.taken.max(first - 1);
        self.reader(&mut state, after)
    }

    fn reader(self: &Arc<Self>, state: &mut State, after: u64) -> Reader {
        state.reader += 1;
        state.is_read = true;
        state.taken = after;
        state.later = None;
        self.changed.notify_waiters();
        Reader { stream: Arc::clone(self), reader: state.reader }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What was taken, or has nobody to take it, is kept up to a number of bytes; the last message is, whatever its size.
    fn trim(&mut self, replay: usize) {
        if !self.is_read {
            self.events.iter_mut().for_each(|event| event.room = None);
        }
        while self.bytes > replay && self.events.len() > 1 {
            match self.events.front() {
                Some(first) if !self.is_read || first.number <= self.taken => self.bytes -= first.message.len(),
                _ => break,
            }
            let lost = self.events.pop_front().filter(|event| event.number > self.taken);
            if lost.is_some() {
                tracing::warn!("a message that nobody was there to read is given up");
            }
        }
    }
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
        let mut state = self.stream.state();
        if state.reader != self.reader {
            return Some(None);
        }
        let wanted = state.taken + 1;
        let place = state.events.partition_point(|event| event.number < wanted);
        if let Some(event) = state.events.get_mut(place) {
            event.room = None;
            let next = Next::Message(event.number, event.message.clone(), event.answer);
            state.taken = event.number;
            state.trim(self.stream.replay);
            return Some(Some(next));
        }
        if state.ended {
            return Some(None);
        }
        state.later.take().map(|after| Some(Next::Later(after)))
    }

    /// What was handed out last.
    pub(super) fn taken(&self) -> u64 {
        self.stream.state().taken
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.stream.state();
        if state.reader == self.reader {
            state.is_read = false;
            state.trim(self.stream.replay);
        }
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
        let stream = Stream::new(7, 10);
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
        stream.push(b"z".into(), Some(Outcome::Result), None);
        assert!(stream.read(4).is_none(), "not all of it is kept");
        assert!(stream.read(9).is_none(), "there was no such event");
        let mut last = stream.read(5).expect("kept");
        assert_eq!(told(&mut last), ["6 z", "end"]);
        assert_eq!(told(&mut stream.go_on()), ["end"]);
    }

    #[test]
    fn what_nobody_has_taken_holds_its_room() {
        let room = Arc::new(Semaphore::new(100));
        let stream = Stream::new(1, 10);
        let say = |text: &str| {
            let size = u32::try_from(text.len()).expect("small");
            let taken = Arc::clone(&room).try_acquire_many_owned(size).expect("room");
            stream.push(text.into(), None, Some(taken));
        };
        let mut reader = stream.go_on();
        for _ in 0..5 {
            say("0123456789");
        }
        assert_eq!((room.available_permits(), stream.bytes()), (50, 50), "somebody will read it");
        assert_eq!(told(&mut reader).len(), 5);
        assert_eq!((room.available_permits(), stream.bytes()), (100, 10), "it was read");
        say("0123456789");
        say("0123456789");
        drop(reader);
        assert_eq!((room.available_permits(), stream.bytes()), (100, 10), "nobody is there to read it");
        say("01234567890123456789");
        assert_eq!((room.available_permits(), stream.bytes()), (100, 20), "the last one is kept");
        assert_eq!(told(&mut stream.go_on()), ["8 01234567890123456789"]);
    }
}
