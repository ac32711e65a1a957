//! Tool calls that run as tasks.

use std::sync::Arc;

use mcpgen_runtime::context::Context;
use mcpgen_runtime::router::{AnyRequest, ResponseFuture};
use mcpgen_types::v2025_11_25::TaskMetadata;
use mcpgen_types::v2026_07_28::CallToolRequest;
use mcpgen_types::{ErrorCode, ErrorObject, Request};

use super::context::RequestContext;
use super::state::Server;
use super::tool::{Arguments, ToolEntry};
use crate::protocol::ContextExt;
use crate::protocol::input_requests::InputByKey;
use crate::protocol::methods::may_run_as_task;
use crate::tasks::{TaskInput, TaskSupport, TasksExtension, task_metadata};

impl Server {
    /// Returns the settings for running a call as a task, which only requests of some revisions have.
    pub(super) fn task_metadata(&self, request: &AnyRequest) -> Result<Option<TaskMetadata>, ErrorObject> {
        match self.0.config.tasks {
            Some(_) if may_run_as_task(request.context.revision(), CallToolRequest::METHOD) => task_metadata(request),
            _ => Ok(None),
        }
    }

    /// Starts a call as a task. Returns `None` if the call does not run as a task.
    pub(super) fn start_task(
        &self,
        entry: &Arc<ToolEntry>,
        context: &Context,
        arguments: &Arguments,
        metadata: Option<TaskMetadata>,
    ) -> Result<Option<ResponseFuture>, ErrorObject> {
        let Some(extension) = self.0.config.tasks.clone() else { return Ok(None) };
        let refused = |why: &str| {
            let name = &entry.tool.name;
            Err(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("{name:?} {why}")))
        };
        let context = context.clone();
        match (may_run_as_task(context.revision(), CallToolRequest::METHOD), entry.task_support, metadata) {
            (true, TaskSupport::Forbidden, Some(_)) => refused("cannot run as a task; send the request without `task`"),
            (true, TaskSupport::Required, None) => refused("must run as a task; add `task` to the params"),
            (true, _, Some(metadata)) => {
                let run = self.function_of(entry, arguments);
                let run = move |context| run(context, None);
                Ok(Some(Box::pin(async move { extension.create_requested(context, metadata, run).await })))
            }
            // In older revisions, and in calls without `task`.
            _ if context.revision().is_legacy() => Ok(None),
            (_, support, _) => match TasksExtension::runs_as_task(&context, support)? {
                false => Ok(None),
                true if entry.is_task_deferred => Ok(Some(self.run_until_task(extension, entry, context, arguments))),
                true => {
                    let run = self.function_of(entry, arguments);
                    let run = move |context, input| run(context, Some((input, Arc::default())));
                    Ok(Some(Box::pin(async move { extension.create(context, run).await })))
                }
            },
        }
    }

    /// Runs a call until its function asks for a task, and then starts the task.
    fn run_until_task(
        &self,
        extension: TasksExtension,
        entry: &Arc<ToolEntry>,
        context: Context,
        arguments: &Arguments,
    ) -> ResponseFuture {
        let run = self.function_of(entry, arguments);
        let request_context = self.request_context(context.clone(), || arguments.text()).with_deferred_task();
        let result = Arc::clone(entry).start(request_context.clone(), arguments.clone());
        Box::pin(async move {
            let result = result.await;
            match request_context.input_before_task().map(Arc::new) {
                None => result,
                Some(earlier) => {
                    let run = move |context, input| run(context, Some((input, Arc::clone(&earlier))));
                    extension.create(context, run).await
                }
            }
        })
    }

    /// Returns the function of a call. A task of the extension passes the input of the client to it.
    fn function_of(
        &self,
        entry: &Arc<ToolEntry>,
        arguments: &Arguments,
    ) -> impl Fn(Context, Option<(TaskInput, Arc<InputByKey>)>) -> ResponseFuture + Send + Sync + 'static {
        let (server, entry, arguments) = (self.clone(), Arc::clone(entry), arguments.clone());
        move |context, input| {
            let arguments = arguments.clone();
            let context = match input {
                Some((input, earlier)) => RequestContext::in_task(server.erased(), context, input, earlier),
                None => server.request_context(context, || arguments.text()),
            };
            Arc::clone(&entry).start(context, arguments)
        }
    }
}
