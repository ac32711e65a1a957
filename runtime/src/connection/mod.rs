//! Connections: reading, dispatching and writing messages within limits.

mod dispatcher;
mod limits;
mod queue;
mod run;

#[cfg(feature = "http-server")]
pub(crate) use dispatcher::Inbound;
pub use limits::Limits;
pub use run::Connection;
