//! The status notifications of the extension.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::select_all;
use mcpgen_runtime::context::Context;
use mcpgen_types::{ErrorObject, JsonObject};
use tokio::time::Instant;

use super::extension::{TasksExtension, state_of};
use super::state::{Changes, Tasks};
use super::store::has_ended;

/// Tasks whose changes a client is notified of.
pub(crate) struct WatchedTasks {
    tasks: Tasks,
    watched: Vec<Watched>,
    /// When to look for changes of other processes.
    next_poll: Instant,
    poll_interval: Duration,
}

struct Watched {
    id: String,
    changes: Changes,
    /// Whether the task may have changed since `last`.
    is_due: bool,
    /// The state that the client has last been notified of.
    last: Option<JsonObject>,
}

impl TasksExtension {
    /// Returns those of the tasks that exist and belong to the sender of a request.
    pub(crate) async fn watch(&self, context: &Context, ids: Vec<String>) -> Result<WatchedTasks, ErrorObject> {
        let mut watched = Vec::new();
        for id in ids {
            let changes = self.tasks.changes(&id);
            if self.tasks.find_stored(context, &id).await?.is_some() {
                watched.push(Watched { id, changes, is_due: true, last: None });
            }
        }
        let poll_interval = self.tasks.poll_interval();
        Ok(WatchedTasks {
            tasks: self.tasks.clone(),
            watched,
            next_poll: Instant::now() + poll_interval,
            poll_interval,
        })
    }
}

impl WatchedTasks {
    pub(crate) fn ids(&self) -> Vec<&str> {
        self.watched.iter().map(|watched| watched.id.as_str()).collect()
    }

    /// Returns the state of a task that has changed. The first state of each task counts as a change, because it may
    /// have changed before the client subscribed. Waits forever once all tasks have ended.
    pub(crate) async fn next(&mut self) -> JsonObject {
        loop {
            while let Some(index) = self.watched.iter().position(|watched| watched.is_due) {
                if let Some(state) = self.read(index).await {
                    return state;
                }
            }
            self.wait().await;
        }
    }

    /// Reads a task. Returns its state if it has changed.
    async fn read(&mut self, index: usize) -> Option<JsonObject> {
        let watched = &self.watched[index];
        let stored = match self.tasks.0.store.get(&watched.id).await {
            Ok(stored) => stored,
            Err(error) => {
                tracing::warn!(%error, id = watched.id, "cannot read a task");
                self.watched[index].is_due = false;
                return None;
            }
        };
        let Some(stored) = stored else {
            // It has expired.
            self.watched.swap_remove(index);
            return None;
        };
        let state = state_of(&stored);
        let is_new = watched.last.as_ref() != Some(&state);
        if has_ended(stored.task.status) {
            self.watched.swap_remove(index);
        } else {
            let watched = &mut self.watched[index];
            (watched.is_due, watched.last) = (false, Some(state.clone()));
        }
        is_new.then_some(state)
    }

    /// Waits until a task may have changed.
    async fn wait(&mut self) {
        if self.watched.is_empty() {
            return std::future::pending().await;
        }
        let here = self.watched.iter_mut().map(|Watched { changes, is_due, .. }| {
            async move {
                changes.here().await;
                *is_due = true;
            }
            .boxed()
        });
        let is_time_to_poll = tokio::select! {
            _ = select_all(here) => false,
            () = tokio::time::sleep_until(self.next_poll) => true,
        };
        if is_time_to_poll {
            self.next_poll = Instant::now() + self.poll_interval;
            for watched in &mut self.watched {
                watched.is_due = true;
            }
        }
    }
}
