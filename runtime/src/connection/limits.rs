//! Limits of a connection.

use std::collections::HashMap;
use std::time::Duration;

/// Limits of a connection: how many and how large its messages may be, and how long calls and handlers may take.
///
/// Requests beyond `in_flight` or `memory` are queued. Requests beyond the queue's limits are rejected with an error.
#[derive(Clone, Debug, derive_setters::Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Limits {
    /// Maximum number of requests whose handlers run at the same time. Defaults to 256.
    pub in_flight: usize,
    /// Maximum memory of the requests whose handlers run at the same time, in bytes: their text, its index, and an
    /// estimate of the decoded values, which may take 30 times the length of the text. A message that exceeds this on
    /// its own is not decoded: a request is rejected with -32600, a notification is dropped with a warning, and a
    /// response fails its call. Defaults to 256 MiB.
    pub memory: usize,
    /// Maximum number of queued requests. More are rejected. Defaults to 16,384.
    pub queued_requests: usize,
    /// Maximum memory of all queued requests, in bytes: their text and its index. Further requests are rejected.
    /// Defaults to 64 MiB.
    pub queued_request_bytes: usize,
    /// Maximum number of notifications that wait for their handlers. More are dropped with a warning. Defaults to 1024.
    pub queued_notifications: usize,
    /// Maximum memory of the params of all queued notifications, in bytes: their text and its index. Further ones
    /// are dropped with a warning, but a single notification may be larger. Defaults to 16 MiB.
    pub queued_notification_bytes: usize,
    /// Maximum number of running [long-lived](crate::protocol::Rules::long_lived) requests, such as subscriptions. More
    /// are rejected. They do not count toward `in_flight`, and `handler_timeout` does not apply to them. Defaults to
    /// 256.
    pub long_lived: usize,
    /// Maximum number of bytes queued for writing. Sending waits while the queue is full. Defaults to 4 MiB.
    pub outbox_bytes: u32,
    /// Whether each request's handler gets a tokio task right away. By default, the connection's task polls each
    /// handler first, which is faster, but lets a handler that blocks its thread delay the messages that follow. Set
    /// this to `true` on a multi-threaded runtime if handlers block and cannot use `spawn_blocking`. Defaults to
    /// `false`.
    pub spawn_handlers: bool,
    /// How long a request or notification handler may run. `None`, the default, means no timeout.
    pub handler_timeout: Option<Duration>,
    /// Timeouts of request handlers by method, which override `handler_timeout`. Empty by default.
    pub handler_timeouts: HashMap<String, Duration>,
    /// How long a call waits for its response or the next progress notification. Defaults to 60 seconds.
    pub idle_timeout: Option<Duration>,
    /// How long a call waits for its response in total, regardless of progress. Defaults to 30 minutes.
    pub call_timeout: Option<Duration>,
    /// How long a message waits for the handlers of earlier notifications: a request before it is handled, and a call
    /// once its response has arrived. After that, a warning names the slow notification, and the wait ends. `None`
    /// waits as long as the handlers take. A call made by such a handler does not wait. But if the handler awaits a
    /// task that makes a call, the two wait for each other until the limit passes. Defaults to 1 second.
    pub notification_wait: Option<Duration>,
    /// How long running requests, queued notifications and writing may take to finish after the connection stops
    /// reading. Writing gets at least one second, or all of a shorter timeout. Defaults to 10 seconds.
    pub drain_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            in_flight: 256,
            memory: 256 << 20,
            queued_requests: 16_384,
            queued_request_bytes: 64 << 20,
            queued_notifications: 1024,
            queued_notification_bytes: 16 << 20,
            long_lived: 256,
            outbox_bytes: 4 << 20,
            spawn_handlers: false,
            handler_timeout: None,
            handler_timeouts: HashMap::new(),
            idle_timeout: Some(Duration::from_secs(60)),
            call_timeout: Some(Duration::from_secs(30 * 60)),
            notification_wait: Some(Duration::from_secs(1)),
            drain_timeout: Duration::from_secs(10),
        }
    }
}

/// Sleeps for `limit` and returns it. Without a limit, waits forever.
pub(super) async fn expired(limit: Option<Duration>) -> Duration {
    match limit {
        Some(limit) => {
            tokio::time::sleep(limit).await;
            limit
        }
        None => std::future::pending().await,
    }
}
