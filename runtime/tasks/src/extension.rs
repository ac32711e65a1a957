//! The extension `io.modelcontextprotocol/tasks` (2026-07-28).

use std::fmt;
use std::future::ready;

use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::router::{self, AnyRequest, RequestHandler, ResponseFuture, Router, encode_response};
use mcpgen_types::ext::tasks::{
    CancelTaskRequest, GetTaskRequest, TasksExtensionCapability, UpdateTaskRequest, UpdateTaskRequestParams,
};
use mcpgen_types::v2025_11_25::{Task, TaskMetadata, TaskStatus};
use mcpgen_types::v2026_07_28::CallToolRequest;
use mcpgen_types::{ErrorObject, Json, JsonObject, Map, Params, Request};

use super::input::TaskInput;
use super::rounds::TaskRounds;
use super::runner::Ending;
use super::state::Tasks;
use super::store::{StoredTask, TaskChange};
use super::support::TaskSupport;
use mcpgen_mcp::protocol::extension::Extension;
use mcpgen_mcp::protocol::{ContextExt, RouterExt};

/// The extension `io.modelcontextprotocol/tasks`: tool calls that run as tasks, in 2026-07-28.
///
/// The server decides which calls run as tasks, but only for clients that declare the extension. The client polls the
/// task with `tasks/get`, which eventually returns its result. While the task waits for input, `tasks/get` returns the
/// input requests, and the client answers with `tasks/update`. If the client subscribes to the task with
/// `subscriptions/listen`, it is also notified of changes.
///
/// A server of tools uses the extension with [`TaskToolExt::task`](super::TaskToolExt::task) and
/// [`ServeTasks::tasks`](super::ServeTasks::tasks), a client with [`CallTasks::tasks`](super::CallTasks::tasks). For a
/// server that is a router, use [`tool_calls`](Self::tool_calls).
///
/// A task runs in the process that received the call. Its state is in the [store](super::TaskStore), so any process
/// that shares the store can handle requests about the task.
#[derive(Clone)]
pub struct TasksExtension {
    pub(super) tasks: Tasks,
}

impl TasksExtension {
    /// Creates the extension. It uses the store, limits and owners of `tasks`.
    #[must_use]
    pub fn new(tasks: Tasks) -> Self {
        Self { tasks }
    }

    /// Adds a `tools/call` handler whose calls can run as tasks, and the extension's handlers. Declare the extension
    /// with [`ServerConfig::extension`](mcpgen_mcp::protocol::config::ServerConfig::extension).
    ///
    /// `support` tells whether a call can run as a task; it gets the name of the tool. Calls run as tasks for clients
    /// that have the extension. A call that must run as a task is rejected for others.
    ///
    /// If the handler's result asks for input, the handler runs again with the responses, as in an ordinary call. A
    /// task's context has no connection, so progress and log messages are not sent.
    #[must_use]
    pub fn tool_calls(
        &self,
        router: Router,
        support: impl Fn(&str) -> TaskSupport + Send + Sync + 'static,
        handler: impl RequestHandler<CallToolRequest> + Clone,
    ) -> Router {
        let this = self.clone();
        let handle = move |request: AnyRequest| -> ResponseFuture {
            let context = request.context.clone();
            let params = match router::params::<CallToolRequest>(&request) {
                Ok(params) => params,
                Err(error) => return Box::pin(ready(Err(errors::invalid_params(&error)))),
            };
            match Self::runs_as_task(&context, support(&params.name)) {
                Err(error) => Box::pin(ready(Err(error))),
                Ok(false) => encode_response(handler(context, params)),
                Ok(true) => {
                    let (this, handler) = (this.clone(), handler.clone());
                    let run = move |context, _| encode_response(handler(context, params.clone()));
                    Box::pin(async move { this.create(context, run).await })
                }
            }
        };
        router.raw_request(Some(CallToolRequest::VERSION), CallToolRequest::METHOD, handle).extension(self)
    }

    /// Whether to run a call as a task. Fails if it must run as one, but the client lacks the extension.
    pub(super) fn runs_as_task(context: &Context, support: TaskSupport) -> Result<bool, ErrorObject> {
        match (support, context.require_extension::<Self>()) {
            (TaskSupport::Forbidden, _) | (TaskSupport::Optional, Err(_)) => Ok(false),
            (_, Ok(())) => Ok(true),
            (TaskSupport::Required, Err(error)) => Err(error),
        }
    }

