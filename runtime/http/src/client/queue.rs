//! Queues for messages that get no response: notifications, in order, and responses to the server's requests.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::message::OutgoingMessage;

/// How many messages of a kind may be queued.
const MAX_MESSAGES: u32 = 1024;

/// A message that holds its permits in the queue until it is posted.
pub(super) struct QueuedMessage {
    pub(super) outgoing: OutgoingMessage,
    _room: OwnedSemaphorePermit,
}

/// Limits the number of queued messages of a kind to 1,024, and their total size to `bytes`. A message larger
/// than `bytes` takes all permits.
pub(super) struct QueueLimit {
    permits: Arc<Semaphore>,
    bytes: u32,
}

impl QueueLimit {
    pub(super) fn new(bytes: u32) -> Self {
        let bytes = bytes.max(MAX_MESSAGES);
        Self { permits: Arc::new(Semaphore::new(bytes as usize)), bytes }
    }

    /// Admits a message. If the queue is full, drops it with a warning, because waiting would delay requests.
    pub(super) fn admit(&self, outgoing: OutgoingMessage) -> Option<QueuedMessage> {
        let size = u32::try_from(outgoing.bytes.len()).unwrap_or(u32::MAX).clamp(self.bytes / MAX_MESSAGES, self.bytes);
        match Arc::clone(&self.permits).try_acquire_many_owned(size) {
            Ok(room) => Some(QueuedMessage { outgoing, _room: room }),
            Err(_) => {
                let method = outgoing.method.as_deref().unwrap_or("response");
                tracing::warn!(method, "dropped a message: too many are waiting for the server to accept them");
                None
            }
        }
    }

    /// Waits until all admitted messages are posted or dropped.
    pub(super) async fn is_empty(&self) {
        // The semaphore is never closed.
        let _ = self.permits.acquire_many(self.bytes).await;
    }
}

/// The queued notifications, in order. [`QueueLimit`] limits them.
pub(super) type Notifications = mpsc::UnboundedReceiver<QueuedMessage>;

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: usize) -> OutgoingMessage {
        OutgoingMessage::new(vec![b' '; bytes], None)
    }

    #[tokio::test]
    async fn limits_messages_in_number_and_bytes() {
        let limit = QueueLimit::new(1 << 20);
        let many: Vec<_> = (0..2000).map_while(|_| limit.admit(message(1))).collect();
        assert_eq!(many.len(), 1024);
        drop(many);
        let large: Vec<_> = (0..2000).map_while(|_| limit.admit(message(1 << 18))).collect();
        assert_eq!(large.len(), 4);
        assert!(limit.admit(message(1)).is_none());
        drop(large);
        let alone = limit.admit(message(1 << 21)).expect("an empty queue accepts a message of any size");
        assert!(limit.admit(message(1)).is_none());
        drop(alone);
        limit.is_empty().await;
    }
}
