//! The limits of a client: rounds of a request, and pages of a list.

use std::time::Duration;

use derive_setters::Setters;

/// Limits a client's multi-round requests. Set it with [`Client::with_round_limits`](crate::Client::with_round_limits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct RoundLimits {
    /// The maximum number of times that a request is sent again. Default: 16.
    pub rounds: usize,
    /// The maximum number of input requests in one result. Default: 64.
    pub requests: usize,
    /// The delay before a request is sent again if the result has no input requests. It doubles each time, up to
    /// five seconds. Default: 50 ms.
    pub retry_delay: Duration,
}

impl Default for RoundLimits {
    fn default() -> Self {
        Self { rounds: 16, requests: 64, retry_delay: Duration::from_millis(50) }
    }
}

/// Limits how much of a list a client reads with [`Client::tools`](crate::Client::tools),
/// [`Client::pages`](crate::Client::pages) and similar methods, since a server could send pages without end. Set it
/// with [`Client::with_page_limits`](crate::Client::with_page_limits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct PageLimits {
    /// The maximum number of pages of one list. Default: 1,000.
    pub pages: usize,
    /// The maximum total size of the results of one list, in bytes. Default: 64 MiB.
    pub bytes: usize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self { pages: 1000, bytes: 64 << 20 }
    }
}
