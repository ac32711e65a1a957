//! The peer: sends requests and notifications to the other side of a connection.
//!
//! * `handle` is the [`Peer`]. `call` adds requests to it, and `notify` notifications; `message` encodes both.
//! * `pending` are the requests that have no response yet; `progress` are reports about them.
//! * `outbox` is the queue of outgoing messages.
//! * `task_scope` is a task on whose behalf messages are sent.

mod call;
mod error;
mod handle;
mod message;
mod notify;
pub(crate) mod outbox;
mod pending;
mod progress;
mod task_scope;

pub use call::{Call, RequestBuilder};
pub use error::CallError;
pub(crate) use handle::DisconnectOnDrop;
pub use handle::Peer;
pub(crate) use message::member;
pub use progress::Progress;
#[cfg(feature = "tasks")]
pub(crate) use task_scope::TaskScope;
