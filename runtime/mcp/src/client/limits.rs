//! A client's limits for multi-round requests and for lists.

use std::time::Duration;

use derive_setters::Setters;

/// Limits a client's multi-round requests. Set it with [`Client::with_round_limits`](crate::Client::with_round_limits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct RoundLimits {
    /// How many times a request is sent again. Defaults to 16.
    pub rounds: usize,
    /// The maximum number of input requests in one result. Defaults to 64.
    pub requests: usize,
    /// How long to wait before sending a request again if the result has no input requests. Doubles each time, up to
    /// five seconds. Defaults to 50 ms.
    pub retry_delay: Duration,
}

impl Default for RoundLimits {
    fn default() -> Self {
        Self { rounds: 16, requests: 64, retry_delay: Duration::from_millis(50) }
    }
}

/// Limits how much of a list a client reads with [`Client::tools`](crate::Client::tools),
/// [`Client::pages`](crate::Client::pages) and the like, since a server could send pages forever. Set it with
/// [`Client::with_page_limits`](crate::Client::with_page_limits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct PageLimits {
    /// The maximum number of pages of one list. Defaults to 1,000.
    pub pages: usize,
    /// The maximum size of all results of one list, in bytes. Defaults to 64 MiB.
    pub bytes: usize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self { pages: 1000, bytes: 64 << 20 }
    }
}
