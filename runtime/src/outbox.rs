//! Messages on their way out: one order, one writer, and no more bytes in memory than there is room for.

use std::sync::Arc;

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
    closed: CancellationToken,
}

/// A message, and its room until it is written.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) bytes: Vec<u8>,
    pub(crate) room: Option<OwnedSemaphorePermit>,
}

impl Outbox {
    /// An outbox with room for so many bytes, and where the writer takes messages from it.
    pub(crate) fn new(capacity: u32) -> (Self, mpsc::UnboundedReceiver<Option<Line>>) {
        let (lines, written) = mpsc::unbounded_channel();
        let capacity = capacity.max(1);
        (
            Self {
                lines,
                room: Arc::new(Semaphore::new(capacity as usize)),
                capacity,
                closed: CancellationToken::new(),
            },
            written,
        )
    }

    /// Waits until there is room, in the order of the calls. A message larger than all the room goes alone.
    pub(crate) async fn send(&self, bytes: Vec<u8>) -> Result<(), Closed> {
        let room = Arc::clone(&self.room).acquire_many_owned(self.size(&bytes)).await.map_err(|_| Closed)?;
        self.lines.send(Some(Line { bytes, room: Some(room) })).map_err(|_| Closed)
    }

    /// Does not wait: gives the message back if there is no room now.
    pub(crate) fn try_send(&self, bytes: Vec<u8>) -> Result<(), Vec<u8>> {
        match Arc::clone(&self.room).try_acquire_many_owned(self.size(&bytes)) {
            Ok(room) => {
                // A writer that is gone needs no message.
                let _ = self.lines.send(Some(Line { bytes, room: Some(room) }));
                Ok(())
            }
            Err(TryAcquireError::NoPermits) => Err(bytes),
            Err(TryAcquireError::Closed) => Ok(()),
        }
    }

    fn size(&self, bytes: &[u8]) -> u32 {
        u32::try_from(bytes.len()).unwrap_or(u32::MAX).clamp(1, self.capacity)
    }

    /// Puts a message that is short and bounded in number, whether there is room or not: what is said on drop.
    pub(crate) fn send_now(&self, bytes: Vec<u8>) -> Result<(), Closed> {
        if self.room.is_closed() {
            return Err(Closed);
        }
        self.lines.send(Some(Line { bytes, room: None })).map_err(|_| Closed)
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
