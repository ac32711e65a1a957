//! Waits for tool calls that a server runs as tasks (2026-07-28).

use std::collections::BTreeSet;
use std::time::Duration;

use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_runtime::peer::{CallError, Peer};
use mcpgen_runtime::router::RequestService;
use mcpgen_types::ext::tasks::{
    CancelTaskRequest, CancelledTask, CompletedTask, CreateTaskResult, FailedTask, GetTaskRequest, InputRequiredTask,
    UpdateTaskRequest, WorkingTask,
};
use mcpgen_types::{ErrorObject, Json, JsonObject, Request};
use serde_json::json;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::input::handle_input_request;
use super::limits::RoundLimits;

/// The time between two polls, if the server suggests none.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The bounds of the time between two polls.
const POLL_BOUNDS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(60));

/// Returns whether a result is a task.
pub(super) fn is_task(result: &Json) -> bool {
    let is_task = result.read(|result| {
        let [kind] = Picked::values(result, &["resultType"]);
        kind.is_some_and(|kind| kind.text() == "\"task\"")
    });
    is_task.unwrap_or(false)
}

/// Waits before the next poll. The server may suggest how long.
pub(super) async fn pause(suggested: Option<Duration>) {
    tokio::time::sleep(suggested.unwrap_or(POLL_INTERVAL).clamp(POLL_BOUNDS.0, POLL_BOUNDS.1)).await;
}

/// Cancels a task when it is dropped, unless the task has ended.
pub(super) struct CancelOnDrop {
    peer: Peer,
    params: Json,
    pub(super) has_ended: bool,
}

impl CancelOnDrop {
    /// The params identify the task.
    pub(super) fn new(peer: &Peer, params: Json) -> Self {
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

/// Polls a task until it has ended, handles its input requests with `requests`, and returns its result. Cancels the task
/// if it fails or is dropped.
pub(super) async fn finish(
    peer: &Peer,
    requests: impl RequestService,
    limits: RoundLimits,
    method: &str,
    created: &Json,
) -> Result<Json, CallError> {
    let invalid = |error: mcpgen_types::Error| CallError::Invalid(error.into());
    let created: CreateTaskResult = created.decode().map_err(invalid)?;
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
                let task: InputRequiredTask = state.decode().map_err(invalid)?;
                let mut responses = Vec::new();
                let open = task.input_requests.iter().filter(|(key, _)| !answered.contains(*key));
                for (key, input_request) in open.take(limits.requests).collect::<Vec<_>>() {
                    responses.push((key, handle_input_request(peer, requests.clone(), input_request).await?));
                }
                if !responses.is_empty() {
                    answered.extend(responses.iter().map(|(key, _)| (*key).to_owned()));
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
