//! Incoming notifications that wait for their handlers.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_types::Json;
use parking_lot::Mutex;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::limits::{Limits, expired};
use crate::observer::{Observed, Outcome};
use crate::peer::Peer;
use crate::router::{AnyNotification, Router};

pub(super) struct NotificationQueue {
    sender: mpsc::Sender<QueuedNotification>,
    /// Free capacity: one permit per byte.
    room: Arc<Semaphore>,
    capacity: usize,
    peer: Peer,
    handler: NotificationHandler,
}

/// The task that calls notification handlers. It starts with the first notification, because most HTTP requests bring
/// none.
#[derive(Clone)]
pub(super) struct NotificationHandler(Arc<Mutex<HandlerTask>>);

struct HandlerTask {
    not_started: Option<BoxFuture<'static, ()>>,
    running: JoinSet<()>,
}

/// A notification with the permits for its bytes, which are released when it is dropped.
pub(super) struct QueuedNotification {
    notification: AnyNotification,
    room: OwnedSemaphorePermit,
}

impl NotificationQueue {
    pub(super) fn new(router: Router, peer: Peer, limits: &Limits) -> (Self, NotificationHandler) {
        let (sender, receiver) = mpsc::channel(limits.queued_notifications.clamp(1, 1 << 20));
        let capacity = limits.queued_notification_bytes.clamp(1, u32::MAX as usize);
        let handled = handle_notifications(router, peer.clone(), receiver, limits.handler_timeout);
        let handler = HandlerTask { not_started: Some(handled.boxed()), running: JoinSet::new() };
        let handler = NotificationHandler(Arc::new(Mutex::new(handler)));
        (Self { sender, room: Arc::new(Semaphore::new(capacity)), capacity, peer, handler: handler.clone() }, handler)
    }

    /// Queues a notification, or drops it with a warning if there is no room.
    pub(super) fn push(&self, notification: AnyNotification) {
        let size = notification.params.as_ref().map_or(0, Json::owned_bytes).clamp(1, self.capacity);
        let room = u32::try_from(size).ok();
        let room = room.and_then(|size| Arc::clone(&self.room).try_acquire_many_owned(size).ok());
        let Some(room) = room else {
            return tracing::warn!(
                method = &*notification.method,
                size,
                "dropping a notification: the queue would exceed `Limits::queued_notification_bytes`"
            );
        };
        match self.sender.try_send(QueuedNotification { notification, room }) {
            Ok(()) => self.peer.backlog().add(),
            Err(TrySendError::Full(dropped) | TrySendError::Closed(dropped)) => {
                tracing::warn!(method = &*dropped.notification.method, "dropping a notification: its queue is full");
            }
        }
        self.handler.start();
    }
}

impl NotificationHandler {
    fn start(&self) {
        let mut task = self.0.lock();
        if let Some(not_started) = task.not_started.take() {
            task.running.spawn(not_started);
        }
    }

    /// Waits until the queue is empty. Aborts the handlers after `limit`.
    pub(super) async fn finish(&self, limit: Duration) {
        let mut running = std::mem::take(&mut self.0.lock().running);
        let _ = tokio::time::timeout(limit, running.join_next()).await;
    }
}

/// Calls the handlers one after the other, because the order of notifications may matter.
async fn handle_notifications(
    router: Router,
    peer: Peer,
    mut queue: mpsc::Receiver<QueuedNotification>,
    limit: Option<Duration>,
) {
    while let Some(QueuedNotification { notification, room: _room }) = queue.recv().await {
        let method = notification.method.clone();
        let operation = Observed::received(peer.observer(), &notification.received(), Some(&notification.context));
        let handled = async {
            tokio::select! {
                () = router.handle_notification(notification) => Outcome::Done,
                after = expired(limit) => {
                    tracing::error!(method = &*method, ?after, "a notification handler timed out");
                    Outcome::HandlerFailed("timeout")
                }
            }
        };
        // A handler that timed out may panic when it is dropped.
        let handled = pin!(AssertUnwindSafe(handled).catch_unwind());
        let handled = peer.backlog().handle(peer.connection_key(), method.clone(), operation.run(handled)).await;
        operation.end(handled.unwrap_or_else(|_| {
            tracing::error!(method = &*method, "a notification handler panicked");
            Outcome::HandlerFailed("panic")
        }));
    }
}
