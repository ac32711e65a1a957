//! A task store in a directory, which all replicas on a machine share.
//!
//! Each task has a directory with a file for each of its versions. A change creates the next version, which fails if
//! another replica has created it first. A real service would use its database.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use mcpgen_runtime::tasks::{StoredTask, TaskChange, TaskStore};
use mcpgen_types::v2025_11_25::Task;
use mcpgen_types::{ErrorCode, ErrorObject};

/// Stores tasks in a directory.
pub(crate) struct TaskFiles {
    directory: PathBuf,
    /// The number of temporary files that this process has created.
    temporary: AtomicU64,
}

impl TaskFiles {
    pub(crate) fn new(directory: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&directory)?;
        Ok(Self { directory, temporary: AtomicU64::new(0) })
    }

    /// Returns the directory of a task. Clients can send any text as an ID, which must not become a path.
    fn path(&self, id: &str) -> Option<PathBuf> {
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| self.directory.join(id))
    }

    /// Reads a task and the number of its version. Removes it if it has expired.
    fn read(&self, id: &str) -> io::Result<Option<(u64, StoredTask)>> {
        let Some(path) = self.path(id) else { return Ok(None) };
        let mut newest = 0;
        match fs::read_dir(&path) {
            Ok(files) => {
                for file in files {
                    newest = newest.max(file?.file_name().to_string_lossy().parse().unwrap_or(0));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        if newest == 0 {
            return Ok(None);
        }
        let text = fs::read_to_string(path.join(newest.to_string()))?;
        let stored = StoredTask::from_json(&text).map_err(io::Error::other)?;
        if stored.has_expired() {
            fs::remove_dir_all(path)?;
            return Ok(None);
        }
        Ok(Some((newest, stored)))
    }

    /// Writes a version of a task. Returns `false` if the version exists.
    fn write(&self, version: u64, stored: &StoredTask) -> io::Result<bool> {
        let invalid = || io::Error::other("invalid task ID");
        let path = self.path(&stored.task.task_id).ok_or_else(invalid)?;
        let number = self.temporary.fetch_add(1, Ordering::Relaxed);
        let temporary = path.join(format!("temporary-{}-{number}", std::process::id()));
        fs::write(&temporary, stored.to_json())?;
        // Unlike a rename, a link does not replace an existing file.
        let linked = fs::hard_link(&temporary, path.join(version.to_string()));
        fs::remove_file(&temporary)?;
        match linked {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn create_now(&self, entry: &StoredTask) -> io::Result<()> {
        if let Some(path) = self.path(&entry.task.task_id) {
            fs::create_dir(path)?;
        }
        self.write(1, entry).map(drop)
    }

    fn change_now(&self, id: &str, change: &TaskChange) -> io::Result<Option<StoredTask>> {
        loop {
            let Some((version, mut stored)) = self.read(id)? else { return Ok(None) };
            if !change.apply(&mut stored) {
                return Ok(None);
            }
            if self.write(version + 1, &stored)? {
                return Ok(Some(stored));
            }
        }
    }

    fn list_now(&self, owner: &str, after: Option<&str>, most: usize) -> io::Result<Vec<Task>> {
        let mut ids = Vec::new();
        for file in fs::read_dir(&self.directory)? {
            ids.push(file?.file_name().to_string_lossy().into_owned());
        }
        ids.sort_unstable();
        let mut tasks = Vec::new();
        for id in ids.iter().filter(|id| after.is_none_or(|after| id.as_str() > after)) {
            if tasks.len() == most {
                break;
            }
            if let Some((_, stored)) = self.read(id)?
                && stored.owner == owner
            {
                tasks.push(stored.task);
            }
        }
        Ok(tasks)
    }
}

/// Converts the result of a file operation. The client does not learn the reason of an error.
fn stored<'a, T: Send + 'a>(result: io::Result<T>) -> BoxFuture<'a, Result<T, ErrorObject>> {
    let result = result.map_err(|error| {
        eprintln!("cannot access the task store: {error}");
        ErrorObject::new(ErrorCode::INTERNAL_ERROR, "cannot access the task store")
    });
    ready(result).boxed()
}

impl TaskStore for TaskFiles {
    fn create(&self, entry: StoredTask) -> BoxFuture<'_, Result<(), ErrorObject>> {
        stored(self.create_now(&entry))
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<StoredTask>, ErrorObject>> {
        stored(self.read(id).map(|found| found.map(|(_, task)| task)))
    }

    fn change<'a>(&'a self, id: &'a str, change: TaskChange) -> BoxFuture<'a, Result<Option<StoredTask>, ErrorObject>> {
        stored(self.change_now(id, &change))
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, ErrorObject>> {
        stored(self.list_now(owner, after, most))
    }
}
