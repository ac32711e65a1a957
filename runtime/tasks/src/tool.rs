//! Tools whose calls run as tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_mcp::protocol::ContextExt;
use mcpgen_mcp::protocol::input_requests::InputByKey;
use mcpgen_mcp::protocol::methods::may_run_as_task;
use mcpgen_mcp::server::{InputSource, RequestContext, ServerSetup, ToolError, ToolInfo, ToolInvocation, ToolRunner};
use mcpgen_runtime::context::Context;
use mcpgen_runtime::router::ResponseFuture;
use mcpgen_types::v2026_07_28::{CallToolRequest, InputRequests, Tool};
use mcpgen_types::{ErrorObject, JsonObject, Request};

use super::extension::TasksExtension;
use super::handlers::{MUST_RUN_AS_TASK, refused, task_metadata};
use super::input::TaskInput;
use super::server::{ServerTasks, declare};
use super::support::TaskSupport;

/// Task methods of [`ToolInfo`].
pub trait TaskToolExt: Sized {
    /// Sets whether calls can run as tasks; see [`TasksExtension`]. By default, they cannot.
    ///
    /// In 2025-11-25, the client decides whether a call runs as a task. In 2026-07-28, calls run as tasks for clients
    /// that have the extension, and a tool that must run as a task cannot be called by others. In older revisions,
    /// calls never run as tasks.
    #[must_use]
    fn task(self, support: TaskSupport) -> Self;

    /// Like [`task`](Self::task), but in 2026-07-28 a call becomes a task only once its function calls
    /// [`start_task`](TaskContextExt::start_task). Use this if the function needs input to find out whether there is
    /// work to do. Until then, it asks for input as in an ordinary call.
    #[must_use]
    fn deferred_task(self, support: TaskSupport) -> Self;
}

impl TaskToolExt for ToolInfo {
    fn task(self, support: TaskSupport) -> Self {
        self.runner(runner(support, false))
    }

    fn deferred_task(self, support: TaskSupport) -> Self {
        self.runner(runner(support, true))
    }
}

fn runner(support: TaskSupport, is_deferred: bool) -> Option<Arc<dyn ToolRunner>> {
    match support {
        TaskSupport::Forbidden => None,
        TaskSupport::Optional | TaskSupport::Required => Some(Arc::new(TaskRunner { support, is_deferred })),
    }
}

/// Task methods of [`RequestContext`].
pub trait TaskContextExt {
    /// Turns the call into a task, if the tool was declared with [`deferred_task`](TaskToolExt::deferred_task) and the
    /// client supports it (2026-07-28). Does nothing in all other calls.
    ///
    /// Return the error with `?`. The function then starts over as a task, with the client's earlier input at hand, and
    /// this time `start_task` returns `Ok`. So call it before you do anything that must happen only once.
    ///
    /// # Errors
    ///
    /// Fails if the call becomes a task. Return the error with `?`.
    fn start_task(&self) -> Result<(), ToolError>;
}

impl TaskContextExt for RequestContext {
    fn start_task(&self) -> Result<(), ToolError> {
        let Some(deferred) = self.attached::<DeferredTask>() else { return Ok(()) };
        deferred.0.store(true, Ordering::SeqCst);
        Err(ToolError::failed("the call becomes a task"))
    }
}

/// A call that becomes a task once its function sets the flag.
#[derive(Clone, Default)]
struct DeferredTask(Arc<AtomicBool>);

#[derive(Debug)]
struct TaskRunner {
    support: TaskSupport,
    /// Whether calls become tasks only on the function's request.
    is_deferred: bool,
}

impl ToolRunner for TaskRunner {
    fn prepare(&self, setup: &mut ServerSetup) {
        declare(setup);
    }

    /// In revisions where clients request tasks, tells them whether the tool can run as one.
    fn list(&self, context: &Context, tool: &mut Tool) {
        if may_run_as_task(context.revision(), CallToolRequest::METHOD) {
            let execution = JsonObject::from([("taskSupport", self.support.as_str().into())]);
            // Cannot fail, because the newest revision has no such member.
            let _ = tool.extra.insert("execution", execution);
        }
    }

    fn run(&self, call: ToolInvocation) -> Result<ResponseFuture, ErrorObject> {
        // Adding a tool to a running server does not declare tasks, so the server may not support them.
        let Some(extension) = ServerTasks::of(call.server()) else { return Ok(call.call()) };
        let context = call.context().clone();
        if may_run_as_task(context.revision(), CallToolRequest::METHOD) {
            return match (self.support, call.params().map_or(Ok(None), task_metadata)?) {
                (TaskSupport::Required, None) => Err(refused(&call.tool().name, MUST_RUN_AS_TASK)),
                (_, None) => Ok(call.call()),
                (_, Some(metadata)) => {
                    let run = move |context| call.with_context(context).call();
                    Ok(Box::pin(async move { extension.create_requested(context, metadata, run).await }))
                }
            };
        }
        if context.revision().is_legacy() || !TasksExtension::runs_as_task(&context, self.support)? {
            return Ok(call.call());
        }
        match self.is_deferred {
            true => Ok(run_until_task(extension, call)),
            false => Ok(Box::pin(async move { extension.create(context, in_task(call, Arc::default())).await })),
        }
    }
}

/// Runs a call as usual. If its function asks for a task, runs the call again as one.
fn run_until_task(extension: TasksExtension, call: ToolInvocation) -> ResponseFuture {
    let deferred = DeferredTask::default();
    let context = call.request_context().attach(deferred.clone());
    let result = call.clone().call_with(context.clone());
    Box::pin(async move {
        let result = result.await;
        if !deferred.0.load(Ordering::SeqCst) {
            return result;
        }
        let earlier = Arc::new(context.received_input());
        extension.create(call.context().clone(), in_task(call, earlier)).await
    })
}

/// Returns a function that runs the call in a task, where it can ask for more input. `earlier` is the input from before
/// the task, by key.
fn in_task(call: ToolInvocation, earlier: Arc<InputByKey>) -> impl Fn(Context, TaskInput) -> ResponseFuture {
    move |context, input| {
        let call = call.clone().with_context(context);
        let context = call.request_context().with_input_source(InputOfTask { input, earlier: Arc::clone(&earlier) });
        call.call_with(context)
    }
}

#[derive(Debug)]
struct InputOfTask {
    input: TaskInput,
    /// The input from before the task, by key.
    earlier: Arc<InputByKey>,
}

impl InputSource for InputOfTask {
    fn request(&self, requests: InputRequests) -> BoxFuture<'_, Result<InputByKey, ErrorObject>> {
        async move {
            let known = requests.keys().filter_map(|key| Some((key.clone(), self.earlier.get(key)?.clone())));
            let mut responses: InputByKey = known.collect();
            let missing: InputRequests = requests.into_iter().filter(|(key, _)| !responses.contains_key(key)).collect();
            if !missing.is_empty() {
                responses.extend(self.input.request(&missing).await?);
            }
            Ok(responses)
        }
        .boxed()
    }
}
