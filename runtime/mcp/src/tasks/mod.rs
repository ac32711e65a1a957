//! Tasks: a request whose response is a task. The peer fetches the request's result later.
//!
//! In revision 2025-11-25, both servers and clients can run tasks. The receiver of a request uses [`Tasks::on`], which
//! runs handlers as tasks and handles the `tasks/*` requests. The sender uses
//! [`Peer::call_task`](mcpgen_runtime::Peer::call_task) and [`Peer::task_result`](mcpgen_runtime::Peer::task_result).
//!
//! In revision 2026-07-28, servers run tool calls as tasks with the extension [`TasksExtension`].
//!
//! `store` has the trait of task stores, `json` converts stored tasks to text, and `memory` is the store in memory.
//! `state` has [`Tasks`]: `handlers` handles requests with it, `create` creates tasks, and `runner` runs them.
//! `extension` has the extension: `rounds` runs its tasks, `input` requests input for them, and `watch` notifies clients
//! of their changes.

mod client;
mod create;
mod extension;
mod handlers;
mod input;
mod json;
mod memory;
mod rounds;
mod runner;
mod state;
mod store;
mod support;
mod watch;

pub use client::TaskPeerExt;
pub use extension::TasksExtension;
pub(crate) use handlers::task_metadata;
pub(crate) use input::TaskInput;
pub use memory::InMemoryTaskStore;
pub use state::Tasks;
pub use store::{StoredTask, TaskChange, TaskOutcome, TaskStore, has_ended};
pub use support::{TaskLimits, TaskSupport, capability};
pub(crate) use watch::WatchedTasks;