    /// Creates a task for a request, starts it, and returns it as the result. `run` runs one round of the request, with
    /// a context that has the client's input.
    pub(super) async fn create(
        &self,
        context: Context,
        run: impl Fn(Context, TaskInput) -> ResponseFuture + Send + Sync + 'static,
    ) -> Result<Json, ErrorObject> {
        let new = self.tasks.prepare(&context, None)?;
        let (id, ttl, stop) = (new.entry.task.task_id.clone(), new.ttl, new.stop.clone());
        let mut result = state_of(&new.entry);
        result.insert("resultType", "task");
        let declared = context.peer_info().map(|peer_info| peer_info.capabilities.clone()).unwrap_or_default();
        let input = TaskInput::new(self.tasks.clone(), id.clone(), declared);
        let rounds = TaskRounds { tasks: self.tasks.clone(), id, input };
        let method = context.method().to_owned();
        let work = move |is_known| async move {
            match is_known {
                true => rounds.run(context, run, stop, ttl).await,
                false => rounds.end(Ending::Unknown, ttl).await,
            }
        };
        self.tasks.start(&method, new, work).await?;
        Ok(result.into())
    }

    /// Creates a task at the request of a client of 2025-11-25.
    pub(super) async fn create_requested(
        &self,
        context: Context,
        metadata: TaskMetadata,
        run: impl FnOnce(Context) -> ResponseFuture + Send + 'static,
    ) -> Result<Json, ErrorObject> {
        self.tasks.clone().create(context, metadata, run).await
    }

    /// Adds the handlers for 2025-11-25, where tasks need no extension.
    pub(super) fn add_task_requests(&self, router: Router) -> Router {
        self.tasks.add_task_requests(router)
    }

    async fn get(&self, context: &Context, id: &str) -> Result<JsonObject, ErrorObject> {
        self.tasks.find(context, id).await.map(|stored| state_of(&stored))
    }

    async fn update(
        &self,
        context: &Context,
        id: &str,
        responses: Map<String, Json>,
    ) -> Result<JsonObject, ErrorObject> {
        self.tasks.find(context, id).await?;
        // Responses to a task that has ended are ignored, like responses to unknown requests.
        self.tasks.change(id, TaskChange::respond(responses)).await.map(|_| JsonObject::new())
    }

    async fn cancel(&self, context: &Context, id: &str) -> Result<JsonObject, ErrorObject> {
        // It is not an error if the task has ended, or ends otherwise before it notices the cancellation.
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
            .raw_request(Some(UpdateTaskRequest::VERSION), UpdateTaskRequest::METHOD, move |request| {
                let this = update.clone();
                encode_response(async move {
                    let (id, responses) = update_params(request.params)?;
                    this.update(&request.context, &id, responses).await
                })
            })
            .encoded_request::<CancelTaskRequest, _, _, _, _>(move |context, params| {
                let this = cancel.clone();
                async move { this.cancel(&context, &params.task_id).await }
            })
    }
}

/// Decodes the params of `tasks/update`: the task's ID, and the responses. A response is decoded only once its request
/// is known, because responses to unknown requests are ignored.
fn update_params(params: Option<Json>) -> Result<(String, Map<String, Json>), ErrorObject> {
    let invalid = |error| errors::invalid_params(&error);
    let mut responses = Map::new();
    let params = match params {
        None => None,
        Some(params) => {
            let mut members: JsonObject =
                params.decode().map_err(|error: mcpgen_types::Error| invalid(error.at_key("params")))?;
            if let Some(Ok(found)) = members.get("inputResponses").map(|found| found.decode()) {
                responses = found;
                members.insert("inputResponses", JsonObject::new());
            }
            Some(members.into())
        }
    };
    let params = UpdateTaskRequestParams::from_member(params.as_ref()).map_err(invalid)?;
    Ok((params.task_id, responses))
}

/// A task's state as the extension defines it, which includes the result, the error and open input requests.
pub(super) fn state_of(stored: &StoredTask) -> JsonObject {
    let Task { task_id, created_at, last_updated_at, ttl, poll_interval, status_message, .. } = &stored.task;
    let mut state = vec![
        ("taskId", task_id.into()),
        ("createdAt", created_at.into()),
        ("lastUpdatedAt", last_updated_at.into()),
        ("ttlMs", ttl.into()),
    ];
    if let Some(poll_interval) = poll_interval {
        state.push(("pollIntervalMs", poll_interval.into()));
    }
    if let Some(message) = status_message {
        state.push(("statusMessage", message.into()));
    }
    // Statuses differ from those in 2025-11-25, where a failed tool means a failed task.
    let status = match &stored.outcome {
        Some(Ok(result)) => {
            state.push(("result", result.clone()));
            "completed"
        }
        Some(Err(_)) if stored.task.status == TaskStatus::Cancelled => "cancelled",
        Some(Err(error)) => {
            state.push(("error", error.into()));
            "failed"
        }
        None if stored.input_requests.is_empty() => "working",
        None => {
            state.push(("inputRequests", (&stored.input_requests).into()));
            "input_required"
        }
    };
    state.push(("status", status.into()));
    state.into_iter().collect()
}
