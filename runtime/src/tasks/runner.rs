//! Runs a handler as a task.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use mcpgen_types::v2025_11_25::{Task, TaskStatus, TaskStatusNotification};
use mcpgen_types::{ErrorCode, ErrorObject, Notification, RawJson};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::state::Tasks;
use super::store::{TaskOutcome, has_ended};
use crate::jsonrpc::errors;
use crate::jsonrpc::json::Picked;
use crate::peer::{Peer, TaskScope};
use crate::protocol::legacy::RELATED_TASK;
use crate::service::context::Context;
use crate::service::router::ResponseFuture;

/// The state of a task that runs in this process.
pub(super) struct RunningTask {
    pub(super) tasks: Tasks,
    pub(super) id: String,
    /// The peer that receives status notifications.
    pub(super) peer: Peer,
    /// The number of pending calls to the peer.
    pub(super) calls: AtomicUsize,
    pub(super) has_ended: AtomicBool,
    /// The task as stored. Locked while a change is stored and sent, which keeps the notifications in order.
    pub(super) task: tokio::sync::Mutex<Task>,
}

/// How a task ended.
pub(super) enum Ending {
    Outcome(TaskOutcome),
    Cancelled,
    /// The request was cancelled before the peer learned the task's ID.
    Unknown,
    /// The task has expired.
    Expired,
}

pub(super) const CANCELLED: &str = "the task was cancelled";

pub(super) fn cancelled() -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, CANCELLED)
}

pub(super) fn with_status(task: Task, status: TaskStatus, message: Option<String>) -> Task {
    Task { status, status_message: message, last_updated_at: timestamp(Timestamp::now()), ..task }
}

/// How long a status notification may wait for room in the outbox. The task occupies its slot meanwhile.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(5);

/// The minimum interval for polling a task that runs in another process, and for retrying to store the end of a task.
pub(super) const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);

impl RunningTask {
    /// Runs the handler after the response with the task is in the outbox.
    pub(super) async fn run(
        self: &Arc<Self>,
        context: Context,
        run: impl FnOnce(Context) -> ResponseFuture,
        stop: CancellationToken,
        ttl: Duration,
    ) -> Ending {
        let inside = context.on_task(Arc::clone(self) as Arc<dyn TaskScope>);
        let handed = inside.clone();
        let ran = async {
            let run = async {
                context.sent().await;
                run(handed).await
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => Ending::Cancelled,
                () = tokio::time::sleep(ttl) => Ending::Expired,
                outcome = run => Ending::Outcome(outcome),
            }
            // The handler is dropped here: it may hold what `finish` waits for, and it may panic.
        };
        let ending = AssertUnwindSafe(ran).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!("a handler panicked");
            match stop.is_cancelled() {
                true => Ending::Cancelled,
                false => Ending::Outcome(Err(errors::internal())),
            }
        });
        // From here on, futures that the handler has spawned cannot send messages for this task.
        self.has_ended.store(true, Ordering::SeqCst);
        if !matches!(ending, Ending::Outcome(_)) {
            inside.cancel();
        }
        inside.finish().await;
        inside.cancel();
        ending
    }

    pub(super) async fn end(&self, ending: Ending, ttl: Duration) {
        let is_known = !matches!(ending, Ending::Unknown);
        let (status, message, outcome) = match ending {
            Ending::Expired => return,
            Ending::Cancelled | Ending::Unknown => {
                (TaskStatus::Cancelled, Some(CANCELLED.to_owned()), Err(cancelled()))
            }
            Ending::Outcome(Ok(result)) if result.text().len() > self.tasks.0.limits.result_bytes => {
                tracing::error!(bytes = result.text().len(), "a task's result exceeds `TaskLimits::result_bytes`");
                (TaskStatus::Failed, Some("the result is too large".to_owned()), Err(errors::internal()))
            }
            Ending::Outcome(Ok(result)) if is_error(&result) => (TaskStatus::Failed, None, Ok(result)),
            Ending::Outcome(Ok(result)) => (TaskStatus::Completed, None, Ok(result)),
            Ending::Outcome(Err(error)) => (TaskStatus::Failed, Some(error.message.clone()), Err(error)),
        };
        let mut task = self.task.lock().await;
        let ended = with_status(task.clone(), status, message);
        if !self.tasks.store_end(&ended, &outcome, ttl).await {
            return;
        }
        *task = ended;
        if is_known {
            self.notify_status(&task).await;
        }
    }

    async fn notify_status(&self, task: &Task) {
        // A peer that misses the notification can still poll.
        let peer = self.peer.raw_notify(TaskStatusNotification::METHOD, Some(RawJson::from(task)));
        let _ = tokio::time::timeout(NOTIFICATION_TIMEOUT, peer).await;
    }
}

impl Tasks {
    /// Stores the outcome of a task. It exists only here until then, so this retries until the task expires. Returns
    /// whether it is stored.
    pub(super) async fn store_end(&self, ended: &Task, outcome: &TaskOutcome, ttl: Duration) -> bool {
        let (begun, mut pause) = (Instant::now(), MIN_POLL_INTERVAL);
        while let Err(error) = self.0.store.advance(ended.clone(), Some(outcome.clone())).await {
            tracing::error!(%error, id = ended.task_id, "cannot store the outcome of a task");
            if begun.elapsed() > ttl {
                return false;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
        true
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
            let next = with_status(task.clone(), status, None);
            match self.tasks.0.store.advance(next.clone(), None).await {
                Ok(true) => {
                    *task = next;
                    self.notify_status(&task).await;
                }
                Ok(false) => {}
                Err(error) => tracing::error!(%error, id = next.task_id, "cannot store the status of a task"),
            }
        }
        .boxed()
    }
}

/// Returns whether a result is a tool's error, with `isError` set.
fn is_error(result: &RawJson) -> bool {
    let is_error = result.read(|result| {
        let [is_error] = Picked::values(result, &["isError"]);
        is_error.is_some_and(|is_error| is_error.text() == "true")
    });
    is_error.unwrap_or(false)
}

pub(super) fn timestamp(time: Timestamp) -> String {
    format!("{time:.3}")
}
