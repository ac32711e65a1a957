//! Handles `tools/call`.

use std::borrow::Cow;
use std::sync::Arc;

use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_runtime::router::{AnyRequest, ResponseFuture};
use mcpgen_types::codec::Cursor;
use mcpgen_types::v2026_07_28::{CallToolRequest, CallToolRequestParams, Tool};
use mcpgen_types::{ErrorCode, ErrorObject, Json, JsonObject, Request};

use super::arguments::Arguments;
use super::conversion;
use super::state::{RequestContext, Server, ToolEntry, ToolInvocation};
use super::tool_error::ToolError;
use super::visibility::HeaderMismatch;
use crate::protocol;
use crate::protocol::methods::may_run_as_task;
use crate::protocol::{ContextExt, PeerExt};
use crate::replicas::{Decision, RateLimiter};

/// Starts a tool call. Fails if the tool cannot be called.
pub(super) fn call_tool(server: &Server, mut request: AnyRequest) -> Result<ResponseFuture, ErrorObject> {
    if !server.0.tools.is_declared() {
        return Err(errors::method_not_found(&request.method));
    }
    let call = decode_call(server, &mut request)?;
    match server.0.config.rate_limiter.clone() {
        None => call.start(),
        Some(limiter) => Ok(Box::pin(call.start_limited(limiter))),
    }
}

/// Takes the params out of the request.
fn decode_call(server: &Server, request: &mut AnyRequest) -> Result<ToolInvocation, ErrorObject> {
    let call = |entry, arguments: Arguments, params| ToolInvocation {
        server: server.clone(),
        entry,
        context: request.context.clone(),
        arguments,
        params,
    };
    let mut params = request.params.take();
    if let Some(whole) = params.take() {
        let found = whole.into_part(|whole| match name_and_arguments(whole, &request.context) {
            Some((name, arguments)) => (Some(find_tool(server, &request.context, &name)), arguments.map(Cursor::place)),
            None => (None, Some(whole.place())),
        });
        match found.map_err(|error| errors::invalid_params(&error.at_key("params")))? {
            (Some(entry), arguments) => return Ok(call(entry?, Arguments(arguments), None)),
            (None, whole) => params = whole,
        }
    }
    let other = AnyRequest { params: params.clone(), ..request.clone() };
    let (other, has_task) = without_task(other);
    let CallToolRequestParams { name, arguments, .. } = conversion::params::<CallToolRequest>(other)?;
    let entry = find_tool(server, &request.context, &name)?;
    if has_task && entry.runner.is_none() && declares_tasks(&request.context) {
        let why = format!("{name:?} cannot run as a task; send the request without `task`");
        return Err(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, why));
    }
    Ok(call(entry, arguments.map_or_else(Arguments::default, Arguments::from), params))
}

/// Finds a tool, or asks the fallback. Tools that the caller cannot see do not exist for it.
fn find_tool(server: &Server, context: &Context, name: &str) -> Result<Arc<ToolEntry>, ErrorObject> {
    let Some(entry) = server.0.tools.find(name, server.viewer(context)) else {
        let fallback = server.0.config.computed.tool_fallback.as_ref();
        let computed = fallback.map(|fallback| Arc::new(ToolEntry::computed(name, fallback)));
        return computed.ok_or_else(|| server.unknown_tool(context, name));
    };
    match context.extensions().get::<HeaderMismatch>() {
        Some(HeaderMismatch(why)) if server.reports_header_mismatches() => Err(protocol::errors::header_mismatch(why)),
        _ => Ok(entry),
    }
}

impl Server {
    pub(super) fn unknown_tool(&self, context: &Context, name: &str) -> ErrorObject {
        let shown: String = name.chars().take(128).collect();
        let hint = self.0.tools.did_you_mean(name, self.viewer(context));
        ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("unknown tool {shown:?}{hint}"))
    }
}

impl ToolInvocation {
    async fn start_limited(self, limiter: Arc<dyn RateLimiter>) -> Result<Json, ErrorObject> {
        match limiter.check(&self.server.caller(&self.context)).await? {
            Decision::Allowed => self.start()?.await,
            Decision::After(wait) => {
                let seconds = wait.as_millis().div_ceil(1000).max(1);
                let refusal = ToolError::failed(format!("rate limit exceeded; try again in {seconds} s"));
                self.entry.encode(&self.context, Err(refusal))
            }
        }
    }

    fn start(self) -> Result<ResponseFuture, ErrorObject> {
        match self.entry.runner.clone() {
            Some(runner) => runner.run(self),
            None => Ok(self.entry.start(RequestContext::new(self.server, self.context), self.arguments)),
        }
    }

    /// Returns the server.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Returns the description of the tool.
    #[must_use]
    pub fn tool(&self) -> &Tool {
        &self.entry.tool
    }

    /// Returns the context of the request.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the request's params. `None` if they are only the name, the arguments and, in modern revisions, `_meta`.
    #[must_use]
    pub fn params(&self) -> Option<&Json> {
        self.params.as_ref()
    }

    /// Replaces the context of the request.
    #[must_use]
    pub fn with_context(self, context: Context) -> Self {
        Self { context, ..self }
    }

    /// Creates the function's context, as for an ordinary call.
    #[must_use]
    pub fn request_context(&self) -> RequestContext {
        RequestContext::new(self.server.clone(), self.context.clone()).with_arguments(self.arguments.clone())
    }

    /// Calls the function, as in an ordinary call.
    pub fn call(self) -> ResponseFuture {
        let context = self.request_context();
        self.call_with(context)
    }

    /// Calls the function with this context.
    pub fn call_with(self, context: RequestContext) -> ResponseFuture {
        self.entry.start(context, self.arguments)
    }
}

/// Removes `task` from the params and returns whether it was there. Newer revisions lack it, and a server without tasks
/// ignores it.
fn without_task(mut request: AnyRequest) -> (AnyRequest, bool) {
    let may_have_task = may_run_as_task(request.context.revision(), CallToolRequest::METHOD);
    if let Some(params) = request.params.as_ref().filter(|_| may_have_task)
        && let Ok(mut members) = params.decode::<JsonObject>()
        && members.remove("task").is_some()
    {
        request.params = Some(Json::from(&members));
        return (request, true);
    }
    (request, false)
}

/// Returns whether the server declares that clients can request tool calls as tasks.
fn declares_tasks(context: &Context) -> bool {
    context.peer().revision_rules().has_declared(&["tasks", "requests", "tools", "call"])
}

/// Returns the name and the arguments of a call whose params have nothing else except, in modern revisions, `_meta`, as
/// most do. `None` for all other params, valid or not, which have to be decoded completely.
fn name_and_arguments<'p>(params: Cursor<'p>, context: &Context) -> Option<(Cow<'p, str>, Option<Cursor<'p>>)> {
    let picked = Picked::from(params, &["name", "arguments", "_meta"]).ok()?;
    let [name, arguments, meta] = picked.values;
    // Modern revisions require `_meta`. If there is peer info, `_meta` was already checked.
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
