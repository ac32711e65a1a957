//! Whether a client connects over streams or to a process.

use std::time::Duration;

#[cfg_attr(not(feature = "stdio"), allow(dead_code, reason = "only the feature `stdio` starts processes"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Streams, which cannot be reopened.
    Streams,
    /// A process, which can be restarted.
    Command,
}

impl Start {
    /// Returns how long a server may be silent before it is also sent `initialize`.
    pub(super) fn patience(self, discover_timeout: Duration) -> Duration {
        match self {
            Self::Streams => discover_timeout,
            // Some servers fail on the first request, but exit only when they receive a second one.
            Self::Command => discover_timeout.min(Duration::from_secs(5)),
        }
    }
}
