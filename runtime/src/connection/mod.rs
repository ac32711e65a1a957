//! Connections: reading, dispatching and writing messages within limits.
//!
//! * `run` reads and writes messages, and shuts the connection down.
//! * `dispatcher` dispatches incoming messages. `notification_queue` holds notifications for their handlers.
//! * `executor` runs requests within the `limits`; `queue` holds those that wait. `inline_poll` decides which requests
//!   need a task.
//! * `handler` handles one request with the service. `response` creates responses.
//! * `state` is the state that the requests of a connection share.
//! * `one_shot` handles a request that arrives alone, without a connection.

mod dispatcher;
mod executor;
mod handler;
mod inline_poll;
mod limits;
mod notification_queue;
mod one_shot;
mod queue;
mod response;
mod run;
mod state;

pub use limits::Limits;
pub use one_shot::{Exchange, OneShot};
pub use run::Connection;
