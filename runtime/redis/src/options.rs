//! Connection options.

use std::time::Duration;

/// How to connect to Redis, and how much to store.
#[derive(Clone, derive_setters::Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct RedisOptions {
    /// The URL: `redis://[user:password@]host[:port][/database]`, `rediss://` for TLS (feature `tls`), or
    /// `redis+unix:///path` for a socket.
    pub url: String,
    /// Prefix of all keys and channels. Servers that must not share state need different prefixes. Defaults to
    /// `mcpgen`.
    pub prefix: String,
    /// Root certificates for TLS, as PEM. Defaults to Mozilla's.
    pub root_certificates: Option<Vec<u8>>,
    /// How long an operation may take. Defaults to 2 seconds.
    pub timeout: Duration,
    /// After this time without renewing its lease, a replica counts as dead. A replica renews its lease three times in
    /// this time. Defaults to 3 seconds.
    pub lease: Duration,
    /// Maximum number of sessions. Defaults to 1,000,000.
    pub max_sessions: usize,
    /// Maximum size of a stream's stored events, in bytes. Defaults to 256 KiB.
    pub max_stream_bytes: usize,
    /// Maximum number of a session's stored streams. The oldest are removed, except the one for messages that belong to
    /// no request. Defaults to 512, more than a session keeps (`EndpointOptions::streams_per_session`).
    pub max_streams: usize,
    /// Maximum size of a session's stored events, in bytes. The oldest streams are removed, as for
    /// [`max_streams`](Self::max_streams). Defaults to 1 MiB.
    pub max_session_bytes: usize,
    /// Maximum number of tasks per owner. Defaults to 1,000.
    pub max_tasks_per_owner: usize,
    /// How many changes a replica may lag behind before it misses some. Defaults to 10,000.
    pub max_changes: usize,
    /// Maximum number of forwarded requests that a replica handles at once. Defaults to 10,000.
    pub max_exchanges: usize,
    /// Lifetime of request states. Defaults to 15 minutes, as for the codec that a server creates by itself.
    pub request_state_lifetime: Duration,
    /// Maximum number of used request states that have not expired. At the limit, no state is accepted until one
    /// expires. Defaults to 1,000,000, which takes about 100 MB in Redis.
    pub max_used_states: usize,
    /// How long a key signs request states before a new one does. Defaults to 24 h.
    pub key_rotation: Duration,
}

impl RedisOptions {
    /// Creates options with defaults.
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

/// Creates options with defaults from a URL.
impl From<&str> for RedisOptions {
    fn from(url: &str) -> Self {
        Self::new(url)
    }
}

/// Creates options with defaults from a URL.
impl From<String> for RedisOptions {
    fn from(url: String) -> Self {
        Self::new(url)
    }
}

/// Omits the URL, which may contain a password.
impl std::fmt::Debug for RedisOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisOptions").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
