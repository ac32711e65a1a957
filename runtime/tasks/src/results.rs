//! Awaits tool calls that a server runs as tasks.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, OptionFuture};
use mcpgen_mcp::ClientBuilder;
use mcpgen_mcp::client::{CreatedTask, TaskResults};
use mcpgen_runtime::peer::{Call, CallError, Peer};
use mcpgen_types::ext::tasks::{
    CancelTaskRequest, CancelledTask, CompletedTask, CreateTaskResult, FailedTask, GetTaskRequest, InputRequiredTask,
    UpdateTaskRequest, WorkingTask,
};
use mcpgen_types::v2026_07_28::CallToolRequest;
use mcpgen_types::{ErrorObject, Json, JsonObject, Request, v2025_11_25};
use serde_json::json;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::extension::TasksExtension;

/// Task methods of [`ClientBuilder`].
pub trait CallTasks {
    /// Lets tool calls run as tasks. The client polls a task until it has ended, and answers its requests for input.
    /// Dropping the call cancels the task.
    ///
    /// In 2025-11-25, a call runs as a task if its tool requires that. In 2026-07-28, the server decides; this method
    /// declares the extension.
    #[must_use]
    fn tasks(self) -> Self;
}

impl CallTasks for ClientBuilder {
    fn tasks(self) -> Self {
        self.extension(TasksExtension::default()).task_results(TaskPolling)
    }
}

/// Awaits tasks by polling, as [`CallTasks::tasks`] does, for programs that send calls themselves.
#[derive(Clone, Copy, Debug)]
pub struct TaskPolling;

impl TaskResults for TaskPolling {
    fn result(&self, task: CreatedTask) -> BoxFuture<'static, Result<Json, CallError>> {
        match task.revision.is_legacy() {
            true => legacy_result(task).boxed(),
            false => result(task).boxed(),
        }
    }
}

/// How long to wait between polls, unless the server suggests something else.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Bounds for what the server suggests.
const POLL_BOUNDS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(60));

async fn pause(suggested: Option<Duration>) {
    tokio::time::sleep(suggested.unwrap_or(POLL_INTERVAL).clamp(POLL_BOUNDS.0, POLL_BOUNDS.1)).await;
}

/// Cancels a task on drop, unless it has ended.
struct CancelOnDrop {
    peer: Peer,
    params: Json,
    has_ended: bool,
}

impl CancelOnDrop {
    /// `params` identify the task.
    fn new(peer: &Peer, params: Json) -> Self {
        Self { peer: peer.clone(), params, has_ended: false }
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let (false, Ok(runtime)) = (self.has_ended, Handle::try_current()) {
            let cancel = self.peer.raw_request(CancelTaskRequest::METHOD, Some(self.params.clone()));
            // Nobody waits for the response.
            runtime.spawn(async move { drop(cancel.send().await) });
        }
    }
}

