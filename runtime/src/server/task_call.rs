//! Tool calls that run as tasks.

use std::sync::Arc;

use mcpgen_types::v2025_11_25::TaskMetadata;
use mcpgen_types::v2026_07_28::CallToolRequest;
use mcpgen_types::{ErrorCode, ErrorObject, Request, Revision};

use super::state::Server;
use super::tool::{Arguments, ToolEntry};
use crate::service::context::Context;
use crate::service::router::{AnyRequest, ResponseFuture};
use crate::tasks::{TaskSupport, TasksExtension, task_metadata};

impl Server {
    /// Returns the settings for running a call as a task, which only requests of some revisions have.
    pub(super) fn task_metadata(&self, request: &AnyRequest) -> Result<Option<TaskMetadata>, ErrorObject> {
        match self.0.config.tasks {
            Some(_) if may_request_task(request.context.revision()) => task_metadata(request),
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
        let run = self.rounds_of(entry, arguments);
        let context = context.clone();
        match (may_request_task(context.revision()), entry.task_support, metadata) {
            (true, TaskSupport::Forbidden, Some(_)) => refused("cannot run as a task; send the request without `task`"),
            (true, TaskSupport::Required, None) => refused("must run as a task; add `task` to the params"),
            (true, _, Some(metadata)) => {
                Ok(Some(Box::pin(async move { extension.create_requested(context, metadata, run).await })))
            }
            (_, support, _) if context.revision().is_legacy() || support == TaskSupport::Forbidden => Ok(None),
            (_, support, _) => match context.require_extension::<TasksExtension>() {
                Ok(()) => Ok(Some(Box::pin(async move { extension.create(context, run).await }))),
                Err(error) if support == TaskSupport::Required => Err(error),
                Err(_) => Ok(None),
            },
        }
    }

    /// Returns a function that runs a round of a call.
    fn rounds_of(
        &self,
        entry: &Arc<ToolEntry>,
        arguments: &Arguments,
    ) -> impl Fn(Context) -> ResponseFuture + Send + Sync + 'static {
        let (server, entry, arguments) = (self.clone(), Arc::clone(entry), arguments.clone());
        move |context| {
            let arguments = arguments.clone();
            let context = server.request_context(context, || arguments.text());
            Arc::clone(&entry).start(context, arguments)
        }
    }
}

/// Returns whether clients of a revision can request that a call runs as a task.
pub(super) fn may_request_task(revision: Revision) -> bool {
    revision.method(CallToolRequest::METHOD).is_some_and(|spec| spec.may_run_as_task)
}
