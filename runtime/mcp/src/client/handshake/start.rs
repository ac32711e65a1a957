//! The ways in which a connection starts.

use std::time::Duration;

/// How a connection starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// On streams that cannot be reopened.
    Streams,
    /// With a process that can be restarted.
    #[cfg(feature = "stdio")]
    Command,
}

impl Start {
    /// Returns how long a server may be silent before it is sent `initialize`, too.
    pub(super) fn patience(self, discover_timeout: Duration) -> Duration {
        match self {
            Self::Streams => discover_timeout,
            // Some servers fail on the first request, and exit only when they receive a second one.
            #[cfg(feature = "stdio")]
            Self::Command => discover_timeout.min(Duration::from_secs(5)),
        }
    }
}
