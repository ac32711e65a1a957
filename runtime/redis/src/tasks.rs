//! Tasks.
//!
//! A task is a hash with the fields `json`, `version`, and `runner`: the replica that runs it. Its owner has two sorted
//! sets of task IDs: in alphabetical order, for lists, and by expiry, to enforce the maximum number.

use mcpgen_sdk::replicas::StoreError;
use mcpgen_sdk::tasks::{StoredTask, TaskChange, has_ended};
use mcpgen_types::ErrorObject;
use mcpgen_types::v2025_11_25::Task;

use crate::error::{Unavailable, corrupt};
use crate::replica::{LazyScript, Replica, script};

static RESERVE: LazyScript = script!("reserve_task");
static CHANGE: LazyScript = script!("change_task");

/// How many times to try to change a task under contention.
const ATTEMPTS: u32 = 200;

/// The reason given for a task whose replica has died.
const RUNNER_DIED: &str = "the server process that ran the task has ended; start the task again";

struct Found {
    version: u64,
    runner: String,
    task: StoredTask,
}

impl Replica {
    pub(crate) async fn create_task(&self, entry: &StoredTask) -> Result<(), ErrorObject> {
        let until = entry.until.as_millisecond();
        let mut reserve = RESERVE.prepare_invoke();
        for key in self.keys.owner(&entry.owner) {
            reserve.key(key);
        }
        reserve.arg(&entry.task.task_id).arg(until).arg(self.options.max_tasks_per_owner);
        if !self.connection.script::<bool>(&reserve).await? {
            tracing::warn!(owner = entry.owner, "too many tasks");
            return Err(StoreError::full().into());
        }
        let key = self.keys.task(&entry.task.task_id);
        let mut create = redis::pipe();
        create.atomic().hset_multiple(&key, &[("json", &entry.to_json()), ("runner", &self.id)]).ignore();
        create.cmd("HSET").arg(&key).arg("version").arg(1).ignore().cmd("PEXPIREAT").arg(&key).arg(until).ignore();
        Ok(self.connection.pipeline::<()>(&create).await?)
    }

    pub(crate) async fn get_task(&self, id: &str) -> Result<Option<StoredTask>, StoreError> {
        let Some(found) = self.read_task(id).await? else { return Ok(None) };
        if !self.is_orphaned(&found).await? {
            return Ok(Some(found.task));
        }
        match self.apply(id, &TaskChange::fail(RUNNER_DIED)).await? {
            Some(task) => Ok(Some(task)),
            // The task has ended meanwhile.
            None => Ok(self.read_task(id).await?.map(|found| found.task)),
        }
    }

    pub(crate) async fn change_task(&self, id: &str, change: &TaskChange) -> Result<Option<StoredTask>, StoreError> {
        let Some(found) = self.read_task(id).await? else { return Ok(None) };
        if self.is_orphaned(&found).await? {
            self.apply(id, &TaskChange::fail(RUNNER_DIED)).await?;
        }
        self.apply(id, change).await
    }

    pub(crate) async fn list_tasks(
        &self,
        owner: &str,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<Task>, StoreError> {
        let [ids, _] = self.keys.owner(owner);
        let mut begin = after.map_or_else(|| "-".to_owned(), |after| format!("({after}"));
        let mut tasks = Vec::new();
        while tasks.len() < most {
            let missing = most - tasks.len();
            let mut range = redis::cmd("ZRANGEBYLEX");
            range.arg(&ids).arg(&begin).arg("+").arg("LIMIT").arg(0).arg(missing);
            let page: Vec<String> = self.connection.query(&range).await?;
            for id in &page {
                tasks.extend(self.get_task(id).await?.filter(|found| found.owner == owner).map(|found| found.task));
            }
            match page.last() {
                Some(last) if page.len() == missing => begin = format!("({last}"),
                _ => break,
            }
        }
        Ok(tasks)
    }

    async fn read_task(&self, id: &str) -> Result<Option<Found>, StoreError> {
        type Fields = (Option<u64>, Option<String>, Option<String>);
        let mut read = redis::cmd("HMGET");
        read.arg(self.keys.task(id)).arg("version").arg("runner").arg("json");
        let (Some(version), Some(runner), Some(json)) = self.connection.query::<Fields>(&read).await? else {
            return Ok(None);
        };
        let task = StoredTask::from_json(&json).map_err(corrupt)?;
        Ok((!task.has_expired()).then_some(Found { version, runner, task }))
    }

    /// Whether a task should be running, but its replica has died.
    async fn is_orphaned(&self, found: &Found) -> Result<bool, StoreError> {
        if has_ended(found.task.task.status) || found.runner == self.id {
            return Ok(false);
        }
        Ok(!self.is_alive(&found.runner).await? && self.can_tell_deaths())
    }

    /// Applies a change to a task. Starts over if the task was changed meanwhile.
    async fn apply(&self, id: &str, change: &TaskChange) -> Result<Option<StoredTask>, StoreError> {
        for attempt in 0..ATTEMPTS {
            let Some(Found { version, mut task, .. }) = self.read_task(id).await? else { return Ok(None) };
            if !change.apply(&mut task) {
                return Ok(None);
            }
            let mut write = CHANGE.key(self.keys.task(id));
            write.arg(version).arg(task.to_json());
            if self.connection.script(&write).await? {
                return Ok(Some(task));
            }
            // Back off under contention.
            tokio::time::sleep(std::time::Duration::from_millis(u64::from(attempt.min(20)))).await;
        }
        Err(Unavailable::Contended.into())
    }
}
