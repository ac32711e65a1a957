//! Calls of tools that the server runs only as tasks (2025-11-25).

use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_runtime::peer::CallError;
use mcpgen_runtime::router::RequestService;
use mcpgen_types::codec::Cursor;
use mcpgen_types::v2026_07_28::CallToolRequest;
use mcpgen_types::{Json, JsonObject, Request};
use serde_json::json;

use super::handle::Client;
use super::task_results::{CreatedTask, TaskResults};
use super::tool_call::ToolCall;
use crate::protocol::PeerExt;
use crate::protocol::methods::may_run_as_task;

/// Reads from a page of `tools/list` whether each tool runs only as a task. The page is in the connection's revision,
/// because the newest types lack `execution.taskSupport`.
pub(super) fn task_support(page: &Json) -> Vec<(String, bool)> {
    let read = |page: Cursor<'_>| -> Option<Vec<_>> {
        let required = |tool: Cursor<'_>| {
            let support = tool.get("execution").and_then(|execution| execution.get("taskSupport"));
            support.and_then(Cursor::as_str).as_deref() == Some("required")
        };
        let tools = page.get("tools")?.elements().ok()?;
        Some(tools.filter_map(|tool| Some((tool.get("name")?.as_str()?.into_owned(), required(tool)))).collect())
    };
    // The decoder will report the invalid page.
    page.read(read).ok().flatten().unwrap_or_default()
}

impl<S: RequestService> Client<S> {
    /// Returns whether the server can run tool calls as tasks at the client's request (2025-11-25).
    #[must_use]
    pub fn has_tool_tasks(&self) -> bool {
        let path = ["tasks", "requests", "tools", "call"];
        may_run_as_task(self.revision(), CallToolRequest::METHOD)
            && self.peer.peer_info().is_some_and(|peer_info| peer_info.can(&path))
    }

    /// Returns whether a tool runs only as a task (2025-11-25). Requests the list of tools if the server can run tool
    /// calls as tasks and the tool is unknown.
    pub async fn requires_task(&self, tool: &str) -> bool {
        if !self.has_tool_tasks() {
            return false;
        }
        // Some servers add tools after the handshake, so the list may lack the tool, or change in the meantime.
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
    /// Sends the call as a task, and returns the task's result. Params and result are in the connection's revision.
    pub(super) async fn run_as_task(&self, tasks: &dyn TaskResults, params: &Json) -> Result<Json, CallError> {
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
            // The server ran the tool at once.
            return Ok(created);
        }
        let Client { revision, round_limits, requests, .. } = self.client;
        let mut result =
            tasks.result(CreatedTask::new(peer.clone(), *revision, created, *round_limits, requests.clone()));
        let Some(on_progress) = &self.on_progress else { return result.await };
        // The progress token stays valid until the task has ended.
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

fn invalid(error: mcpgen_types::Error) -> CallError {
    CallError::Invalid(error.with_type_name(format!("{} task", CallToolRequest::METHOD)).into())
}
