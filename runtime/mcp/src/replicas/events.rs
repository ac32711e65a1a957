//! Stores the events of streams, so that a client can resume its stream on another replica.

use bytes::Bytes;
use futures_util::future::BoxFuture;

use super::error::StoreError;

/// A stream of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StreamId {
    /// The ID of the session.
    pub session: String,
    /// The number of the stream. Stream 0 carries messages that belong to no request.
    pub number: u64,
}

/// An event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// The number of the event in its stream. Numbers increase from 1, possibly with gaps.
    pub number: u64,
    /// The encoded message.
    pub message: Bytes,
    /// Whether this is the stream's last event.
    pub is_last: bool,
}

/// Stores the latest events of each stream.
///
/// Only the replica that runs a session, its *home*, appends to its streams. To limit memory, a store may drop a
/// stream's oldest events and a session's oldest streams, except stream 0. A removed or expired session loses them all.
pub trait EventStore: Send + Sync + 'static {
    /// Appends events to a stream, in order. Creates the stream if necessary, even without events. Ignores events whose
    /// number is not greater than the stream's last one, so that an append can be retried. Events before a stream's
    /// first appended one count as dropped. `requests` are the IDs, as JSON text, of the requests that the stream
    /// responds to.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable; any number of the events may then have been appended. Fails without appending
    /// any if another replica is the session's home.
    fn append<'a>(
        &'a self,
        stream: &'a StreamId,
        requests: &'a [String],
        events: Vec<StoredEvent>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns a session's stored streams, ordered by number, with the requests that they respond to.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable.
    fn streams<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<StoredStream>, StoreError>>;

    /// Removes a stream that no client can resume any more.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable.
    fn remove_stream<'a>(&'a self, stream: &'a StreamId) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// The stored events of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredStream {
    /// The number of the stream.
    pub number: u64,
    /// The IDs, as JSON text, of the requests that the stream responds to.
    pub requests: Vec<String>,
    /// The events that are still stored, in order.
    pub events: Vec<StoredEvent>,
    /// The number of the last dropped event, or 0.
    pub dropped: u64,
}
