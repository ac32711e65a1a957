//! Stores the events of streams, so that clients can resume a stream at another replica.

use bytes::Bytes;
use futures_util::future::BoxFuture;

use super::error::StoreError;

/// A stream of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StreamId {
    /// The ID of the session.
    pub session: String,
    /// The number of the stream. Number 0 is the stream for messages that belong to no request.
    pub number: u64,
}

/// An event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// The number of the event in its stream. Numbers begin with 1 and increase, but may have gaps.
    pub number: u64,
    /// The encoded message.
    pub message: Bytes,
    /// Whether no events follow.
    pub is_last: bool,
}

/// Stores the last events of each stream.
///
/// Only the home of a session appends to its streams. To limit its memory, a store may drop the oldest events of a stream,
/// and the oldest streams of a session, except the one with number 0. It drops all of them when the session is removed or
/// expires.
pub trait EventStore: Send + Sync + 'static {
    /// Appends events to a stream, in order. Creates the stream if it does not exist, also without events. Ignores events
    /// whose number is not greater than the last number of the stream, so that an append can be repeated. The events
    /// before the first one of a stream count as dropped. `requests` are the JSON texts of the IDs of the requests that
    /// the stream responds to.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable. Then none, some or all of the events were appended. Fails without appending any
    /// if another replica is the session's home.
    fn append<'a>(
        &'a self,
        stream: &'a StreamId,
        requests: &'a [String],
        events: Vec<StoredEvent>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns the stored events of all streams of a session, with the IDs of the requests that each stream responds
    /// to, ordered by stream and event.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable.
    fn streams<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<StoredStream>, StoreError>>;

    /// Removes a stream, because no client can resume it any more.
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
    /// The JSON texts of the IDs of the requests that the stream responds to.
    pub requests: Vec<String>,
    /// The events that are still stored, in order.
    pub events: Vec<StoredEvent>,
    /// The number of the last event that was dropped. 0 if none was.
    pub dropped: u64,
}
