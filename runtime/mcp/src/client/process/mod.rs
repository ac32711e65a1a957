//! Servers that run as child processes and communicate over stdio.

mod child_process;
mod process_group;
mod supervised_process;

use mcpgen_runtime::transport::lines::DEFAULT_LINE_LIMIT;
use tokio_util::task::TaskTracker;

pub use child_process::ChildProcess;
pub(super) use child_process::LineHandler;
pub(super) use supervised_process::{Process, STOP, describe, exited};
pub use supervised_process::{ServerExited, ServerOutput};

#[derive(Clone, Debug)]
pub(super) struct ProcessOptions {
    /// Maximum length of a line in bytes.
    pub(super) line_limit: usize,
    pub(super) on_stderr: LineHandler,
    pub(super) on_stray_output: LineHandler,
    /// Tracks the tasks that stop processes.
    pub(super) tracker: TaskTracker,
}

impl Default for ProcessOptions {
    fn default() -> Self {
        Self {
            line_limit: DEFAULT_LINE_LIMIT,
            on_stderr: LineHandler::default(),
            on_stray_output: LineHandler::default(),
            tracker: TaskTracker::new(),
        }
    }
}
