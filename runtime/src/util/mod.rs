//! Small additions to the standard library.

pub(crate) mod error_chain;
#[cfg(any(feature = "bridge", feature = "handles", feature = "request-state", feature = "tasks"))]
pub(crate) mod expiring_map;
pub(crate) mod lock;
#[cfg(any(
    feature = "bridge",
    feature = "handles",
    feature = "http-server",
    feature = "request-state",
    feature = "tasks"
))]
pub(crate) mod random;
pub(crate) mod similar;
pub(crate) mod time;
