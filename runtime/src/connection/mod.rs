//! Connections: reading, dispatching and writing messages within limits.
//!
//! * `run` is the main loop: it reads and writes messages, and shuts the connection down.
//! * `dispatcher` sends each incoming message where it belongs, notifications to the `notification_queue`.
//! * `executor` runs requests within the `limits`, and `queue` holds those that have to wait. `inline_poll` avoids a
//!   task for requests that complete at once.
//! * `handler` calls the service with one request. `response` encodes responses.
//! * `state` is shared by all requests of a connection.
//! * `one_shot` handles a single request without a connection.

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
