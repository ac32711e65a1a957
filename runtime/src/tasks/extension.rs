//! The extension `io.modelcontextprotocol/tasks` of revision 2026-07-28.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use mcpgen_types::ext::tasks::{CancelTaskRequest, GetTaskRequest, TasksExtensionCapability, UpdateTaskRequest};
use mcpgen_types::v2025_11_25::{Task, TaskMetadata, TaskStatus};
use mcpgen_types::{ErrorObject, JsonObject, RawJson, Value};
use serde_json::json;
use tokio::sync::oneshot;

use super::create::{millis, new_id};
use super::input::{OpenInputs, Rounds};
use super::runner::timestamp;
use super::state::Tasks;
use super::store::StoredTask;
use crate::jsonrpc::errors;
use crate::service::context::Context;
use crate::service::extension::Extension;
use crate::service::router::{ResponseFuture, Router};

/// The extension `io.modelcontextprotocol/tasks`: tool calls that run as tasks in revision 2026-07-28.
///
/// The server decides whether a call runs as a task, and does so only for clients that declare the extension. The client
/// polls the task with `tasks/get`, which also returns its result. While the task waits for input, `tasks/get` returns
/// the input requests, and the client responds with `tasks/update`.
///
/// [`ServerBuilder::tasks`](crate::ServerBuilder::tasks) adds it to a server. The open input requests of a task are in
/// the memory of its process. If several processes serve the same clients, route requests by the header `Mcp-Name`,
/// which contains the ID of the task.
#[derive(Clone)]
pub struct TasksExtension {
    pub(super) tasks: Tasks,
    pub(super) inputs: Arc<OpenInputs>,
}

impl TasksExtension {
    /// Creates the extension. `tasks` has the store, the limits and the owners of the tasks.
    #[must_use]
    pub fn new(tasks: Tasks) -> Self {
        Self { tasks, inputs: Arc::default() }
    }

    /// Creates a task for a request, starts it and returns it as the result. `run` runs one round of the request, with a
    /// context that has the input of the client.
    pub(crate) async fn create(
        &self,
        context: Context,
        run: impl Fn(Context) -> ResponseFuture + Send + Sync + 'static,
    ) -> Result<RawJson, ErrorObject> {
        let limits = &self.tasks.0.limits;
        let (id, ttl) = (new_id()?, limits.ttl.min(limits.max_ttl));
        let owner = (self.tasks.0.owner)(&context);
        let (slot, stop) = self.tasks.reserve_slot(&id, &owner)?;
        let now = Timestamp::now();
        let mut task = Task::new(timestamp(now), timestamp(now), TaskStatus::Working, id.clone(), Some(millis(ttl)));
        task.poll_interval = Some(millis(limits.poll_interval));
        let until = now.checked_add(ttl).unwrap_or(Timestamp::MAX);
        let entry = StoredTask { task: task.clone(), owner, until, outcome: None };
        let mut result = state_of(&entry, None);
        result.insert("resultType".to_owned(), "task".into());
        let (created, creation) = oneshot::channel();
        let span = tracing::info_span!("task", method = context.method(), %id);
        let this = self.clone();
        // Spawned, so that it runs to its end even if the request is cancelled meanwhile.
        let work = async move {
            let stored = this.tasks.0.store.create(entry).await;
            let is_stored = stored.is_ok();
            // If the request was cancelled, the client does not know the task, and nobody can fetch its result.
            let is_known = created.send(stored).is_ok();
            if is_stored {
                Rounds::new(this, task).run(context, run, stop, ttl, is_known).await;
            }
            drop(slot);
        };
        tokio::spawn(tracing::Instrument::instrument(work, span));
        creation.await.map_err(|_| errors::internal())??;
        Ok(RawJson::from(&result))
    }

    /// Creates a task that the client of revision 2025-11-25 has requested.
    pub(crate) async fn create_requested(
        &self,
        context: Context,
        metadata: TaskMetadata,
        run: impl FnOnce(Context) -> ResponseFuture + Send + 'static,
    ) -> Result<RawJson, ErrorObject> {
        self.tasks.clone().create(context, metadata, run).await
    }

