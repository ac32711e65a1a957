//! Handlers that can run as tasks, and handlers for the `tasks/*` requests.

use std::future::ready;
use std::sync::Arc;

use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_runtime::router::{AnyRequest, RequestHandler, ResponseFuture, Router, encode_response};
use mcpgen_types::codec::Decode;
use mcpgen_types::v2025_11_25::{
    CancelTaskRequest, GetTaskPayloadRequest, GetTaskRequest, ListTasksRequest, ListTasksResult, Task, TaskMetadata,
    TaskStatus,
};
use mcpgen_types::{ErrorCode, ErrorObject, Json, Params, Request, TaskRequest};
use serde_json::json;

use super::create::ID_LENGTH;
use super::runner::{CANCELLED, cancelled};
use super::state::Tasks;
use super::store::{TaskChange, has_ended};
use super::support::TaskSupport;
use mcpgen_mcp::protocol::legacy::RELATED_TASK;
use mcpgen_mcp::protocol::meta::with_meta;
use mcpgen_mcp::protocol::{ContextExt, PeerExt};

impl Tasks {
    /// Adds a handler that can also run as a task, and handlers for the `tasks/*` requests.
    ///
    /// Requests run as tasks only if this server or client has declared the capability for that; see
    /// [`capability`](super::capability). `support` tells whether a request can run as a task; it gets the request's
    /// [target](Context::subject), such as the name of the tool, if there is one.
    ///
    /// The handler's context lasts as long as the task. Messages sent through it carry the task's ID, and while a call
    /// to the peer is pending, the task's status is `input_required`.
    #[must_use]
    pub fn on<R: TaskRequest<Params: Send + 'static>>(
        &self,
        router: Router,
        support: impl Fn(Option<&str>) -> TaskSupport + Send + Sync + 'static,
        handler: impl RequestHandler<R>,
    ) -> Router {
        let (this, handler) = (self.clone(), Arc::new(handler));
        // Not a `RequestHandler`, because the result is a `CreateTaskResult` if the params contain `task`.
        let handle = move |request: AnyRequest| -> ResponseFuture {
            let task = match request.params.as_ref().map_or(Ok(None), task_metadata) {
                Ok(task) => task.filter(|_| declared::<R>(&request.context)),
                Err(error) => return Box::pin(ready(Err(error))),
            };
            let why = match (&task, support(request.context.subject())) {
                (Some(_), TaskSupport::Forbidden) => Some("cannot run as a task; send the request without `task`"),
                (None, TaskSupport::Required) if declared::<R>(&request.context) => Some(MUST_RUN_AS_TASK),
                _ => None,
            };
            if let Some(why) = why {
                let subject = request.context.subject().unwrap_or(R::METHOD);
                return Box::pin(ready(Err(refused(subject, why))));
            }
            let params = match R::Params::from_member(request.params.as_ref()) {
                Ok(params) => params,
                Err(error) => return Box::pin(ready(Err(errors::invalid_params(&error)))),
            };
            let handler = Arc::clone(&handler);
            let run = move |context: Context| encode_response(handler(context, params));
            match task {
                None => run(request.context),
                Some(task) => {
                    let this = this.clone();
                    Box::pin(async move { this.create(request.context, task, run).await })
                }
            }
        };
        self.add_task_requests(router.raw_request(Some(R::VERSION), R::METHOD, handle))
    }

    /// Adds handlers for the `tasks/*` requests.
    ///
    /// They do not return `GetTaskResult` and the like: a stored `Task` encodes to the same JSON as those results, and
    /// a stored outcome is JSON already.
    pub(super) fn add_task_requests(&self, router: Router) -> Router {
        let [get, result, cancel, list] = [(); 4].map(|()| self.clone());
        router
            .encoded_request::<GetTaskRequest, _, _, _, _>(move |context, params| {
                let this = get.clone();
                async move { this.find(&context, &params.task_id).await.map(|stored| stored.task) }
            })
            .encoded_request::<GetTaskPayloadRequest, _, _, _, _>(move |context, params| {
                let this = result.clone();
                async move { this.outcome(&context, &params.task_id).await }
            })
            .encoded_request::<CancelTaskRequest, _, _, _, _>(move |context, params| {
                let this = cancel.clone();
                async move { this.cancel(&context, &params.task_id).await }
            })
            .request::<ListTasksRequest>(move |context, params| {
                let this = list.clone();
                async move { this.list(&context, params.and_then(|params| params.cursor)).await }
            })
    }

    async fn outcome(&self, context: &Context, id: &str) -> Result<Json, ErrorObject> {
        let mut changes = self.changes(id);
        loop {
            if let Some(outcome) = self.find(context, id).await?.outcome {
                let related = json!({ "taskId": id }).to_string();
                let result = with_meta(Some(outcome?), &[(RELATED_TASK, related)], true);
                return result.ok().flatten().ok_or_else(errors::internal);
            }
            changes.next().await;
        }
    }

    async fn cancel(&self, context: &Context, id: &str) -> Result<Task, ErrorObject> {
        if has_ended(self.find(context, id).await?.task.status) {
            return Err(already_ended());
        }
        let task = self.stop_working(context, id).await?;
        if task.status == TaskStatus::Cancelled { Ok(task) } else { Err(already_ended()) }
    }

    /// Stops a task and waits until it has ended, which may happen for another reason.
    pub(super) async fn stop(&self, context: &Context, id: &str) -> Result<Task, ErrorObject> {
        let before = self.find(context, id).await?.task;
        match has_ended(before.status) {
            true => Ok(before),
            false => self.stop_working(context, id).await,
        }
    }

    async fn stop_working(&self, context: &Context, id: &str) -> Result<Task, ErrorObject> {
        // A task in this process records its own end, so that its final status is sent only once.
        let stop = self.running().get(id).map(|running| running.stop.clone());
        match stop {
            Some(stop) => {
                let mut changes = self.changes(id);
                stop.cancel();
                while changes.is_here() {
                    changes.here().await;
                }
            }
            None => {
                let cancel = TaskChange::end(TaskStatus::Cancelled, Some(CANCELLED.to_owned()), Err(cancelled()));
                self.change(id, cancel).await?;
            }
        }
        Ok(self.find(context, id).await?.task)
    }

    async fn list(&self, context: &Context, cursor: Option<String>) -> Result<ListTasksResult, ErrorObject> {
        let after = match cursor {
            // A cursor is the ID of the previous page's last task, in the format of `new_id`.
            Some(cursor) if cursor.len() == ID_LENGTH && cursor.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                Some(cursor)
            }
            Some(_) => {
                let why = "params.cursor: invalid cursor; use the `nextCursor` of a previous page";
                return Err(errors::invalid_params_in_words(why));
            }
            None => None,
        };
        let page = self.0.limits.page_size.max(1);
        let mut tasks = self.0.store.list(&(self.0.owner)(context), after.as_deref(), page + 1).await?;
        let more = tasks.len() > page;
        tasks.truncate(page);
        let next = tasks.last().filter(|_| more).map(|task| task.task_id.clone());
        let mut result = ListTasksResult::new(tasks);
        result.next_cursor = next;
        Ok(result)
    }
}

fn already_ended() -> ErrorObject {
    errors::invalid_params_in_words("params.taskId: the task has already ended")
}

/// Creates the error for a request that must run as a task, or must not.
pub(super) fn refused(subject: &str, why: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("{subject:?} {why}"))
}

pub(super) const MUST_RUN_AS_TASK: &str = "must run as a task; add `task` to the params";

pub(super) fn task_metadata(params: &Json) -> Result<Option<TaskMetadata>, ErrorObject> {
    let task = params.read(|params| {
        let [task] = Picked::values(params, &["task"]);
        task.map(|task| TaskMetadata::decode(task).map_err(|error| error.located_from(params))).transpose()
    });
    task.and_then(|task| task).map_err(|error| errors::invalid_params(&error.at_key("params")))
}

/// Whether this server or client has declared that it runs requests of type `R` as tasks.
fn declared<R: Request>(context: &Context) -> bool {
    let mut path = vec!["tasks", "requests"];
    path.extend(R::METHOD.split('/'));
    context.peer().revision_rules().has_declared(&path)
}
