//! The ways in which a connection starts.

use std::time::Duration;

/// How a connection starts.
#[cfg_attr(not(feature = "stdio"), allow(dead_code, reason = "only the feature `stdio` starts processes"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// On streams that cannot be reopened.
    Streams,
    /// With a process that can be restarted.
    Command,
}

impl Start {
    /// Returns how long a server may be silent before it is sent `initialize`, too.
    pub(super) fn patience(self, discover_timeout: Duration) -> Duration {
        match self {
            Self::Streams => discover_timeout,
            // Some servers fail on the first request, and exit only when they receive a second one.
            Self::Command => discover_timeout.min(Duration::from_secs(5)),
        }
    }
}
