//! The peer: sends requests and notifications to the other side of a connection.
//!
//! * `handle` defines [`Peer`], `call` its methods for requests, and `notify` those for notifications. `message`
//!   encodes both.
//! * `pending` holds outgoing requests until their responses arrive.
//! * `input_requests` stops the timeouts of calls while the user answers a question.
//! * `backlog` tracks incoming notifications until they are handled.
//! * `outbox` queues outgoing messages.

mod backlog;
mod call;
mod handle;
mod input_requests;
mod message;
mod notify;
pub(crate) mod outbox;
mod pending;

pub(crate) use backlog::Mark;
pub use call::{Call, ProgressReports, RequestBuilder};
pub(crate) use handle::Timeouts;
pub use handle::{DisconnectOnDrop, Peer};

pub use crate::error::CallError;
pub(crate) use input_requests::OpenInputRequest;
