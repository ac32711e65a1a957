//! The trait of task stores.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use mcpgen_types::v2025_11_25::{Task, TaskStatus};
use mcpgen_types::{ErrorCode, ErrorObject, Json, Map};

/// The result or error of a request that runs as a task.
pub type TaskOutcome = Result<Json, ErrorObject>;

/// Stores tasks. Errors that a store returns reach the peer.
///
/// Processes that share a store can serve the same clients. A process that waits for a change to a task, such as a
/// response to an input request, reads the task every [`poll_interval`](super::TaskLimits). A store outside the
/// process converts tasks with [`StoredTask::to_json`] and [`StoredTask::from_json`].
pub trait TaskStore: Send + Sync + 'static {
    /// Stores a new task with a new ID. Once this returns, [`get`](Self::get) must find the task in every process.
    fn create(&self, entry: StoredTask) -> BoxFuture<'_, Result<(), ErrorObject>>;

    /// Returns a task, or `None` if it does not exist or has expired.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<StoredTask>, ErrorObject>>;

    /// Changes a task atomically with [`TaskChange::apply`], and returns the changed task. Returns `None` if the task
    /// does not exist, or if `apply` rejects the change.
    ///
    /// A store without locks can read the task, apply the change, and write the task unless someone else has changed it
    /// meanwhile, in which case it starts over.
    fn change<'a>(&'a self, id: &'a str, change: TaskChange) -> BoxFuture<'a, Result<Option<StoredTask>, ErrorObject>>;

    /// Returns up to `most` of an owner's tasks, ordered by ID, after the ID `after` if there is one.
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

    fn change<'a>(&'a self, id: &'a str, change: TaskChange) -> BoxFuture<'a, Result<Option<StoredTask>, ErrorObject>> {
        (**self).change(id, change)
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

/// A stored task.
#[derive(Clone, Debug)]
pub struct StoredTask {
    /// The task as the peer sees it.
    pub task: Task,
    /// The owner; see [`Tasks::owned_by`](super::Tasks::owned_by).
    pub owner: String,
    /// When the task expires.
    pub until: Timestamp,
    /// The outcome, once the task has ended.
    pub outcome: Option<TaskOutcome>,
    /// Open input requests by key (2026-07-28).
    pub input_requests: Map<String, Json>,
    /// Responses to input requests by key (2026-07-28).
    pub input_responses: Map<String, Json>,
}

impl StoredTask {
    /// Returns whether the task has expired. A store must no longer return it then.
    #[must_use]
    pub fn has_expired(&self) -> bool {
        self.until <= Timestamp::now()
    }
}

/// A change to a stored task.
#[derive(Clone, Debug)]
pub struct TaskChange {
    at: Timestamp,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Status(TaskStatus),
    End(TaskStatus, Option<String>, TaskOutcome),
    Request(Map<String, Json>),
    Respond(Map<String, Json>),
}

impl TaskChange {
    fn now(kind: Kind) -> Self {
        Self { at: Timestamp::now(), kind }
    }

    /// Creates a change of status.
    #[must_use]
    pub fn status(status: TaskStatus) -> Self {
        Self::now(Kind::Status(status))
    }

    /// Creates a change that ends a task.
    #[must_use]
    pub fn end(status: TaskStatus, message: Option<String>, outcome: TaskOutcome) -> Self {
        Self::now(Kind::End(status, message, outcome))
    }

    /// Creates a change that ends a task whose process has died. The client learns `why`.
    #[must_use]
    pub fn fail(why: &str) -> Self {
        let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, why);
        Self::end(TaskStatus::Failed, Some(why.to_owned()), Err(error))
    }

    /// Creates a change that adds input requests.
    #[must_use]
    pub fn request(requests: Map<String, Json>) -> Self {
        Self::now(Kind::Request(requests))
    }

    /// Creates a change that adds responses to input requests.
    #[must_use]
    pub fn respond(responses: Map<String, Json>) -> Self {
        Self::now(Kind::Respond(responses))
    }

    /// Applies the change. Returns `false`, and changes nothing, if the task has ended.
    #[must_use]
    pub fn apply(&self, stored: &mut StoredTask) -> bool {
        let StoredTask { task, outcome, input_requests, input_responses, .. } = stored;
        if has_ended(task.status) {
            return false;
        }
        let (status, message) = match &self.kind {
            Kind::Status(status) => (*status, None),
            Kind::End(status, message, ended) => {
                *outcome = Some(ended.clone());
                *input_requests = Map::new();
                *input_responses = Map::new();
                (*status, message.clone())
            }
            Kind::Request(requests) => {
                for (key, request) in requests {
                    // A key stays with one request for the task's whole life.
                    if !input_responses.contains_key(key) && !input_requests.contains_key(key) {
                        input_requests.insert(key.clone(), request.clone());
                    }
                }
                (waiting_status(input_requests), None)
            }
            Kind::Respond(responses) => {
                // Responses to unknown requests, and second responses, are ignored.
                for (key, response) in responses {
                    if input_requests.remove(key).is_some() {
                        input_responses.insert(key.clone(), response.clone());
                    }
                }
                (waiting_status(input_requests), None)
            }
        };
        (task.status, task.status_message, task.last_updated_at) = (status, message, timestamp(self.at));
        true
    }
}

