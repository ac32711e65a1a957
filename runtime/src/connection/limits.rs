//! Limits of a connection.

use std::collections::HashMap;
use std::time::Duration;

/// How much a connection takes on at a time. Requests beyond wait, or are refused with a clear error.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Requests whose handlers run.
    pub in_flight: usize,
    /// Requests that wait for others to end; more are refused.
    pub waiting: usize,
    /// Bytes of the requests that wait; more are refused.
    pub waiting_bytes: usize,
    /// Notifications that wait for their handlers; more are dropped, with a warning.
    pub notifications: usize,
    /// Bytes of the params of notifications that wait for their handlers; more are dropped, with a warning. A single
    /// notification may be larger.
    pub notification_bytes: usize,
    /// Requests that are answered only when something else ends (`subscriptions/listen`, `tasks/result`), at a time. They
    /// are none of those `in_flight`, and `handler` is not for them.
    pub lasting: usize,
    /// Bytes that wait to be written. Whoever sends more waits.
    pub outbox: u32,
    /// How long a handler may take, be it of a request or of a notification; `None`: as long as it likes.
    pub handler: Option<Duration>,
    /// The same by method, before `handler`.
    pub handlers: HashMap<String, Duration>,
    /// How long a call waits for an answer or a report of progress.
    pub idle: Option<Duration>,
    /// How long a call waits whatever is reported.
    pub call: Option<Duration>,
    /// How long handlers may go on when nothing more arrives.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            in_flight: 256,
            waiting: 16_384,
            waiting_bytes: 64 << 20,
            notifications: 1024,
            notification_bytes: 16 << 20,
            lasting: 256,
            outbox: 4 << 20,
            handler: None,
            handlers: HashMap::new(),
            idle: Some(Duration::from_secs(60)),
            call: Some(Duration::from_secs(30 * 60)),
            drain: Duration::from_secs(10),
        }
    }
}
