//! The options of a connection.

use std::time::Duration;

/// How to connect to Redis, and the limits of what is stored.
#[derive(Clone, derive_setters::Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct RedisOptions {
    /// The URL: `redis://[user:password@]host[:port][/database]`, `rediss://` for TLS (feature `tls`), or
    /// `redis+unix:///path` for a socket.
    pub url: String,
    /// The beginning of all keys and channels. Servers that must not share state need different prefixes. The default
    /// is `mcpgen`.
    pub prefix: String,
    /// The root certificates for TLS in PEM format. By default, those of Mozilla.
    pub root_certificates: Option<Vec<u8>>,
    /// The time after which an operation fails. The default is 2 s.
    pub timeout: Duration,
    /// The time after which a replica that does not renew its lease is considered dead. It renews the lease three
    /// times as often. The default is 3 s.
    pub lease: Duration,
    /// The maximum number of sessions. The default is 1,000,000.
    pub max_sessions: usize,
    /// The maximum size of the stored events of a stream, in bytes. The default is 256 KiB.
    pub max_stream_bytes: usize,
    /// The maximum number of stored streams of a session. The oldest ones are removed, except the one for messages that
    /// belong to no request. The default is 512, more than the streams that a session keeps
    /// (`EndpointOptions::streams_per_session`).
    pub max_streams: usize,
    /// The maximum size of all stored events of a session, in bytes. The oldest streams are removed, as for
    /// [`max_streams`](Self::max_streams). The default is 1 MiB.
    pub max_session_bytes: usize,
    /// The maximum number of tasks of an owner. The default is 1,000.
    pub max_tasks_per_owner: usize,
    /// The number of changes that a replica may be behind before it misses some. The default is 10,000.
    pub max_changes: usize,
    /// The maximum number of forwarded requests that a replica handles at the same time. The default is 10,000.
    pub max_exchanges: usize,
    /// The lifetime of request states. The default is 15 min, as for the codec that a server creates.
    pub request_state_lifetime: Duration,
    /// The maximum number of used request states that have not expired. At the limit, no state is accepted until one
    /// expires. The default is 1,000,000, about 100 MB in Redis.
    pub max_used_states: usize,
    /// The time after which a new key signs request states. The default is 24 h.
    pub key_rotation: Duration,
}

impl RedisOptions {
    /// Creates options with the defaults.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            prefix: "mcpgen".to_owned(),
            root_certificates: None,
            timeout: Duration::from_secs(2),
            lease: Duration::from_secs(3),
            max_sessions: 1_000_000,
            max_stream_bytes: 256 << 10,
            max_streams: 512,
            max_session_bytes: 1 << 20,
            max_tasks_per_owner: 1_000,
            max_changes: 10_000,
            max_exchanges: 10_000,
            request_state_lifetime: Duration::from_secs(15 * 60),
            max_used_states: 1_000_000,
            key_rotation: Duration::from_secs(24 * 3600),
        }
    }
}

/// Creates options with the defaults from a URL.
impl From<&str> for RedisOptions {
    fn from(url: &str) -> Self {
        Self::new(url)
    }
}

/// Creates options with the defaults from a URL.
impl From<String> for RedisOptions {
    fn from(url: String) -> Self {
        Self::new(url)
    }
}

/// Omits the URL, because it may contain a password.
impl std::fmt::Debug for RedisOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisOptions").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