fn waiting_status(input_requests: &Map<String, Json>) -> TaskStatus {
    match input_requests.is_empty() {
        true => TaskStatus::Working,
        false => TaskStatus::InputRequired,
    }
}

/// Returns whether this status is final.
#[must_use]
pub fn has_ended(status: TaskStatus) -> bool {
    matches!(status, TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled)
}

pub(super) fn timestamp(time: Timestamp) -> String {
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: serde_json::Value) -> Map<String, Json> {
        mcpgen_types::from_value(value).expect("an object")
    }

    fn working() -> StoredTask {
        let now = timestamp(Timestamp::UNIX_EPOCH);
        StoredTask {
            task: Task::new("id", TaskStatus::Working, now.clone(), Some(1)).last_updated_at(now),
            owner: "alice".to_owned(),
            until: Timestamp::UNIX_EPOCH,
            outcome: None,
            input_requests: Map::new(),
            input_responses: Map::new(),
        }
    }

    #[test]
    fn waits_until_all_requests_have_responses() {
        let mut stored = working();
        assert!(TaskChange::request(object(json!({ "a": 1, "b": 2 }))).apply(&mut stored));
        assert_eq!(stored.task.status, TaskStatus::InputRequired);
        assert_ne!(stored.task.last_updated_at, stored.task.created_at);
        assert!(TaskChange::respond(object(json!({ "a": 3, "c": 4 }))).apply(&mut stored));
        assert_eq!((stored.task.status, stored.input_requests.len()), (TaskStatus::InputRequired, 1));
        assert!(TaskChange::respond(object(json!({ "a": 5, "b": 6 }))).apply(&mut stored));
        assert_eq!(stored.task.status, TaskStatus::Working);
        assert_eq!(stored.input_responses, object(json!({ "a": 3, "b": 6 })));
    }

    #[test]
    fn a_key_belongs_to_one_request() {
        let mut stored = working();
        for change in [
            TaskChange::request(object(json!({ "a": 1 }))),
            TaskChange::request(object(json!({ "a": 2 }))),
            TaskChange::respond(object(json!({ "a": 3 }))),
            TaskChange::request(object(json!({ "a": 4 }))),
        ] {
            assert!(change.apply(&mut stored));
            assert!(stored.input_requests.get("a").is_none_or(|request| *request == json!(1)));
        }
        assert_eq!((stored.task.status, stored.input_responses["a"].text()), (TaskStatus::Working, "3"));
    }

    #[test]
    fn tasks_that_have_ended_do_not_change() {
        let mut stored = working();
        assert!(TaskChange::request(object(json!({ "a": 1 }))).apply(&mut stored));
        let error = ErrorObject::new(-1, "failed");
        let end = TaskChange::end(TaskStatus::Failed, Some("why".to_owned()), Err(error.clone()));
        assert!(end.apply(&mut stored));
        assert!(stored.input_requests.is_empty());
        for change in [end, TaskChange::status(TaskStatus::Working), TaskChange::respond(object(json!({ "a": 1 })))] {
            assert!(!change.apply(&mut stored));
        }
        assert_eq!((stored.task.status, stored.outcome), (TaskStatus::Failed, Some(Err(error))));
    }
}
