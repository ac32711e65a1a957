//! A server's tasks.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use mcpgen_mcp::protocol::RouterExt;
use mcpgen_mcp::server::ServerSetup;
use mcpgen_mcp::server::subscriptions::{SubscriptionSource, Updates};
use mcpgen_mcp::{Server, ServerBuilder};
use mcpgen_runtime::context::Context;
use mcpgen_types::v2026_07_28::{CallToolRequest, SubscriptionFilter};
use mcpgen_types::{ErrorObject, Request};
use parking_lot::Mutex;

use super::extension::TasksExtension;
use super::state::Tasks;
use super::support::capability;

/// Task methods of [`ServerBuilder`].
pub trait ServeTasks {
    /// Sets the store, limits and owners of tasks, for tools that can run as tasks; see
    /// [`TaskToolExt::task`](super::TaskToolExt::task).
    ///
    /// Defaults to [`Tasks::default`], if one of the tools can run as a task.
    ///
    /// ```
    /// use mcpgen_sdk::prelude::*;
    /// use mcpgen_sdk::tasks::{TaskSupport, Tasks};
    ///
    /// let server = Server::builder("search", "1.0.0")
    ///     .tool(ToolInfo::new("index").task(TaskSupport::Optional), || async { "indexed" })
    ///     .tasks(Tasks::default())
    ///     .build();
    /// # let _ = server;
    /// ```
    #[must_use]
    fn tasks(self, tasks: Tasks) -> Self;

    /// Sets the tasks to use if a tool can run as a task and [`tasks`](Self::tasks) is not called.
    #[must_use]
    fn default_tasks(self, tasks: Tasks) -> Self;
}

impl<S> ServeTasks for ServerBuilder<S> {
    fn tasks(self, tasks: Tasks) -> Self {
        self.setup(|setup| {
            declare(setup);
            ServerTasks::of_setup(setup).0.lock().set = Some(TasksExtension::new(tasks));
        })
    }

    fn default_tasks(self, tasks: Tasks) -> Self {
        self.setup(|setup| ServerTasks::of_setup(setup).0.lock().default = Some(TasksExtension::new(tasks)))
    }
}

pub(super) fn declare(setup: &mut ServerSetup) {
    let tasks = ServerTasks::of_setup(setup);
    if std::mem::replace(&mut tasks.0.lock().is_declared, true) {
        return;
    }
    setup.declare(&TasksExtension::default());
    // Modern revisions omit this capability.
    setup.declare_capability("tasks", capability(&[CallToolRequest::METHOD], false));
    setup.subscription_source(tasks);
    setup.routes(|server, router| match ServerTasks::of(server) {
        Some(tasks) => tasks.add_task_requests(router.extension(&tasks)),
        None => router,
    });
}

/// The tasks that a server uses. Builder methods may be called in any order, so the choice is made when it is needed.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerTasks(Arc<Mutex<Choice>>);

#[derive(Debug, Default)]
struct Choice {
    set: Option<TasksExtension>,
    default: Option<TasksExtension>,
    is_declared: bool,
}

impl ServerTasks {
    fn of_setup(setup: &mut ServerSetup) -> Self {
        setup.extensions_mut().get_or_insert_default::<Self>().clone()
    }

    /// `None` if the server has not declared tasks.
    pub(super) fn of(server: &Server) -> Option<TasksExtension> {
        server.extensions().get::<Self>()?.chosen()
    }

    fn chosen(&self) -> Option<TasksExtension> {
        let Choice { set, default, is_declared } = &mut *self.0.lock();
        let chosen = || set.clone().unwrap_or_else(|| default.get_or_insert_default().clone());
        is_declared.then(chosen)
    }
}

impl SubscriptionSource for ServerTasks {
    fn subscribe<'a>(
        &'a self,
        context: &'a Context,
        filter: &'a SubscriptionFilter,
    ) -> BoxFuture<'a, Result<Option<Updates>, ErrorObject>> {
        let chosen = self.chosen();
        Box::pin(async move {
            match chosen {
                Some(tasks) => tasks.subscribe(context, filter).await,
                None => Ok(None),
            }
        })
    }
}
