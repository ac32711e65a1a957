//! The queue of outgoing messages: ordered, with one writer and a limit on the queued bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcpgen_types::RequestId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, mpsc};
use tokio_util::sync::CancellationToken;

/// The connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection is closed")]
pub struct Closed;

/// The sending half of the queue of outgoing messages.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    /// The queue. `None` ends the writer.
    lines: mpsc::UnboundedSender<Option<Line>>,
    /// The room that is left. Each permit is one byte.
    room: Arc<Semaphore>,
    capacity: u32,
    /// Whether the transport has a stream for each request, and so needs to know when a request ends.
    has_streams: Arc<AtomicBool>,
    closed: CancellationToken,
}

/// An outgoing message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) place: Place,
    /// The encoded message. Empty if nothing is to be written: such a message only informs transports that have a
    /// stream for each request.
    pub(crate) bytes: Vec<u8>,
}

/// A queued message, with the room that it takes until it is written.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) message: Message,
    pub(crate) room: Option<OwnedSemaphorePermit>,
}

/// The receiving half of the queue. `None` ends it.
pub(crate) type Lines = mpsc::UnboundedReceiver<Option<Line>>;

/// The request that a message belongs to, for transports that have a stream for each request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    /// The message belongs to no request.
    Anywhere,
    /// The message is sent on behalf of a request that is being handled.
    Within(RequestId),
    /// The message is the response to a request.
    Answer(RequestId, Outcome),
    /// The request will get no response. Nothing is written.
    Unanswered(RequestId),
    /// The response may take a while: the client may disconnect and reconnect after this time. Nothing is written.
    Later(RequestId, Duration),
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The request succeeded.
    Result,
    /// The handler failed with this error code.
    Failed(i64),
    /// The request was rejected with this error code before any handler was called.
    Refused(i64),
}

impl Outbox {
    /// Creates an outbox with room for `capacity` bytes, at least one, and the receiver for its writer.
    pub(crate) fn new(capacity: u32) -> (Self, Lines) {
        let (lines, written) = mpsc::unbounded_channel();
        let capacity = capacity.max(1);
        (
            Self {
                lines,
                room: Arc::new(Semaphore::new(capacity as usize)),
                capacity,
                has_streams: Arc::default(),
                closed: CancellationToken::new(),
            },
            written,
        )
    }

    /// Queues a message. Waits for room, in the order of the calls. A message larger than the capacity waits until the
    /// whole capacity is free.
    ///
    /// # Errors
    ///
    /// Fails if the connection is closed.
    pub(crate) async fn send(&self, message: Message) -> Result<(), Closed> {
        let size = self.size(&message);
        // The common case: there is room.
        let room = match Arc::clone(&self.room).try_acquire_many_owned(size) {
            Ok(room) => room,
            Err(TryAcquireError::NoPermits) => {
                Arc::clone(&self.room).acquire_many_owned(size).await.map_err(|_| Closed)?
            }
            Err(TryAcquireError::Closed) => return Err(Closed),
        };
        self.lines.send(Some(Line { message, room: Some(room) })).map_err(|_| Closed)
    }

    /// Queues a message without waiting. Returns the message if there is no room, and drops it if the connection is
    /// closed.
    pub(crate) fn try_send(&self, message: Message) -> Result<(), Message> {
        match Arc::clone(&self.room).try_acquire_many_owned(self.size(&message)) {
            Ok(room) => {
                // If the writer has ended, the message is dropped.
                let _ = self.lines.send(Some(Line { message, room: Some(room) }));
                Ok(())
            }
            Err(TryAcquireError::NoPermits) => Err(message),
            Err(TryAcquireError::Closed) => Ok(()),
        }
    }

    fn size(&self, message: &Message) -> u32 {
        u32::try_from(message.bytes.len()).unwrap_or(u32::MAX).clamp(1, self.capacity)
    }

    /// Records that the transport has a stream for each request.
    #[cfg(feature = "http-server")]
    pub(crate) fn set_has_streams(&self) {
        self.has_streams.store(true, Ordering::Relaxed);
    }

    /// Queues a message even if there is no room. Use it for short messages of bounded number, such as a cancellation
    /// on drop. A message without bytes is dropped unless the transport has a stream for each request.
    pub(crate) fn send_now(&self, message: Message) -> Result<(), Closed> {
        if self.room.is_closed() {
            return Err(Closed);
        }
        if message.bytes.is_empty() && !self.has_streams.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.lines.send(Some(Line { message, room: None })).map_err(|_| Closed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Waits until the outbox is closed.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Closes the outbox. It accepts no more messages; queued messages are still written.
    pub(crate) fn close(&self) {
        self.room.close();
        self.closed.cancel();
        // The writer may have ended already.
        let _ = self.lines.send(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn queues_ends_of_requests_only_with_streams() {
        for has_streams in [false, cfg!(feature = "http-server")] {
            let (outbox, lines) = Outbox::new(10);
            #[cfg(feature = "http-server")]
            if has_streams {
                outbox.set_has_streams();
            }
            let unanswered = Place::Unanswered(RequestId::String("id".repeat(1000)));
            outbox.send_now(Message { place: unanswered, bytes: Vec::new() }).expect("open");
            assert_eq!(lines.len(), usize::from(has_streams));
        }
    }
}
