//! Connections within a process.

use super::lines;
use super::seam::{Incoming, Outgoing};

/// Two ends of a connection within this process.
#[must_use]
pub fn duplex() -> ((impl Incoming, impl Outgoing), (impl Incoming, impl Outgoing)) {
    let (here, there) = tokio::io::duplex(64 << 10);
    let end = |pipe| {
        let (reader, writer) = tokio::io::split(pipe);
        (lines::receive(reader, lines::LONGEST), lines::send(writer))
    };
    (end(here), end(there))
}