    /// Adds the handlers of revision 2025-11-25, which has tasks without an extension.
    pub(crate) fn add_task_requests(&self, router: Router) -> Router {
        self.tasks.add_task_requests(router)
    }

    async fn get(&self, context: &Context, id: &str) -> Result<JsonObject, ErrorObject> {
        let stored = self.tasks.find(context, id).await?;
        Ok(state_of(&stored, self.inputs.open(id)))
    }

    async fn update(&self, context: &Context, id: &str, responses: JsonObject) -> Result<JsonObject, ErrorObject> {
        self.tasks.find(context, id).await?;
        self.inputs.respond(id, responses);
        Ok(JsonObject::new())
    }

    async fn cancel(&self, context: &Context, id: &str) -> Result<JsonObject, ErrorObject> {
        // The task may end otherwise before it notices the cancellation, which is not an error.
        self.tasks.stop(context, id).await.map(|_| JsonObject::new())
    }
}

impl Default for TasksExtension {
    fn default() -> Self {
        Self::new(Tasks::default())
    }
}

impl fmt::Debug for TasksExtension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TasksExtension").field("tasks", &self.tasks).finish_non_exhaustive()
    }
}

impl Extension for TasksExtension {
    const IDENTIFIER: &'static str = "io.modelcontextprotocol/tasks";
    type Settings = TasksExtensionCapability;

    fn settings(&self) -> TasksExtensionCapability {
        TasksExtensionCapability::default()
    }

    fn result_types(&self) -> &'static [&'static str] {
        &["task"]
    }

    fn handlers(&self, router: Router) -> Router {
        let [get, update, cancel] = [(); 3].map(|()| self.clone());
        router
            .encoded_request::<GetTaskRequest, _, _, _, _>(move |context, params| {
                let this = get.clone();
                async move { this.get(&context, &params.task_id).await }
            })
            .encoded_request::<UpdateTaskRequest, _, _, _, _>(move |context, params| {
                let this = update.clone();
                let responses = mcpgen_types::to_value(&params.input_responses).unwrap_or_default();
                async move {
                    let responses = responses.as_object().cloned().unwrap_or_default();
                    this.update(&context, &params.task_id, responses).await
                }
            })
            .encoded_request::<CancelTaskRequest, _, _, _, _>(move |context, params| {
                let this = cancel.clone();
                async move { this.cancel(&context, &params.task_id).await }
            })
    }
}

/// Returns the state of a task as the extension defines it. The result, the error and the open input requests are
/// members.
fn state_of(stored: &StoredTask, open: Option<JsonObject>) -> JsonObject {
    let Task { task_id, created_at, last_updated_at, ttl, poll_interval, status_message, .. } = &stored.task;
    let mut state = JsonObject::new();
    let mut insert = |name: &str, value: Value| drop(state.insert(name.to_owned(), value));
    insert("taskId", json!(task_id));
    insert("createdAt", json!(created_at));
    insert("lastUpdatedAt", json!(last_updated_at));
    insert("ttlMs", json!(ttl));
    if let Some(poll_interval) = poll_interval {
        insert("pollIntervalMs", json!(poll_interval));
    }
    if let Some(message) = status_message {
        insert("statusMessage", json!(message));
    }
    // The statuses of 2025-11-25 differ: there, the result of a failed tool is a failed task.
    let status = match (&stored.outcome, open) {
        (Some(Ok(result)), _) => {
            insert("result", result.decode().unwrap_or_default());
            "completed"
        }
        (Some(Err(_)), _) if stored.task.status == TaskStatus::Cancelled => "cancelled",
        (Some(Err(error)), _) => {
            insert("error", mcpgen_types::to_value(error).unwrap_or_default());
            "failed"
        }
        (None, Some(open)) => {
            insert("inputRequests", Value::Object(open));
            "input_required"
        }
        (None, None) => "working",
    };
    insert("status", json!(status));
    state
}
