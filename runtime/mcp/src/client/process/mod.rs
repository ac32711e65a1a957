//! Servers that run as child processes and communicate over stdio.

mod child_process;
mod process_group;
mod supervised_process;

pub use child_process::ChildProcess;
pub(super) use child_process::LineHandler;
pub use supervised_process::ServerOutput;
pub(super) use supervised_process::{Process, STOP, describe, exited};
