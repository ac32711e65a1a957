//! Creates tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use jiff::Timestamp;
use mcpgen_types::v2025_11_25::{CreateTaskResult, Task, TaskMetadata, TaskStatus};
use mcpgen_types::{ErrorObject, RawJson};
use tokio::sync::oneshot;

use super::runner::{Ending, RunningTask, timestamp};
use super::state::Tasks;
use super::store::StoredTask;
use crate::jsonrpc::errors;
use crate::service::context::Context;
use crate::service::router::ResponseFuture;
use crate::telemetry::Scope;
use crate::util::random::random;

impl Tasks {
    /// Creates a task, starts it and returns it as the result.
    pub(super) async fn create(
        self,
        context: Context,
        metadata: TaskMetadata,
        run: impl FnOnce(Context) -> ResponseFuture + Send + 'static,
    ) -> Result<RawJson, ErrorObject> {
        let limits = &self.0.limits;
        let wanted = metadata.ttl.map(ttl).transpose()?;
        let id = new_id()?;
        let owner = (self.0.owner)(&context);
        let (slot, stop) = self.reserve_slot(&id, &owner)?;
        let ttl = wanted.unwrap_or(limits.ttl).min(limits.max_ttl);
        let now = Timestamp::now();
        let mut task = Task::new(timestamp(now), timestamp(now), TaskStatus::Working, id.clone(), Some(millis(ttl)));
        task.poll_interval = Some(millis(limits.poll_interval));
        let until = now.checked_add(ttl).unwrap_or(Timestamp::MAX);
        let entry = StoredTask { task: task.clone(), owner, until, outcome: None };
        let running_task = Arc::new(RunningTask {
            tasks: self.clone(),
            id: id.clone(),
            peer: context.peer().clone(),
            calls: AtomicUsize::new(0),
            has_ended: AtomicBool::new(false),
            task: tokio::sync::Mutex::new(task.clone()),
        });
        let (created, creation) = oneshot::channel();
        let span = tracing::info_span!("task", method = context.method(), %id);
        // Spawned, so that it runs to its end even if the request is cancelled meanwhile.
        let work = async move {
            let stored = running_task.tasks.0.store.create(entry).await;
            let is_stored = stored.is_ok();
            // If the request was cancelled, the peer does not know the task.
            let is_known = created.send(stored).is_ok();
            if is_stored {
                let outcome = match is_known {
                    true => running_task.run(context, run, stop, ttl).await,
                    false => Ending::Unknown,
                };
                running_task.end(outcome, ttl).await;
            }
            drop(slot);
        };
        tokio::spawn(tracing::Instrument::instrument(Scope::current().instrument(work), span));
        creation.await.map_err(|_| errors::internal())??;
        Ok(RawJson::from(&CreateTaskResult::new(task)))
    }
}

/// Converts the `ttl` of a request.
fn ttl(millis: i64) -> Result<Duration, ErrorObject> {
    let millis = u64::try_from(millis).map_err(|_| {
        let reason = format!("params.task.ttl: expected 0 or more milliseconds, found {millis}");
        errors::invalid_params_in_words(&reason)
    })?;
    Ok(Duration::from_millis(millis))
}

/// The number of characters of a task ID.
pub(super) const ID_LENGTH: usize = 32;

/// Creates a task ID. It starts with the time, so that IDs sort by age, and ends with 80 random bits, so that it cannot
/// be guessed.
pub(super) fn new_id() -> Result<String, ErrorObject> {
    let random = random::<10>().map_err(|error| errors::of(error.into()))?;
    let time = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default();
    let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{:012x}{random}", time & 0xffff_ffff_ffff))
}

pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
