//! Connections: reading, dispatching and writing messages within limits.

mod dispatcher;
mod limits;
mod queue;
mod run;

pub use limits::Limits;
pub use run::Connection;
