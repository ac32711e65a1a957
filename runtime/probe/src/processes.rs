//! Processes of servers, and the signals that end a command.

use std::sync::LazyLock;

use tokio_util::task::TaskTracker;

/// Tasks that end servers' processes and connections.
static TRACKER: LazyLock<TaskTracker> = LazyLock::new(TaskTracker::new);

/// This process waits for these tasks before it exits.
pub(crate) fn tracker() -> &'static TaskTracker {
    &TRACKER
}

/// Waits until the servers have exited or a signal arrives. Any that are left are killed when the runtime shuts down.
pub(crate) async fn ended() {
    TRACKER.close();
    tokio::select! {
        () = TRACKER.wait() => {}
        _ = signal() => {}
    }
}

/// Waits for a signal to exit, and returns its number.
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

/// Waits for Ctrl-C, and returns the signal number that it has on Unix.
#[cfg(not(unix))]
pub(crate) async fn signal() -> i32 {
    match tokio::signal::ctrl_c().await {
        Ok(()) => 2,
        Err(_) => std::future::pending().await,
    }
}
