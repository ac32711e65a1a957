//! Time limits.

use std::time::Duration;

/// Waits until the limit has passed, and returns it. Without a limit it waits forever.
pub(crate) async fn expired(limit: Option<Duration>) -> Duration {
    match limit {
        Some(limit) => {
            tokio::time::sleep(limit).await;
            limit
        }
        None => std::future::pending().await,
    }
}
