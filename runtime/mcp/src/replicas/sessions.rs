//! Stores the sessions of legacy revisions.

use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::error::StoreError;

/// Stores sessions, and which replica runs each.
///
/// A value of this trait belongs to one replica. The store gives each replica a unique ID, and detects within seconds
/// that a replica has died.
pub trait SessionStore: Send + Sync + 'static {
    /// Stores a new session, whose home is this replica. It expires after `lifetime` without
    /// [`renew`](Self::renew). Returns `false` if the store has a session with this ID.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable or full.
    fn create<'a>(&'a self, session: StoredSession, lifetime: Duration) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Finds the home of a session. If the home has died or is this replica, makes this replica the home and returns
    /// the session. Two replicas that call this at the same time get the same home. Returns `None` if the session does
    /// not exist or has expired.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable.
    fn locate<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Home>, StoreError>>;

    /// Replaces the journal entry with the same key, or appends it. Without a message, removes the entry.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable, or if another replica is the session's home.
    fn record<'a>(&'a self, id: &'a str, entry: JournalEntry) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Postpones the expiry of sessions of this replica to `lifetime` from now, or later. Returns the IDs of those that do
    /// not exist any more, or whose home is another replica; this replica must stop running them. The server calls this every
    /// few seconds with all sessions. A store can skip those that it has renewed for long enough, if it notices in another
    /// way that they have moved.
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

    /// Completes when sessions of this replica may have moved to others. The server calls [`renew`](Self::renew) then.
    /// By default, it never completes.
    fn moved(&self) -> BoxFuture<'static, ()> {
        std::future::pending().boxed()
    }

    /// Lets other replicas become the home of this replica's sessions at once, because this replica shuts down.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable. The sessions move when the store detects that the replica has died.
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
    /// How often the home has changed. Numbers of streams begin with it.
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

    /// Replaces the journal entry with the same key, or appends it. Without a message, removes the entry.
    pub fn record(&mut self, entry: JournalEntry) {
        self.journal.retain(|known| known.key != entry.key);
        if entry.message.is_some() {
            self.journal.push(entry);
        }
    }
}

/// A message that changed the state of a session. A new home replays it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalEntry {
    /// What the message changes. A later message with the same key replaces this one.
    pub key: String,
    /// The encoded message. `None` removes the entry with this key.
    pub message: Option<Bytes>,
}

impl JournalEntry {
    /// Creates an entry.
    pub fn new(key: impl Into<String>, message: impl Into<Option<Bytes>>) -> Self {
        Self { key: key.into(), message: message.into() }
    }
}

/// The replica that runs a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    /// This replica, now or since earlier.
    Here(StoredSession),
    /// The replica with this ID.
    Replica(String),
}
