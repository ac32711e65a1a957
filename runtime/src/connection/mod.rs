//! Connections: reading, dispatching and writing messages within limits.
//!
//! * `run` reads and writes messages, and shuts the connection down.
//! * `dispatcher` dispatches incoming messages. `notification_queue` holds notifications for their handlers.
//! * `executor` runs requests within the `limits`; `queue` holds those that wait. `inline_poll` decides which requests
//!   need a task.
//! * `handler` handles one request with the service. `response` creates responses.
//! * `shared` is the state that the requests of a connection share.

mod dispatcher;
mod executor;
mod handler;
mod inline_poll;
mod limits;
mod notification_queue;
mod queue;
mod response;
mod run;
mod shared;

pub use limits::Limits;
pub use run::Connection;
