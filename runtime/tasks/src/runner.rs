//! Runs a handler as a task.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_runtime::peer::Peer;
use mcpgen_runtime::router::ResponseFuture;
use mcpgen_types::v2025_11_25::{Task, TaskStatus, TaskStatusNotification};
use mcpgen_types::{ErrorCode, ErrorObject, Json, Notification};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::state::{MIN_POLL_INTERVAL, Tasks};
use super::store::{TaskChange, TaskOutcome, has_ended};
use super::support::TaskLimits;
use mcpgen_mcp::protocol::context::on_task;
use mcpgen_mcp::protocol::legacy::RELATED_TASK;
use mcpgen_mcp::protocol::task_scope::TaskScope;

pub(super) struct RunningTask {
    pub(super) tasks: Tasks,
    pub(super) id: String,
    /// Receives status notifications.
    pub(super) peer: Peer,
    /// The number of pending calls to the peer.
    pub(super) calls: AtomicUsize,
    pub(super) has_ended: AtomicBool,
    /// The task as stored. Locked while a change is stored and sent, which keeps notifications in order.
    pub(super) task: tokio::sync::Mutex<Task>,
}

pub(super) enum Ending {
    Outcome(TaskOutcome),
    Cancelled,
    /// The request was cancelled before the peer learned the task's ID.
    Unknown,
    /// The task has expired, or another process has ended it.
    Gone,
}

impl Ending {
    pub(super) fn into_change(self, limits: &TaskLimits) -> Option<(TaskStatus, Option<String>, TaskOutcome)> {
        Some(match self {
            Self::Gone => return None,
            Self::Cancelled | Self::Unknown => (TaskStatus::Cancelled, Some(CANCELLED.to_owned()), Err(cancelled())),
            Self::Outcome(Ok(result)) if result.text().len() > limits.result_bytes => {
                tracing::error!(bytes = result.text().len(), "a task's result exceeds `TaskLimits::result_bytes`");
                (TaskStatus::Failed, Some("the result is too large".to_owned()), Err(errors::internal()))
            }
            Self::Outcome(Ok(result)) => (TaskStatus::Completed, None, Ok(result)),
            Self::Outcome(Err(error)) => (TaskStatus::Failed, Some(error.message.clone()), Err(error)),
        })
    }
}

pub(super) const CANCELLED: &str = "the task was cancelled";

pub(super) fn cancelled() -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, CANCELLED)
}

/// How long a status notification may wait for room in the outbox, while the task occupies its slot.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(5);

impl RunningTask {
    /// Waits until the response with the task is in the outbox, and then runs the handler.
    pub(super) async fn run(
        self: &Arc<Self>,
        context: Context,
        run: impl FnOnce(Context) -> ResponseFuture,
        stop: CancellationToken,
        ttl: Duration,
    ) -> Ending {
        let inside = on_task(&context, Arc::clone(self) as Arc<dyn TaskScope>);
        let handed = inside.clone();
        let ran = async {
            let run = async {
                context.responded().await;
                run(handed).await
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => Ending::Cancelled,
                () = tokio::time::sleep(ttl) => Ending::Gone,
                () = self.tasks.ended_elsewhere(&self.id) => Ending::Gone,
                outcome = run => Ending::Outcome(outcome),
            }
            // Drop the handler here: it may hold what `end_reports` waits for, and its destructor may panic.
        };
        let ending = AssertUnwindSafe(ran).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!("a handler panicked");
            match stop.is_cancelled() {
                true => Ending::Cancelled,
                false => Ending::Outcome(Err(errors::internal())),
            }
        });
        // From here on, futures spawned by the handler cannot send messages for this task.
        self.has_ended.store(true, Ordering::SeqCst);
        if !matches!(ending, Ending::Outcome(_)) {
            inside.cancel();
        }
        inside.end_reports().await;
        inside.cancel();
        ending
    }

    pub(super) async fn end(&self, ending: Ending, ttl: Duration) {
        let is_known = !matches!(ending, Ending::Unknown);
        let Some((status, message, outcome)) = ending.into_change(&self.tasks.0.limits) else { return };
        let status = match &outcome {
            // In this revision, a failed tool means a failed task.
            Ok(result) if is_error(result) => TaskStatus::Failed,
            _ => status,
        };
        let mut task = self.task.lock().await;
        let Some(ended) = self.tasks.store_end(&self.id, status, message, outcome, ttl).await else { return };
        *task = ended;
        if is_known {
            self.notify_status(&task).await;
        }
    }

    async fn notify_status(&self, task: &Task) {
        // A peer that misses the notification can still poll.
        let peer = self.peer.raw_notify(TaskStatusNotification::METHOD, Some(Json::from(task)));
        let _ = tokio::time::timeout(NOTIFICATION_TIMEOUT, peer).await;
    }
}

impl Tasks {
    /// Stores a task's outcome. Until then it exists only here, so this retries until the task expires. Returns `None`
    /// if the outcome could not be stored.
    pub(super) async fn store_end(
        &self,
        id: &str,
        status: TaskStatus,
        message: Option<String>,
        outcome: TaskOutcome,
        ttl: Duration,
    ) -> Option<Task> {
        let (begun, mut pause) = (Instant::now(), MIN_POLL_INTERVAL);
        let end = TaskChange::end(status, message, outcome);
        loop {
            match self.change(id, end.clone()).await {
                Ok(stored) => return stored.map(|stored| stored.task),
                Err(error) => tracing::error!(%error, id, "cannot store the outcome of a task"),
            }
            if begun.elapsed() > ttl {
                return None;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }
}

impl TaskScope for RunningTask {
    fn meta(&self) -> (&'static str, String) {
        (RELATED_TASK, json!({ "taskId": self.id }).to_string())
    }

    fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    fn call_started(&self) {
        self.calls.fetch_add(1, Ordering::SeqCst);
    }

    fn call_ended(&self) {
        self.calls.fetch_sub(1, Ordering::SeqCst);
    }

    fn update_status(self: Arc<Self>) -> BoxFuture<'static, ()> {
        async move {
            let mut task = self.task.lock().await;
            let status = match self.calls.load(Ordering::SeqCst) {
                0 => TaskStatus::Working,
                _ => TaskStatus::InputRequired,
            };
            if self.has_ended() || task.status == status || has_ended(task.status) {
                return;
            }
            match self.tasks.change(&self.id, TaskChange::status(status)).await {
                Ok(Some(stored)) => {
                    *task = stored.task;
                    self.notify_status(&task).await;
                }
                Ok(None) => {}
                Err(error) => tracing::error!(%error, id = self.id, "cannot store the status of a task"),
            }
        }
        .boxed()
    }
}

/// Whether a tool's result has `isError` set.
fn is_error(result: &Json) -> bool {
    let is_error = result.read(|result| {
        let [is_error] = Picked::values(result, &["isError"]);
        is_error.is_some_and(|is_error| is_error.text() == "true")
    });
    is_error.unwrap_or(false)
}
