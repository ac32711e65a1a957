//! The peer: sends requests and notifications to the other side of a connection.
//!
//! * `handle` is the [`Peer`]. `call` adds requests to it, and `notify` notifications; `message` encodes both.
//! * `pending` are the requests that have no response yet.
//! * `input_requests` are the peer's requests that this side handles, which can pause the timeouts of calls.
//! * `backlog` counts the notifications that are not handled yet.
//! * `outbox` is the queue of outgoing messages.

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
