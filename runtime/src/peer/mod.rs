//! The peer: sends requests and notifications to the other side of a connection.
//!
//! * `handle` is the [`Peer`]. `call` adds requests to it, and `notify` notifications; `message` encodes both.
//! * `pending` are the requests that have no response yet; `progress` are reports about them.
//! * `input_requests` are the peer's requests that this side handles, which pause the timeouts of calls.
//! * `backlog` counts the notifications that are not handled yet.
//! * `change_listeners` are callbacks for notifications of changes.
//! * `outbox` is the queue of outgoing messages.
//! * `task_scope` is a task on whose behalf messages are sent.

mod backlog;
mod call;
mod change_listeners;
mod error;
mod handle;
mod input_requests;
mod message;
mod notify;
pub(crate) mod outbox;
mod pending;
mod progress;
mod task_scope;

pub use call::{Call, RequestBuilder};
pub(crate) use change_listeners::ChangeListener;
pub use error::CallError;
pub(crate) use handle::DisconnectOnDrop;
pub use handle::Peer;
pub(crate) use input_requests::OpenInputRequest;
pub(crate) use message::member;
pub use progress::Progress;
#[cfg(feature = "tasks")]
pub(crate) use task_scope::TaskScope;
