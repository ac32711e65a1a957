//! Time limits.

use std::time::Duration;

/// Sleeps for `limit` and returns it. Without a limit, waits forever.
pub(crate) async fn expired(limit: Option<Duration>) -> Duration {
    match limit {
        Some(limit) => {
            tokio::time::sleep(limit).await;
            limit
        }
        None => std::future::pending().await,
    }
}
