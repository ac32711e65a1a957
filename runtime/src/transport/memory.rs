//! In-memory transports.

use super::lines;
use super::seam::{Incoming, Outgoing};

/// Connects two ends in memory. Each is a stream and a sink of messages.
#[must_use]
pub fn duplex() -> ((impl Incoming, impl Outgoing), (impl Incoming, impl Outgoing)) {
    let (here, there) = tokio::io::duplex(64 << 10);
    let end = |pipe| {
        let (reader, writer) = tokio::io::split(pipe);
        (lines::receive(reader, lines::DEFAULT_LINE_LIMIT), lines::send(writer))
    };
    (end(here), end(there))
}
