//! Status notifications of the extension.

use std::time::Duration;

use futures_util::future::{BoxFuture, select_all};
use futures_util::{FutureExt, StreamExt, stream};
use mcpgen_mcp::protocol::ContextExt;
use mcpgen_mcp::protocol::change::{TASK_IDS, TASK_NOTIFICATION};
use mcpgen_mcp::server::subscriptions::{MAX_RESOURCE_SUBSCRIPTIONS, SubscriptionSource, Updates};
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_types::v2026_07_28::SubscriptionFilter;
use mcpgen_types::{ErrorObject, Json, JsonObject};
use tokio::time::Instant;

use super::extension::{TasksExtension, state_of};
use super::state::{Changes, Tasks};
use super::store::has_ended;

/// Tasks that a client subscribes to.
struct WatchedTasks {
    tasks: Tasks,
    watched: Vec<Watched>,
    /// When to look for changes by other processes.
    next_poll: Instant,
    poll_interval: Duration,
}

struct Watched {
    id: String,
    changes: Changes,
    /// Whether the task may have changed since `last`.
    is_due: bool,
    /// The last state that the client was notified of.
    last: Option<JsonObject>,
}

impl SubscriptionSource for TasksExtension {
    fn subscribe<'a>(
        &'a self,
        context: &'a Context,
        filter: &'a SubscriptionFilter,
    ) -> BoxFuture<'a, Result<Option<Updates>, ErrorObject>> {
        async move {
            let Some(ids) = filter.extra.get(TASK_IDS) else { return Ok(None) };
            context.require_extension::<Self>()?;
            let ids: Vec<String> = ids.decode().map_err(|error: mcpgen_types::Error| {
                errors::invalid_params(&error.at_key(TASK_IDS).at_key("notifications").at_key("params"))
            })?;
            if ids.len() > MAX_RESOURCE_SUBSCRIPTIONS {
                let why = format!(
                    "params.notifications.{TASK_IDS}: expected at most {MAX_RESOURCE_SUBSCRIPTIONS} IDs, found {}",
                    ids.len()
                );
                return Err(errors::invalid_params_in_words(&why));
            }
            let watched = self.watch(context, ids).await?;
            let accepted = (TASK_IDS, watched.ids().into_iter().map(Json::from).collect());
            let notifications = stream::unfold(watched, |mut watched| async move {
                let state = watched.next().await;
                Some(((TASK_NOTIFICATION, state), watched))
            });
            Ok(Some(Updates { accepted, notifications: notifications.boxed() }))
        }
        .boxed()
    }
}

impl TasksExtension {
    /// Watches the tasks that exist and belong to the request's sender. Leaves out all other IDs.
    async fn watch(&self, context: &Context, ids: Vec<String>) -> Result<WatchedTasks, ErrorObject> {
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
    fn ids(&self) -> Vec<&str> {
        self.watched.iter().map(|watched| watched.id.as_str()).collect()
    }

    /// Returns the state of a task that has changed. A task's first state counts as a change, because it may have
    /// changed before the client subscribed. Waits forever once all tasks have ended.
    async fn next(&mut self) -> JsonObject {
        loop {
            while let Some(index) = self.watched.iter().position(|watched| watched.is_due) {
                if let Some(state) = self.read(index).await {
                    return state;
                }
            }
            self.wait().await;
        }
    }

    /// Returns the task's state if it has changed.
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
            // The task has expired.
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
