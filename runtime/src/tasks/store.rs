//! The trait of task stores.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use mcpgen_types::v2025_11_25::{Task, TaskStatus};
use mcpgen_types::{ErrorObject, RawJson};

/// The result or error of the request that runs as a task.
pub type TaskOutcome = Result<RawJson, ErrorObject>;

/// A stored task.
#[derive(Clone, Debug)]
pub struct StoredTask {
    /// The task as the peer sees it.
    pub task: Task,
    /// The task's owner. See [`Tasks::owned_by`].
    pub owner: String,
    /// When the task expires.
    pub until: Timestamp,
    /// The outcome, or `None` until the task has ended.
    pub outcome: Option<TaskOutcome>,
}

/// Stores tasks. The peer receives the errors that a store returns.
pub trait TaskStore: Send + Sync + 'static {
    /// Stores a new task. Its ID is not in the store yet.
    fn create(&self, entry: StoredTask) -> BoxFuture<'_, Result<(), ErrorObject>>;

    /// Returns a task, or `None` if it does not exist or has expired.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<StoredTask>, ErrorObject>>;

    /// Updates a task atomically unless it has ended. Returns `false` if it has ended or does not exist.
    fn advance(&self, task: Task, outcome: Option<TaskOutcome>) -> BoxFuture<'_, Result<bool, ErrorObject>>;

    /// Returns up to `most` tasks of an owner, ordered by ID. Starts after the ID `after` if one is given.
    fn list<'a>(
        &'a self,
        owner: &'a str,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, ErrorObject>>;
}

impl<S: TaskStore + ?Sized> TaskStore for Arc<S> {
    fn create(&self, entry: StoredTask) -> BoxFuture<'_, Result<(), ErrorObject>> {
        (**self).create(entry)
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<StoredTask>, ErrorObject>> {
        (**self).get(id)
    }

    fn advance(&self, task: Task, outcome: Option<TaskOutcome>) -> BoxFuture<'_, Result<bool, ErrorObject>> {
        (**self).advance(task, outcome)
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, ErrorObject>> {
        (**self).list(owner, after, most)
    }
}

/// Returns whether a task with this status has ended. Such a task does not change any more.
#[must_use]
pub fn has_ended(status: TaskStatus) -> bool {
    matches!(status, TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled)
}
