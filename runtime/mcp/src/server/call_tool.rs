//! Handles `tools/call`.

use std::borrow::Cow;
use std::sync::Arc;

use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_runtime::router::{AnyRequest, ResponseFuture};
use mcpgen_types::codec::Cursor;
#[cfg(feature = "tasks")]
use mcpgen_types::v2025_11_25::TaskMetadata;
use mcpgen_types::v2026_07_28::{CallToolRequest, CallToolRequestParams};
use mcpgen_types::{ErrorCode, ErrorObject, Json, JsonObject, Request};

use super::conversion;
use super::state::Server;
use super::tool::{Arguments, ToolEntry};
use super::tool_error::ToolError;
use crate::protocol::ContextExt;
use crate::protocol::methods::may_run_as_task;
use crate::replicas::{Decision, RateLimiter};

/// A call of a tool.
struct Call {
    entry: Arc<ToolEntry>,
    context: Context,
    arguments: Arguments,
    #[cfg(feature = "tasks")]
    task_metadata: Option<TaskMetadata>,
}

impl Server {
    /// Calls a tool. Returns an error if the tool cannot be called.
    pub(super) fn call_tool(&self, mut request: AnyRequest) -> Result<ResponseFuture, ErrorObject> {
        if !self.0.tools.is_declared() {
            return Err(errors::method_not_found(&request.method));
        }
        #[cfg(feature = "tasks")]
        let task_metadata = self.task_metadata(&request)?;
        let (entry, arguments) = self.decode_call(&mut request)?;
        let call = Call {
            entry,
            context: request.context,
            arguments,
            #[cfg(feature = "tasks")]
            task_metadata,
        };
        match self.0.config.rate_limiter.clone() {
            None => self.start_call(call),
            Some(limiter) => Ok(Box::pin(self.clone().start_limited(limiter, call))),
        }
    }

    /// Starts a call if the rate limit allows it.
    async fn start_limited(self, limiter: Arc<dyn RateLimiter>, call: Call) -> Result<Json, ErrorObject> {
        match limiter.check(&self.caller(&call.context)).await? {
            Decision::Allowed => self.start_call(call)?.await,
            Decision::After(wait) => {
                let seconds = wait.as_millis().div_ceil(1000).max(1);
                let refusal = ToolError::failed(format!("rate limit exceeded; try again in {seconds} s"));
                call.entry.encode(&call.context, Err(refusal))
            }
        }
    }

    fn start_call(&self, call: Call) -> Result<ResponseFuture, ErrorObject> {
        let Call { entry, context, arguments, .. } = call;
        #[cfg(feature = "tasks")]
        if let Some(task) = self.start_task(&entry, &context, &arguments, call.task_metadata)? {
            return Ok(task);
        }
        let context = self.request_context(context, || arguments.text());
        Ok(entry.start(context, arguments))
    }

    /// Returns the tool that a request calls, and its arguments. Takes the params from the request.
    fn decode_call(&self, request: &mut AnyRequest) -> Result<(Arc<ToolEntry>, Arguments), ErrorObject> {
        if let Some(params) = request.params.take() {
            let found = params.into_part(|params| match name_and_arguments(params, &request.context) {
                Some((name, arguments)) => (Some(self.find_tool(&name)), arguments.map(Cursor::place)),
                None => (None, Some(params.place())),
            });
            match found.map_err(|error| errors::invalid_params(&error.at_key("params")))? {
                (Some(entry), arguments) => {
                    return Ok((entry?, arguments.map_or_else(Arguments::none, Arguments::Raw)));
                }
                (None, params) => request.params = params,
            }
        }
        let params = request.params.take();
        let request = AnyRequest { params, ..request.clone() };
        let CallToolRequestParams { name, arguments, .. } =
            conversion::params::<CallToolRequest>(without_task(request))?;
        Ok((self.find_tool(&name)?, arguments.map_or_else(Arguments::none, Arguments::Object)))
    }

    fn find_tool(&self, name: &str) -> Result<Arc<ToolEntry>, ErrorObject> {
        self.0.tools.get(name).ok_or_else(|| {
            let shown: String = name.chars().take(128).collect();
            let hint = self.0.tools.did_you_mean(name);
            ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("unknown tool {shown:?}{hint}"))
        })
    }
}

/// Removes `task` from the params. Newer revisions do not have it, and a server without tasks ignores it.
fn without_task(mut request: AnyRequest) -> AnyRequest {
    let has_task = may_run_as_task(request.context.revision(), CallToolRequest::METHOD);
    if let Some(params) = request.params.as_ref().filter(|_| has_task)
        && let Ok(mut members) = params.decode::<JsonObject>()
        && members.remove("task").is_some()
    {
        request.params = Some(Json::from(&members));
    }
    request
}

/// Returns the name and the arguments of a call whose params have no other members except `_meta`, as most do. Returns
/// `None` for all other params, valid or not. They have to be decoded completely.
fn name_and_arguments<'p>(params: Cursor<'p>, context: &Context) -> Option<(Cow<'p, str>, Option<Cursor<'p>>)> {
    let picked = Picked::from(params, &["name", "arguments", "_meta"]).ok()?;
    let [name, arguments, meta] = picked.values;
    // In modern revisions, `_meta` is required. If peer info is available, `_meta` was already checked.
    let is_complete = match context.revision().is_legacy() {
        true => meta.is_none(),
        false => meta.is_some() && context.peer_info().is_some(),
    };
    let is_object = arguments.is_none_or(Cursor::is_object);
    if !is_complete || !is_object || picked.others || picked.twice.is_some() {
        return None;
    }
    Some((name?.as_str()?, arguments))
}
