//! The notifications that were received and are not handled yet.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

/// Counts the notifications of a connection.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    received: AtomicU64,
    handled: watch::Sender<u64>,
}

impl Backlog {
    /// Counts a notification that was received.
    pub(crate) fn add(&self) {
        self.received.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a notification that was handled or dropped.
    pub(crate) fn remove(&self) {
        self.handled.send_modify(|handled| *handled += 1);
    }

    /// Waits until all notifications that were received before this call are handled.
    #[cfg(feature = "bridge")]
    pub(crate) async fn cleared(&self) {
        let received = self.received.load(Ordering::Relaxed);
        // Waiting cannot fail, because `self` has the sender.
        let _ = self.handled.subscribe().wait_for(|handled| *handled >= received).await;
    }
}
