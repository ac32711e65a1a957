//! The queue of outgoing messages: ordered, with a single writer and a limit in bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, mpsc};
use tokio_util::sync::CancellationToken;

use crate::error::Closed;
use crate::observer::Observer;
use crate::transport::{Outbound, OutboxPermit, QueueGauge};

#[derive(Clone)]
pub(crate) struct Outbox {
    /// The queued messages. `None` tells the writer to stop.
    lines: mpsc::UnboundedSender<Option<Outbound>>,
    /// Free capacity: one permit per byte.
    room: Arc<Semaphore>,
    capacity: u32,
    /// Whether the transport has a stream per request, and so needs to know when a request ends.
    has_streams: Arc<AtomicBool>,
    /// Whether the transport uses [`Outbound::metadata`].
    needs_metadata: Arc<AtomicBool>,
    closed: CancellationToken,
    observer: Option<Arc<dyn Observer>>,
    gauge: Option<QueueGauge>,
}

/// The queued messages. `None` tells the writer to stop.
pub(crate) type Lines = mpsc::UnboundedReceiver<Option<Outbound>>;

impl Outbox {
    /// Creates an outbox and its queue. `capacity` is in bytes, and zero counts as one.
    pub(crate) fn new(capacity: u32, observer: Option<Arc<dyn Observer>>) -> (Self, Lines) {
        let (lines, written) = mpsc::unbounded_channel();
        let capacity = capacity.max(1);
        (
            Self {
                lines,
                room: Arc::new(Semaphore::new(capacity as usize)),
                capacity,
                has_streams: Arc::default(),
                needs_metadata: Arc::default(),
                closed: CancellationToken::new(),
                gauge: observer.as_ref().and_then(|observer| observer.queue_gauge()),
                observer,
            },
            written,
        )
    }

    /// Adds a gauge next to the observer's.
    pub(crate) fn with_gauge(mut self, added: Option<QueueGauge>) -> Self {
        self.gauge = match (self.gauge.take(), added) {
            (Some(known), Some(added)) => Some(Arc::new(move |bytes| {
                known(bytes);
                added(bytes);
            })),
            (known, added) => known.or(added),
        };
        self
    }

    /// Queues a message, after earlier senders that wait for room. A message larger than the capacity waits until the
    /// queue is empty.
    ///
    /// # Errors
    ///
    /// Fails if the connection is closed.
    pub(crate) async fn send(&self, mut message: Outbound) -> Result<(), Closed> {
        let size = self.size(&message);
        // The common case: the queue has room.
        let room = match Arc::clone(&self.room).try_acquire_many_owned(size) {
            Ok(room) => room,
            Err(TryAcquireError::NoPermits) => {
                Arc::clone(&self.room).acquire_many_owned(size).await.map_err(|_| Closed)?
            }
            Err(TryAcquireError::Closed) => return Err(Closed),
        };
        message.permit = Some(self.permit(room));
        self.lines.send(Some(message)).map_err(|_| Closed)
    }

    /// Queues a message without waiting. Returns it if there is no room, and drops it if the connection is closed.
    pub(crate) fn try_send(&self, mut message: Outbound) -> Result<(), Outbound> {
        match Arc::clone(&self.room).try_acquire_many_owned(self.size(&message)) {
            Ok(room) => {
                message.permit = Some(self.permit(room));
                // This fails only if the writer has ended, and then nobody needs the message.
                let _ = self.lines.send(Some(message));
                Ok(())
            }
            Err(TryAcquireError::NoPermits) => Err(message),
            Err(TryAcquireError::Closed) => Ok(()),
        }
    }

    fn permit(&self, bytes: OwnedSemaphorePermit) -> OutboxPermit {
        OutboxPermit::new(bytes, self.gauge.clone())
    }

    pub(super) fn observer(&self) -> Option<&Arc<dyn Observer>> {
        self.observer.as_ref()
    }

    fn size(&self, message: &Outbound) -> u32 {
        u32::try_from(message.bytes.len()).unwrap_or(u32::MAX).clamp(1, self.capacity)
    }

    /// Declares which extras the transport needs besides the bytes of messages.
    pub(crate) fn set_needs(&self, has_request_streams: bool, metadata: bool) {
        self.has_streams.store(has_request_streams, Ordering::Relaxed);
        self.needs_metadata.store(metadata, Ordering::Relaxed);
    }

    pub(crate) fn needs_metadata(&self) -> bool {
        self.needs_metadata.load(Ordering::Relaxed)
    }

    /// Queues a message even if there is no room. Use it for a bounded number of short messages, such as cancellations
    /// on drop. A message without bytes is dropped unless the transport has a stream per request.
    pub(crate) fn send_now(&self, message: Outbound) -> Result<(), Closed> {
        if self.room.is_closed() {
            return Err(Closed);
        }
        if message.bytes.is_empty() && !self.has_streams.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.lines.send(Some(message)).map_err(|_| Closed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Closes the outbox. Queued messages are still written.
    pub(crate) fn close(&self) {
        self.room.close();
        self.closed.cancel();
        // The writer may have ended already.
        let _ = self.lines.send(None);
    }
}

#[cfg(test)]
mod tests {
    use mcpgen_types::RequestId;

    use super::*;
    use crate::transport::Route;

    #[tokio::test]
    async fn queues_ends_of_requests_only_with_streams() {
        for has_streams in [false, true] {
            let (outbox, lines) = Outbox::new(10, None);
            outbox.set_needs(has_streams, false);
            let unanswered = Route::NoResponse(RequestId::String("id".repeat(1000)));
            outbox.send_now(Outbound::new(unanswered, Vec::new())).expect("open");
            assert_eq!(lines.len(), usize::from(has_streams));
        }
    }
}
