//! The client's cached list of tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mcpgen_types::v2026_07_28::Tool;
use parking_lot::Mutex;
use tokio::time::Instant;

#[derive(Debug, Default)]
pub(super) struct ToolCache {
    tools: Mutex<Option<CachedTools>>,
    /// How many times the list has changed.
    changes: AtomicU64,
    /// The name of each tool, and whether it runs only as a task. `None` if never listed, or if the list has changed.
    task_support: Mutex<Option<Vec<(String, bool)>>>,
}

#[derive(Clone, Debug)]
pub(super) struct CachedTools {
    /// When the list expires. `None` means that it is valid until the server reports a change.
    expires: Option<Instant>,
    pub(super) list: Arc<Vec<Tool>>,
    pub(super) output_schemas: OutputSchemas,
}

/// Output schemas in the order of the list, each compiled when its tool is first called.
pub(super) type OutputSchemas = Arc<[tokio::sync::OnceCell<Option<super::output_schema::OutputSchema>>]>;

impl ToolCache {
    pub(super) fn unexpired(&self) -> Option<Arc<Vec<Tool>>> {
        let tools = self.last()?;
        tools.expires.is_none_or(|expires| expires > Instant::now()).then_some(tools.list)
    }

    /// Returns the list even if it has expired.
    pub(super) fn last(&self) -> Option<CachedTools> {
        self.tools.lock().clone()
    }

    /// Returns how many times the list has changed. Call this before a request, and pass the result to
    /// [`store`](Self::store).
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Caches a list. `changes` is the number of changes before the request: if the list has changed since then, it may
    /// be stale and is not cached.
    pub(super) fn store(&self, list: &Arc<Vec<Tool>>, expires: Option<Instant>, changes: u64) {
        let mut tools = self.tools.lock();
        if self.changes() == changes {
            *tools = Some(CachedTools {
                expires,
                output_schemas: list.iter().map(|_| tokio::sync::OnceCell::new()).collect(),
                list: Arc::clone(list),
            });
        }
    }

    pub(super) fn clear(&self) {
        let mut tools = self.tools.lock();
        self.changes.fetch_add(1, Ordering::SeqCst);
        tools.take();
        self.task_support.lock().take();
    }

    /// Remembers which tools run only as tasks, even if the list itself is not cached. `changes` is as in
    /// [`store`](Self::store).
    pub(super) fn store_task_support(&self, tools: Vec<(String, bool)>, changes: u64) {
        let mut task_support = self.task_support.lock();
        if self.changes() == changes {
            *task_support = Some(tools);
        }
    }

    /// Returns whether a tool runs only as a task. `None` if unknown: the tool is not listed, or the list has changed.
    pub(super) fn requires_task(&self, tool: &str) -> Option<bool> {
        let task_support = self.task_support.lock();
        task_support.iter().flatten().find(|(name, _)| name == tool).map(|(_, required)| *required)
    }

    /// Discards the list if `method` reports that the tools have changed.
    pub(super) fn list_changed(&self, method: &str) {
        if method == "notifications/tools/list_changed" {
            self.clear();
        }
    }
}
