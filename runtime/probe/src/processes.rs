//! The processes of servers, and the signals that end a command.

use std::sync::LazyLock;

use tokio_util::task::TaskTracker;

/// The tasks that end the processes of servers, and connections.
static TRACKER: LazyLock<TaskTracker> = LazyLock::new(TaskTracker::new);

/// Returns the tracker of the tasks for which this process waits at its end.
pub(crate) fn tracker() -> &'static TaskTracker {
    &TRACKER
}

/// Waits until the servers have ended, or until a signal arrives. The servers that are left are killed when the runtime
/// shuts down.
pub(crate) async fn ended() {
    TRACKER.close();
    tokio::select! {
        () = TRACKER.wait() => {}
        _ = signal() => {}
    }
}

/// Waits for a signal that asks this process to end. Returns its number.
#[cfg(unix)]
pub(crate) async fn signal() -> i32 {
    use futures_util::future::select_all;
    use tokio::signal::unix::{SignalKind, signal};

    let kinds = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()];
    let received = kinds.map(|kind| {
        Box::pin(async move {
            match signal(kind) {
                Ok(mut signals) => signals.recv().await,
                Err(_) => std::future::pending().await,
            };
            kind.as_raw_value()
        })
    });
    select_all(received).await.0
}

/// Waits for Ctrl-C. Returns the number of the signal on Unix.
#[cfg(not(unix))]
pub(crate) async fn signal() -> i32 {
    match tokio::signal::ctrl_c().await {
        Ok(()) => 2,
        Err(_) => std::future::pending().await,
    }
}
