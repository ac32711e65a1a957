//! Calls of tools that the server runs only as tasks (2025-11-25).

use std::pin::pin;
use std::time::Duration;

use futures_util::future::OptionFuture;
use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_runtime::peer::{Call, CallError, Peer};
use mcpgen_runtime::router::RequestService;
use mcpgen_types::codec::Cursor;
use mcpgen_types::v2025_11_25::{
    CreateTaskResult, GetTaskPayloadRequest, GetTaskRequest, GetTaskResult, Task, TaskStatus,
};
use mcpgen_types::v2026_07_28::CallToolRequest;
use mcpgen_types::{Json, JsonObject, Request};
use serde_json::json;
use tokio::time::Instant;

use super::handle::Client;
use super::task::{CancelOnDrop, pause};
use super::tool_call::ToolCall;
use crate::protocol::PeerExt;
use crate::protocol::methods::may_run_as_task;
use crate::tasks::TaskSupport;

/// Returns the tools on a page of `tools/list`, and whether each runs only as a task. The page is in the revision of the
/// connection, because the types of the newest revision do not have the member.
pub(super) fn task_support(page: &Json) -> Vec<(String, bool)> {
    let read = |page: Cursor<'_>| -> Option<Vec<_>> {
        let required = |tool: Cursor<'_>| {
            let support = tool.get("execution").and_then(|execution| execution.get("taskSupport"));
            support.and_then(Cursor::as_str).as_deref() == Some(TaskSupport::Required.as_str())
        };
        let tools = page.get("tools")?.elements().ok()?;
        Some(tools.filter_map(|tool| Some((tool.get("name")?.as_str()?.into_owned(), required(tool)))).collect())
    };
    // The decoder reports an invalid page.
    page.read(read).ok().flatten().unwrap_or_default()
}

impl<S: RequestService> Client<S> {
    /// Returns whether the server can run tool calls as tasks, if the client requests it.
    pub(super) fn has_tool_tasks(&self) -> bool {
        let path = ["tasks", "requests", "tools", "call"];
        may_run_as_task(self.revision(), CallToolRequest::METHOD)
            && self.peer.peer_info().is_some_and(|peer_info| peer_info.can(&path))
    }

    /// Returns whether a tool runs only as a task. Requests the list of tools if the server can run tool calls as tasks
    /// and no list has the tool.
    pub(super) async fn requires_task(&self, tool: &str) -> bool {
        if !self.has_tool_tasks() {
            return false;
        }
        // Some servers add tools only after the handshake. So the list can lack the tool, or change in the meantime.
        for _ in 0..2 {
            if let Some(required) = self.tool_cache.requires_task(tool) {
                return required;
            }
            if let Err(error) = self.request_tools().await {
                tracing::warn!(%error, tool, "calling a tool without a task, because the tools cannot be listed");
            }
        }
        self.tool_cache.requires_task(tool).unwrap_or(false)
    }
}

impl<S: RequestService> ToolCall<'_, S> {
    /// Sends the call as a task, and returns the task's result. Params and result are in the revision of the
    /// connection.
    pub(super) async fn run_as_task(&self, params: &Json) -> Result<Json, CallError> {
        let peer = &self.client.peer;
        let mut params: JsonObject = params.decode().map_err(invalid)?;
        params.insert("task", json!({}));
        let call = self.send_request(params.into());
        let id = call.id().clone();
        let created = call.await?;
        let is_task = created.read(|result| {
            let [task] = Picked::values(result, &["task"]);
            task.is_some()
        });
        if !is_task.unwrap_or(false) {
            // The server has responded with the result of the tool.
            return Ok(created);
        }
        let created: CreateTaskResult = created.decode().map_err(invalid)?;
        let mut result = pin!(task_result(peer, created.task));
        let Some(on_progress) = &self.on_progress else { return result.await };
        // The progress token remains valid until the task has ended.
        let mut reports = peer.progress_after_response(id, CallToolRequest::METHOD)?;
        loop {
            tokio::select! {
                biased;
                Some(report) = reports.next() => if let Ok(report) = report.decode() {
                    (on_progress.lock())(report);
                },
                result = &mut result => return result,
            }
        }
    }
}

/// Polls a task until it has ended, and returns its result. Cancels the task if it fails or is dropped.
async fn task_result(peer: &Peer, created: Task) -> Result<Json, CallError> {
    let params = Json::from(&json!({ "taskId": created.task_id }));
    let mut cancel = CancelOnDrop::new(peer, params.clone());
    let request = |method: &str| peer.raw_request(method, Some(params.clone()));
    let begun = Instant::now();
    let mut early_result: Option<Call<Json>> = None;
    loop {
        let task: GetTaskResult = request(GetTaskRequest::METHOD).await?.decode().map_err(invalid)?;
        match task.status {
            TaskStatus::Completed | TaskStatus::Failed => {
                cancel.has_ended = true;
                return request(GetTaskPayloadRequest::METHOD).await;
            }
            TaskStatus::Cancelled => {
                cancel.has_ended = true;
                let why = task.status_message.unwrap_or_else(|| "the task was cancelled".to_owned());
                return Err(CallError::Invalid(format!("{}: {why}", CallToolRequest::METHOD).into()));
            }
            // The server may send its requests for input in connection with the request for the result. The polls
            // find out whether the server is alive, so this request has no timeout.
            TaskStatus::InputRequired if early_result.is_none() => {
                early_result = Some(request(GetTaskPayloadRequest::METHOD).idle_timeout(None).timeout(None).send());
            }
            TaskStatus::InputRequired | TaskStatus::Working => {}
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
