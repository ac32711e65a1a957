//! Requests that the peer runs as tasks.

use mcpgen_runtime::jsonrpc::json::member;
use mcpgen_runtime::peer::{Call, Peer, RequestBuilder};
use mcpgen_types::v2025_11_25::GetTaskPayloadRequest;
use mcpgen_types::{Json, JsonObject, Request, TaskRequest};
use serde_json::json;

/// Task methods of [`Peer`], for 2025-11-25.
pub trait TaskPeerExt: AsRef<Peer> {
    /// Sends a request that runs as a task, and returns the task. Adds `task` to the params if it is missing.
    fn call_task<R: TaskRequest<TaskResult: 'static>>(&self, params: R::Params) -> Call<R::TaskResult> {
        let mut params: JsonObject = member(&params).and_then(|params| params.decode().ok()).unwrap_or_default();
        params.insert_if_absent("task", JsonObject::new());
        self.as_ref().request_as(R::METHOD, R::VERSION, Some(params.into())).send()
    }

    /// Creates a request that waits for a task and returns the result of the original request. Set
    /// [`idle_timeout`](RequestBuilder::idle_timeout) to the time that the task may take.
    fn task_result<R: TaskRequest>(&self, id: &str) -> RequestBuilder<R::Result> {
        let params = Json::from(&json!({ "taskId": id }));
        self.as_ref().request_as(GetTaskPayloadRequest::METHOD, R::VERSION, Some(params))
    }
}

impl TaskPeerExt for Peer {}
