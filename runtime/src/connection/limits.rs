//! The limits of a connection.

use std::collections::HashMap;
use std::time::Duration;

/// Limits of a connection: how much work it accepts at a time, and how long calls and handlers may take.
///
/// Requests beyond `in_flight` are queued. Requests beyond the queue's limits are rejected with an error.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The maximum number of requests whose handlers run at the same time. Defaults to 256.
    pub in_flight: usize,
    /// The maximum number of queued requests. More are rejected. Defaults to 16,384.
    pub waiting: usize,
    /// The maximum size of all queued requests, in bytes. More are rejected. Defaults to 64 MiB.
    pub waiting_bytes: usize,
    /// The maximum number of notifications queued for their handlers. More are dropped with a warning. Defaults to
    /// 1024.
    pub notifications: usize,
    /// The maximum size of the params of all queued notifications, in bytes. More are dropped with a warning. A
    /// notification may be larger if no other is queued. Defaults to 16 MiB.
    pub notification_bytes: usize,
    /// The maximum number of running requests whose response comes only when something else ends:
    /// `subscriptions/listen` and `tasks/result`. More are rejected. They do not count as `in_flight`, and `handler`
    /// does not apply to them. Defaults to 256.
    pub lasting: usize,
    /// The maximum number of bytes queued for writing. Sending waits while the queue is full. Defaults to 4 MiB.
    pub outbox: u32,
    /// The timeout of request and notification handlers. `None`, the default, means no timeout.
    pub handler: Option<Duration>,
    /// Timeouts of request handlers by method, which take precedence over `handler`. Empty by default.
    pub handlers: HashMap<String, Duration>,
    /// How long a call waits for its response or the next progress notification. Defaults to 60 seconds.
    pub idle: Option<Duration>,
    /// How long a call waits for its response in total, regardless of progress. Defaults to 30 minutes.
    pub call: Option<Duration>,
    /// How long running requests and queued messages may take to finish after the connection stops reading. Applies
    /// to requests, queued notifications and writing together, except that writing gets at least a second of it.
    /// Defaults to 10 seconds.
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
