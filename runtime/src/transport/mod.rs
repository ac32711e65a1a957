//! Transports: streams of incoming messages and sinks for outgoing ones.

#[cfg(feature = "stdio")]
mod child_process;
pub mod lines;
mod memory;
mod scan;
mod seam;
#[cfg(feature = "stdio")]
pub mod stdio;
#[cfg(feature = "stdio")]
pub(crate) mod supervised_process;

#[cfg(feature = "stdio")]
pub use child_process::ChildProcess;
pub use memory::duplex;
pub use seam::{Extensions, Incoming, Outgoing, ReceiveError, Skipped, Undelivered};
