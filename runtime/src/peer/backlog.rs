//! Tracks which incoming notifications have been handled.

use std::borrow::Cow;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Counts a connection's notifications, so that a response can wait for those that arrived before it.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    received: AtomicU64,
    handled: AtomicU64,
    has_handled: Notify,
    current: Mutex<Option<Current>>,
}

#[derive(Debug)]
struct Current {
    method: Cow<'static, str>,
    since: Instant,
    /// Whether a warning about this slow handler was logged.
    is_reported: bool,
}

tokio::task_local! {
    /// The connection whose notification the current task handles.
    static HANDLES: usize;
}

/// A position in the order of messages: how many notifications were received before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(u64);

impl Backlog {
    pub(crate) fn add(&self) {
        self.received.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.received.load(Ordering::SeqCst))
    }

    /// Returns whether all notifications received before the mark are handled.
    pub(crate) fn is_handled(&self, Mark(mark): Mark) -> bool {
        self.handled.load(Ordering::SeqCst) >= mark
    }

    /// Counts the notification as handled even if its handler panics or is dropped.
    pub(crate) async fn handle<F: Future>(
        &self,
        connection: usize,
        method: Cow<'static, str>,
        handler: F,
    ) -> F::Output {
        *self.current.lock() = Some(Current { method, since: Instant::now(), is_reported: false });
        let _handled = Handled(self);
        HANDLES.scope(connection, handler).await
    }

    /// Waits, for at most `limit`, until all notifications received before the mark are handled. After the limit, logs
    /// the slow notification.
    ///
    /// Returns at once in a notification handler of the same connection, which would otherwise wait for itself.
    pub(crate) async fn wait(&self, connection: usize, mark: Mark, limit: Option<Duration>) {
        if HANDLES.try_with(|handled| *handled == connection).unwrap_or(false) {
            return;
        }
        let started = self.current.lock().as_ref().map_or_else(Instant::now, |current| current.since);
        // The limit counts from the start of the handler, so that a slow one does not delay each later message again.
        let end = limit.and_then(|limit| started.checked_add(limit));
        loop {
            let mut has_handled = std::pin::pin!(self.has_handled.notified());
            has_handled.as_mut().enable();
            if self.is_handled(mark) {
                return;
            }
            match end {
                None => has_handled.await,
                Some(end) => {
                    let is_late = end <= Instant::now() || tokio::time::timeout_at(end, has_handled).await.is_err();
                    if is_late {
                        return self.report(limit);
                    }
                }
            }
        }
    }

    /// Logs a handler that takes longer than the limit, once.
    fn report(&self, limit: Option<Duration>) {
        let mut current = self.current.lock();
        if let Some(current) = current.as_mut().filter(|current| !current.is_reported) {
            current.is_reported = true;
            tracing::warn!(
                method = &*current.method,
                ?limit,
                "the handler of a notification takes longer than `Limits::notification_wait`, so later messages \
                 overtake it"
            );
        }
    }

    /// Waits until all notifications received so far are handled.
    pub(crate) async fn cleared(&self) {
        self.wait(usize::MAX, self.mark(), None).await;
    }
}

/// Counts the notification as handled when dropped.
struct Handled<'a>(&'a Backlog);

impl Drop for Handled<'_> {
    fn drop(&mut self) {
        *self.0.current.lock() = None;
        self.0.handled.fetch_add(1, Ordering::SeqCst);
        self.0.has_handled.notify_waiters();
    }
}