/// Polls a task until it has ended, answers its input requests, and returns its result. On failure or drop, cancels the
/// task.
async fn result(task: CreatedTask) -> Result<Json, CallError> {
    let (peer, method) = (&task.peer, CallToolRequest::METHOD);
    let created: CreateTaskResult = task.created.decode().map_err(invalid)?;
    let params = Json::from(&json!({ "taskId": created.task_id }));
    let mut cancel = CancelOnDrop::new(peer, params.clone());
    let (begun, mut answered) = (Instant::now(), BTreeSet::new());
    loop {
        let state = peer.raw_request(GetTaskRequest::METHOD, Some(params.clone())).await?;
        let millis = |name: &str| state.get(name).and_then(|millis| millis.as_u64()).map(Duration::from_millis);
        let member = |name: &str| state.get(name).map(|value| value.to_json()).unwrap_or_default();
        let status = state.get("status").and_then(|status| status.as_str()).unwrap_or_default();
        cancel.has_ended = matches!(&*status, "completed" | "failed" | "cancelled");
        match &*status {
            "completed" => {
                state.decode::<CompletedTask>().map_err(invalid)?;
                return Ok(member("result"));
            }
            "failed" => {
                state.decode::<FailedTask>().map_err(invalid)?;
                let error: ErrorObject = member("error").decode().map_err(invalid)?;
                return Err(CallError::ErrorResponse(error));
            }
            "cancelled" => {
                let cancelled: CancelledTask = state.decode().map_err(invalid)?;
                let why = cancelled.status_message.unwrap_or_else(|| "the task was cancelled".to_owned());
                return Err(CallError::Invalid(format!("{method}: {why}").into()));
            }
            "input_required" => {
                let InputRequiredTask { input_requests, .. } = state.decode().map_err(invalid)?;
                let mut responses = Vec::new();
                let open = input_requests.into_iter().filter(|(key, _)| !answered.contains(key));
                for (key, input_request) in open.take(task.limits.requests).collect::<Vec<_>>() {
                    responses.push((key, task.answer(input_request).await?));
                }
                if !responses.is_empty() {
                    answered.extend(responses.iter().map(|(key, _)| key.clone()));
                    let responses: JsonObject = responses.into_iter().collect();
                    let params = [("taskId", created.task_id.clone().into()), ("inputResponses", responses.into())];
                    let update = JsonObject::from(params).into();
                    peer.raw_request(UpdateTaskRequest::METHOD, Some(update)).await?;
                    continue;
                }
            }
            _ => drop(state.decode::<WorkingTask>().map_err(invalid)?),
        }
        if millis("ttlMs").is_some_and(|ttl| begun.elapsed() > ttl) {
            return Err(CallError::Invalid(format!("{method}: the task has expired").into()));
        }
        pause(millis("pollIntervalMs")).await;
    }
}

/// Like [`result`], for a task of 2025-11-25.
async fn legacy_result(task: CreatedTask) -> Result<Json, CallError> {
    let peer = &task.peer;
    let created: v2025_11_25::CreateTaskResult = task.created.decode().map_err(invalid)?;
    let params = Json::from(&json!({ "taskId": created.task.task_id }));
    let mut cancel = CancelOnDrop::new(peer, params.clone());
    let request = |method: &str| peer.raw_request(method, Some(params.clone()));
    let begun = Instant::now();
    let mut early_result: Option<Call<Json>> = None;
    loop {
        let task: v2025_11_25::GetTaskResult =
            request(v2025_11_25::GetTaskRequest::METHOD).await?.decode().map_err(invalid)?;
        match task.status {
            v2025_11_25::TaskStatus::Completed | v2025_11_25::TaskStatus::Failed => {
                cancel.has_ended = true;
                return request(v2025_11_25::GetTaskPayloadRequest::METHOD).await;
            }
            v2025_11_25::TaskStatus::Cancelled => {
                cancel.has_ended = true;
                let why = task.status_message.unwrap_or_else(|| "the task was cancelled".to_owned());
                return Err(CallError::Invalid(format!("{}: {why}", CallToolRequest::METHOD).into()));
            }
            // The server may only ask for input while a request for the result is open. That request has no timeout,
            // because the polls notice if the server dies.
            v2025_11_25::TaskStatus::InputRequired if early_result.is_none() => {
                early_result =
                    Some(request(v2025_11_25::GetTaskPayloadRequest::METHOD).idle_timeout(None).timeout(None).send());
            }
            v2025_11_25::TaskStatus::InputRequired | v2025_11_25::TaskStatus::Working => {}
        }
        let millis = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok()).map(Duration::from_millis);
        if millis(task.ttl).is_some_and(|ttl| begun.elapsed() > ttl) {
            return Err(CallError::Invalid(format!("{}: the task has expired", CallToolRequest::METHOD).into()));
        }
        tokio::select! {
            biased;
            Some(result) = OptionFuture::from(early_result.as_mut()) => {
                cancel.has_ended = true;
                return result;
            }
            () = pause(millis(task.poll_interval)) => {}
        }
    }
}

fn invalid(error: mcpgen_types::Error) -> CallError {
    CallError::Invalid(error.with_type_name(format!("{} task", CallToolRequest::METHOD)).into())
}
