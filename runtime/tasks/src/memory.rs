//! An in-memory task store.

use std::future::ready;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_types::ErrorObject;
use mcpgen_types::v2025_11_25::Task;
use parking_lot::{Mutex, MutexGuard};

use super::store::{StoredTask, TaskChange, TaskStore};
use mcpgen_mcp::expiring_map::ExpiringMap;

/// Stores tasks in memory. The number of tasks is limited in total and per owner, by default to 10,000 and 1,000.
#[derive(Debug)]
pub struct InMemoryTaskStore(Mutex<ExpiringMap<String, StoredTask, Timestamp, String>>);

impl InMemoryTaskStore {
    /// Creates a store for at most `max` tasks, and `max_per_owner` per owner.
    #[must_use]
    pub fn new(max: usize, max_per_owner: usize) -> Self {
        Self(Mutex::new(ExpiringMap::new(max, max_per_owner)))
    }

    /// Removes expired tasks first.
    fn entries(&self) -> MutexGuard<'_, ExpiringMap<String, StoredTask, Timestamp, String>> {
        let mut entries = self.0.lock();
        drop(entries.remove_expired(Timestamp::now()));
        entries
    }
}

impl Default for InMemoryTaskStore {
    fn default() -> Self {
        Self::new(10_000, 1_000)
    }
}

impl TaskStore for InMemoryTaskStore {
    fn create(&self, entry: StoredTask) -> BoxFuture<'_, Result<(), ErrorObject>> {
        let (id, owner, until) = (entry.task.task_id.clone(), entry.owner.clone(), entry.until);
        let inserted = self.entries().insert(id, owner, until, entry);
        let full = "too many tasks are stored; wait until some expire, or ask for a shorter `ttl`";
        ready(inserted.map_err(|_| errors::limit_exceeded(full))).boxed()
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<StoredTask>, ErrorObject>> {
        ready(Ok(self.entries().get(id).map(|(_, entry)| entry.clone()))).boxed()
    }

    fn change<'a>(&'a self, id: &'a str, change: TaskChange) -> BoxFuture<'a, Result<Option<StoredTask>, ErrorObject>> {
        let mut entries = self.entries();
        let changed = entries.get_mut(id).and_then(|stored| change.apply(stored).then(|| stored.clone()));
        drop(entries);
        ready(Ok(changed)).boxed()
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, ErrorObject>> {
        let entries = self.entries();
        let owned = entries.after(after).filter(|(known, _)| *known == owner);
        let page = owned.take(most).map(|(_, entry)| entry.task.clone()).collect();
        ready(Ok(page)).boxed()
    }
}
