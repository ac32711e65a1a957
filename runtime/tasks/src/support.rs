//! Which requests can run as tasks, and within which limits.

use std::time::Duration;

use serde_json::json;

/// Whether a tool can run as a task: its `execution.taskSupport`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskSupport {
    /// The tool cannot run as a task. The default.
    #[default]
    Forbidden,
    /// The tool can run as a task.
    Optional,
    /// The tool must run as a task.
    Required,
}

impl TaskSupport {
    /// Returns the value of `execution.taskSupport`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Optional => "optional",
            Self::Required => "required",
        }
    }
}

/// Limits on the number, lifetime and size of tasks.
#[derive(Clone, Debug, PartialEq, Eq, derive_setters::Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct TaskLimits {
    /// Maximum number of running tasks. Defaults to 256.
    pub running: usize,
    /// Maximum number of running tasks per owner. Defaults to 64.
    pub running_per_owner: usize,
    /// How long a task is kept if its request has no `ttl`. Defaults to one hour.
    pub ttl: Duration,
    /// The longest time that a task is kept, even if its `ttl` is longer. A task that is still running when it expires
    /// is stopped. Defaults to 24 hours.
    pub max_ttl: Duration,
    /// How long the peer should wait between polls. While a task runs or a client subscribes to it, this process reads
    /// the task from the store at the same interval, to find changes by other processes. Defaults to one second.
    pub poll_interval: Duration,
    /// Maximum number of tasks on a page of `tasks/list`. Defaults to 100.
    pub page_size: usize,
    /// Maximum size of a task's result in bytes. A task with a larger result fails. Defaults to 16 MiB.
    pub result_bytes: usize,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            running: 256,
            running_per_owner: 64,
            ttl: Duration::from_secs(60 * 60),
            max_ttl: Duration::from_secs(24 * 60 * 60),
            poll_interval: Duration::from_secs(1),
            page_size: 100,
            result_bytes: 16 << 20,
        }
    }
}

/// Returns the `tasks` capability of a server or client that runs these methods as tasks.
///
/// `list` also declares `tasks/list`. Leave it unset if senders are not authenticated: clients could list each other's
/// tasks.
#[must_use]
pub fn capability(methods: &[&str], list: bool) -> serde_json::Value {
    let mut requests = json!({});
    for (area, name) in methods.iter().filter_map(|method| method.split_once('/')) {
        requests[area][name] = json!({});
    }
    let mut capability = json!({ "cancel": {}, "requests": requests });
    if list {
        capability["list"] = json!({});
    }
    capability
}
