//! Tasks of a server or client: their store, their limits, and those running in this process.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_types::ErrorObject;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::memory::InMemoryTaskStore;
use super::store::{StoredTask, TaskChange, TaskStore, has_ended};
use super::support::TaskLimits;

/// Runs requests as tasks. Clones share their tasks.
#[derive(Clone)]
pub struct Tasks(pub(super) Arc<TasksState>);

pub(super) struct TasksState {
    pub(super) store: Box<dyn TaskStore>,
    pub(super) limits: TaskLimits,
    pub(super) owner: Box<dyn Fn(&Context) -> String + Send + Sync>,
    running: Mutex<HashMap<String, Running>>,
}

pub(super) struct Running {
    owner: String,
    pub(super) stop: CancellationToken,
    /// Notified of the task's changes. Closed when the task has ended.
    changes: watch::Sender<()>,
}

pub(super) struct Changes {
    /// Notified of changes by this process. `None` if the task runs elsewhere.
    here: Option<watch::Receiver<()>>,
    poll_interval: Duration,
}

impl Changes {
    /// Waits until this process changes the task, or it is time to look for changes by other processes.
    pub(super) async fn next(&mut self) {
        let poll = tokio::time::sleep(self.poll_interval);
        tokio::select! {
            () = self.here() => {}
            () = poll => {}
        }
    }

    pub(super) async fn here(&mut self) {
        match &mut self.here {
            Some(here) => {
                if here.changed().await.is_err() {
                    self.here = None;
                }
            }
            None => std::future::pending().await,
        }
    }

    pub(super) fn is_here(&self) -> bool {
        self.here.is_some()
    }
}

/// The shortest pause between polls of a task in another process, and between attempts to store a task's end.
pub(super) const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);

impl Default for Tasks {
    fn default() -> Self {
        Self::new(InMemoryTaskStore::default(), TaskLimits::default())
    }
}

impl Tasks {
    /// Creates tasks that only their [`Principal`](mcpgen_runtime::transport::Principal) can see. Requests without a
    /// principal all have the same owner, so their senders can see each other's tasks.
    ///
    /// If several clients connect without authentication, create a `Tasks` for each connection, or use
    /// [`owned_by`](Self::owned_by). To share a store, put it in an [`Arc`].
    pub fn new(store: impl TaskStore, limits: TaskLimits) -> Self {
        Self::owned_by(store, limits, |context| {
            context.principal().map_or_else(String::new, |principal| principal.name().to_owned())
        })
    }

    /// Creates tasks that only their owners can see. For everyone else, they do not exist.
    ///
    /// `owner` returns a request's owner, for example the user name that a middleware layer has authenticated. Do not
    /// use data from the request itself, such as the peer info, which any client can forge.
    pub fn owned_by(
        store: impl TaskStore,
        limits: TaskLimits,
        owner: impl Fn(&Context) -> String + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(TasksState { store: Box::new(store), limits, owner: Box::new(owner), running: Mutex::default() }))
    }

    pub(super) fn reserve_slot(&self, id: &str, owner: &str) -> Result<(Slot, CancellationToken), ErrorObject> {
        let (stop, (changes, _)) = (CancellationToken::new(), watch::channel(()));
        let mut running = self.running();
        let owned = running.values().filter(|running| running.owner == owner).count();
        if running.len() >= self.0.limits.running || owned >= self.0.limits.running_per_owner {
            return Err(errors::limit_exceeded("too many tasks are running; try again when one has ended"));
        }
        running.insert(id.to_owned(), Running { owner: owner.to_owned(), stop: stop.clone(), changes });
        Ok((Slot { tasks: self.clone(), id: id.to_owned() }, stop))
    }

    /// Finds a task that belongs to the request's sender.
    pub(super) async fn find(&self, context: &Context, id: &str) -> Result<StoredTask, ErrorObject> {
        let found = self.find_stored(context, id).await?;
        found.ok_or_else(|| errors::invalid_params_in_words("params.taskId: unknown or expired task"))
    }

    /// Like [`find`](Self::find), but returns `None` if there is no such task.
    pub(super) async fn find_stored(&self, context: &Context, id: &str) -> Result<Option<StoredTask>, ErrorObject> {
        let owner = (self.0.owner)(context);
        Ok(self.0.store.get(id).await?.filter(|entry| entry.owner == owner))
    }

    /// Returns `None` if the task has ended or does not exist.
    pub(super) async fn change(&self, id: &str, change: TaskChange) -> Result<Option<StoredTask>, ErrorObject> {
        let changed = self.0.store.change(id, change).await?;
        if let Some(running) = self.running().get(id) {
            running.changes.send_replace(());
        }
        Ok(changed)
    }

    pub(super) fn changes(&self, id: &str) -> Changes {
        let here = self.running().get(id).map(|running| running.changes.subscribe());
        Changes { here, poll_interval: self.poll_interval() }
    }

    /// Waits until another process has ended a task that runs here.
    pub(super) async fn ended_elsewhere(&self, id: &str) {
        loop {
            tokio::time::sleep(self.poll_interval()).await;
            match self.0.store.get(id).await {
                Ok(Some(stored)) if !has_ended(stored.task.status) => {}
                Ok(_) => return,
                Err(error) => tracing::warn!(%error, id, "cannot read a task"),
            }
        }
    }

    pub(super) fn poll_interval(&self) -> Duration {
        self.0.limits.poll_interval.max(MIN_POLL_INTERVAL)
    }

    pub(super) fn running(&self) -> MutexGuard<'_, HashMap<String, Running>> {
        self.0.running.lock()
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks").field("running", &self.running().len()).finish_non_exhaustive()
    }
}

/// Dropping this frees the slot.
pub(super) struct Slot {
    tasks: Tasks,
    id: String,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.tasks.running().remove(&self.id);
    }
}
