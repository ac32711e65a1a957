//! Stores the sessions of legacy revisions.

use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::error::StoreError;

/// Stores sessions, and which replica runs each (its *home*).
///
/// Each replica creates its own instance of the store, with a unique ID. The store detects within seconds that a
/// replica has died.
pub trait SessionStore: Send + Sync + 'static {
    /// Stores a new session with this replica as its home. It expires after `lifetime` without [`renew`](Self::renew).
    /// Returns `false` if the ID is taken.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable or full.
    fn create<'a>(&'a self, session: StoredSession, lifetime: Duration) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Finds a session's home. If the home has died or is this replica, makes this replica the home and returns the
    /// session. Concurrent callers agree on one home. Returns `None` if the session does not exist or has expired.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable.
    fn locate<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Home>, StoreError>>;

    /// Appends an entry to the journal, in place of one with the same key. Without a message, only removes that one.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable, or if another replica is the session's home.
    fn record<'a>(&'a self, id: &'a str, entry: JournalEntry) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Extends the life of this replica's sessions to at least `lifetime` from now. Returns the IDs of sessions that no
    /// longer exist or have another home, which this replica must stop running. The server calls this every few seconds
    /// with all its sessions. A store may skip sessions that already live that long, if it notices by other means when
    /// they move.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable.
    fn renew<'a>(&'a self, ids: &'a [String], lifetime: Duration) -> BoxFuture<'a, Result<Vec<String>, StoreError>>;

    /// Removes a session and its events.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable.
    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Completes when sessions of this replica may have moved. The server then calls [`renew`](Self::renew). Never
    /// completes by default.
    fn moved(&self) -> BoxFuture<'static, ()> {
        std::future::pending().boxed()
    }

    /// Releases this replica's sessions to other replicas at once, because this one is shutting down.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable. The sessions then move once the store detects that the replica is gone.
    fn leave(&self) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// A stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredSession {
    /// The ID.
    pub id: String,
    /// The owner; see `EndpointOptions::owner`.
    pub owner: Option<String>,
    /// The name of the [`Principal`](mcpgen_runtime::transport::Principal) that began the session.
    pub principal: Option<String>,
    /// How many times the home has changed. Used as the first part of stream numbers.
    pub epoch: u32,
    /// The requests that led to the session's state, oldest first.
    pub journal: Vec<JournalEntry>,
}

impl StoredSession {
    /// Creates a session with an empty journal.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), owner: None, principal: None, epoch: 0, journal: Vec::new() }
    }

    /// Appends an entry to the journal, in place of one with the same key. Without a message, only removes that one.
    pub fn record(&mut self, entry: JournalEntry) {
        self.journal.retain(|known| known.key != entry.key);
        if entry.message.is_some() {
            self.journal.push(entry);
        }
    }
}

/// A message that changed a session's state, to be replayed by a new home.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalEntry {
    /// Identifies the state that the message sets. A later message with the same key replaces this one.
    pub key: String,
    /// The encoded message. `None` removes the entry.
    pub message: Option<Bytes>,
}

impl JournalEntry {
    /// Creates an entry.
    pub fn new(key: impl Into<String>, message: impl Into<Option<Bytes>>) -> Self {
        Self { key: key.into(), message: message.into() }
    }
}

/// Where a session runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    /// This replica, which may just have become the home.
    Here(StoredSession),
    /// The replica with this ID.
    Replica(String),
}
