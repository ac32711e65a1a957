//! Creates tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use jiff::Timestamp;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::router::ResponseFuture;
use mcpgen_types::v2025_11_25::{CreateTaskResult, Task, TaskMetadata, TaskStatus};
use mcpgen_types::{ErrorObject, Json, Map};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::runner::{Ending, RunningTask};
use super::state::{Slot, Tasks};
use super::store::{StoredTask, timestamp};
use mcpgen_mcp::telemetry::in_current_context;

pub(super) struct NewTask {
    pub(super) entry: StoredTask,
    pub(super) ttl: Duration,
    pub(super) stop: CancellationToken,
    slot: Slot,
}

impl Tasks {
    /// Creates a task on the peer's request, starts it, and returns it as the result.
    pub(super) async fn create(
        self,
        context: Context,
        metadata: TaskMetadata,
        run: impl FnOnce(Context) -> ResponseFuture + Send + 'static,
    ) -> Result<Json, ErrorObject> {
        let new = self.prepare(&context, metadata.ttl.map(ttl).transpose()?)?;
        let (task, ttl, stop) = (new.entry.task.clone(), new.ttl, new.stop.clone());
        let running_task = Arc::new(RunningTask {
            tasks: self.clone(),
            id: task.task_id.clone(),
            peer: context.peer().clone(),
            calls: AtomicUsize::new(0),
            has_ended: AtomicBool::new(false),
            task: tokio::sync::Mutex::new(task.clone()),
        });
        let method = context.method().to_owned();
        self.start(&method, new, move |is_known| async move {
            let ending = match is_known {
                true => running_task.run(context, run, stop, ttl).await,
                false => Ending::Unknown,
            };
            running_task.end(ending, ttl).await;
        })
        .await?;
        Ok(Json::from(&CreateTaskResult::new(task)))
    }

    /// Creates a task for a request, and reserves its slot. `ttl` is what the peer asked for.
    pub(super) fn prepare(&self, context: &Context, ttl: Option<Duration>) -> Result<NewTask, ErrorObject> {
        let limits = &self.0.limits;
        let ttl = ttl.unwrap_or(limits.ttl).min(limits.max_ttl);
        let (id, owner) = (new_id()?, (self.0.owner)(context));
        let (slot, stop) = self.reserve_slot(&id, &owner)?;
        let now = Timestamp::now();
        let mut task =
            Task::new(id, TaskStatus::Working, timestamp(now), Some(millis(ttl))).last_updated_at(timestamp(now));
        task.poll_interval = Some(millis(limits.poll_interval));
        let entry = StoredTask {
            task,
            owner,
            until: now.checked_add(ttl).unwrap_or(Timestamp::MAX),
            outcome: None,
            input_requests: Map::new(),
            input_responses: Map::new(),
        };
        Ok(NewTask { entry, ttl, stop, slot })
    }

    /// Stores a task and runs it. Returns once it is stored. `run` gets `false` if the request was cancelled meanwhile:
    /// the peer then does not know the task, and nobody will ask for its result.
    pub(super) async fn start<Fut: Future<Output = ()> + Send + 'static>(
        &self,
        method: &str,
        new: NewTask,
        run: impl FnOnce(bool) -> Fut + Send + 'static,
    ) -> Result<(), ErrorObject> {
        let NewTask { entry, slot, .. } = new;
        let (created, creation) = oneshot::channel();
        let span = tracing::info_span!("task", method, id = entry.task.task_id);
        let tasks = self.clone();
        // Spawned, so that it completes even if the request is cancelled meanwhile.
        let work = async move {
            let stored = tasks.0.store.create(entry).await;
            let is_stored = stored.is_ok();
            let is_known = created.send(stored).is_ok();
            if is_stored {
                run(is_known).await;
            }
            drop(slot);
        };
        tokio::spawn(tracing::Instrument::instrument(in_current_context(work), span));
        creation.await.map_err(|_| errors::internal())?
    }
}

fn ttl(millis: i64) -> Result<Duration, ErrorObject> {
    let millis = u64::try_from(millis).map_err(|_| {
        let reason = format!("params.task.ttl: expected 0 or more milliseconds, found {millis}");
        errors::invalid_params_in_words(&reason)
    })?;
    Ok(Duration::from_millis(millis))
}

/// Characters in a task ID.
pub(super) const ID_LENGTH: usize = 32;

/// Starts with the time, so that IDs sort by age, and ends with 80 random bits, so that they cannot be guessed.
fn new_id() -> Result<String, ErrorObject> {
    let mut random = [0; 10];
    getrandom::fill(&mut random).map_err(|error| errors::of(error.into()))?;
    let time = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default();
    let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{:012x}{random}", time & 0xffff_ffff_ffff))
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
