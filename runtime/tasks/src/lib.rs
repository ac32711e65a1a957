//! Tasks of the Model Context Protocol: a request gets a task as its response, and the result can be fetched later.
//!
//! In 2025-11-25, servers and clients can run tasks, and the sender of a request decides whether it runs as one. In
//! 2026-07-28, servers run tool calls as tasks with the extension [`TasksExtension`], for clients that have it.
//!
//! | to | use |
//! |---|---|
//! | run the calls of a tool as tasks | [`TaskToolExt::task`], [`TaskToolExt::deferred_task`] |
//! | choose where a server stores its tasks | [`ServeTasks::tasks`], [`TaskStore`] |
//! | let the calls of a client run as tasks | [`CallTasks::tasks`] |
//! | run other requests as tasks, or those of a router | [`Tasks::on`], [`TasksExtension::tool_calls`] |
//! | send such a request | [`TaskPeerExt`] |
//!
//! # Files
//!
//! * `store` is the trait of task stores, `json` converts stored tasks to text, and `memory` is the in-memory store.
//! * `state` has [`Tasks`]: `handlers` handles requests with it, `create` creates tasks, and `runner` runs them.
//! * `extension` is the extension: `rounds` runs its tasks, `input` requests input for them, and `watch` notifies
//!   clients of changes.
//! * `server` and `tool` use these for servers of tools; `results` and `peer` are for clients.

#![allow(deprecated, reason = "the newest revision deprecates kinds of input")]

mod create;
mod extension;
mod handlers;
mod input;
mod json;
mod memory;
mod peer;
mod results;
mod rounds;
mod runner;
mod server;
mod state;
mod store;
mod support;
mod tool;
mod watch;

pub use extension::TasksExtension;
pub use memory::InMemoryTaskStore;
pub use peer::TaskPeerExt;
pub use results::CallTasks;
pub use server::ServeTasks;
pub use state::Tasks;
pub use store::{StoredTask, TaskChange, TaskOutcome, TaskStore, has_ended};
pub use support::{TaskLimits, TaskSupport, capability};
pub use tool::{TaskContextExt, TaskToolExt};
