//! Transports: streams of incoming messages and sinks for outgoing ones.

#[cfg(feature = "stdio")]
mod child_process;
mod inbound;
pub mod lines;
mod memory;
mod outbound;
mod scan;
mod seam;
#[cfg(feature = "stdio")]
pub mod stdio;
#[cfg(feature = "stdio")]
pub(crate) mod supervised_process;

#[cfg(feature = "stdio")]
pub use child_process::ChildProcess;
pub use inbound::{Extensions, Inbound};
pub use memory::duplex;
pub use outbound::{Metadata, Outbound, Outcome, Route};
pub use seam::{Incoming, Outgoing, ReceiveError, Skipped, Undelivered};
