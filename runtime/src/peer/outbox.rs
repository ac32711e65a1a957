//! Messages on their way out: one order, one writer, and no more bytes in memory than there is room for.

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

/// Where messages are put for the writer.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    /// `None` ends the writer.
    lines: mpsc::UnboundedSender<Option<Line>>,
    /// A permit is a byte.
    room: Arc<Semaphore>,
    capacity: u32,
    /// Whether the transport has a stream for each request, and so wants to know which of them have ended.
    has_streams: Arc<AtomicBool>,
    closed: CancellationToken,
}

/// A message on its way out.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) place: Place,
    /// Empty if there is nothing to be written: then it tells only those who have a stream for each request.
    pub(crate) bytes: Vec<u8>,
}

/// A message, and its room until it is written.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) message: Message,
    pub(crate) room: Option<OwnedSemaphorePermit>,
}

/// What is to be written, in this order; `None` ends it.
pub(crate) type Lines = mpsc::UnboundedReceiver<Option<Line>>;

/// Where a message belongs: for transports on which each request has a stream of its own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    /// To no request.
    Anywhere,
    /// To a request that is being handled.
    Within(RequestId),
    /// It answers one.
    Answer(RequestId, Outcome),
    /// To one that will have no answer. Nothing is written.
    Unanswered(RequestId),
    /// To one whose answer may take a while: whoever waits may come back after so long. Nothing is written.
    Later(RequestId, Duration),
}

/// How a request was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// By a result.
    Result,
    /// By the error of this code, from whoever handled it.
    Failed(i64),
    /// By the error of this code, before anybody was asked to handle it.
    Refused(i64),
}

impl Outbox {
    /// An outbox with room for so many bytes, and where the writer takes messages from it.
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

    /// Waits until there is room, in the order of the calls. A message larger than all the room goes alone.
    pub(crate) async fn send(&self, message: Message) -> Result<(), Closed> {
        let size = self.size(&message);
        // As a rule there is room.
        let room = match Arc::clone(&self.room).try_acquire_many_owned(size) {
            Ok(room) => room,
            Err(TryAcquireError::NoPermits) => {
                Arc::clone(&self.room).acquire_many_owned(size).await.map_err(|_| Closed)?
            }
            Err(TryAcquireError::Closed) => return Err(Closed),
        };
        self.lines.send(Some(Line { message, room: Some(room) })).map_err(|_| Closed)
    }

    /// Does not wait: gives the message back if there is no room now.
    pub(crate) fn try_send(&self, message: Message) -> Result<(), Message> {
        match Arc::clone(&self.room).try_acquire_many_owned(self.size(&message)) {
            Ok(room) => {
                // A writer that is gone needs no message.
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

    /// The transport has a stream for each request.
    #[cfg(feature = "http-server")]
    pub(crate) fn set_has_streams(&self) {
        self.has_streams.store(true, Ordering::Relaxed);
    }

    /// Queues a message that is short and bounded in number, such as a cancellation on drop, whether there is room or
    /// not. A message without bytes is for transports that have a stream for each request, and dropped on all others.
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

    /// Ends when nothing is taken any more.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// From now on nothing is taken; what was taken is still written.
    pub(crate) fn close(&self) {
        self.room.close();
        self.closed.cancel();
        // The writer may have ended by itself.
        let _ = self.lines.send(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn queues_ends_of_requests_only_where_they_have_streams() {
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
