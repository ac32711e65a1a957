//! The trait for credential stores.

use std::fmt;

use futures_util::future::BoxFuture;
use secrecy::SecretString;
use tower::BoxError;

/// Stores a client's secrets between runs.
pub trait CredentialStore: Send + Sync + 'static {
    /// Returns an entry, or `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read.
    fn load<'a>(&'a self, key: &'a StoreKey) -> BoxFuture<'a, Result<Option<SecretString>, StoreError>>;

    /// Stores an entry. Replaces an entry with the same key.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be written.
    fn save<'a>(&'a self, key: &'a StoreKey, value: &'a SecretString) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes an entry. Succeeds if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be written.
    fn remove<'a>(&'a self, key: &'a StoreKey) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Locks an entry. Waits until no other client, in this process or another, holds the lock.
    ///
    /// A client holds the lock while it refreshes tokens, because authorization servers may revoke all tokens of a
    /// login if its refresh token is used twice. By default there is no lock, which is fine for stores with a single
    /// client.
    ///
    /// # Errors
    ///
    /// Fails if the lock is not available. The client then continues without it.
    fn lock<'a>(&'a self, key: &'a StoreKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        let _ = key;
        Box::pin(std::future::ready(Ok(StoreLock::new(()))))
    }
}

/// An entry's lock, released when dropped.
pub struct StoreLock {
    _guard: Box<dyn Send + Sync>,
}

impl StoreLock {
    /// Creates a lock that drops `guard` to release the entry.
    pub fn new(guard: impl Send + Sync + 'static) -> Self {
        Self { _guard: Box::new(guard) }
    }
}

impl fmt::Debug for StoreLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreLock").finish_non_exhaustive()
    }
}

/// Names an entry of a [`CredentialStore`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoreKey {
    /// What the entry contains.
    pub kind: EntryKind,
    /// The MCP server's URL for credentials, or the authorization server's issuer for registrations.
    pub server: String,
    /// The client's user. Users do not share entries.
    pub user: String,
}

/// What an entry contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EntryKind {
    /// Access and refresh tokens, and the metadata needed to refresh and revoke them: issuer, endpoints, authentication
    /// methods and resource. The metadata documents themselves are not stored.
    Credentials,
    /// Client ID and secret from dynamic registration.
    Registration,
}

impl fmt::Display for StoreKey {
    /// The text is different for each key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            EntryKind::Credentials => "credentials",
            EntryKind::Registration => "registration",
        };
        // URLs contain no spaces, so different keys have different texts.
        write!(f, "{kind} {} {}", self.server, self.user)
    }
}

/// A credential store failed.
#[derive(Debug, thiserror::Error)]
#[error("the credential store {place} failed; check that this user may read and write it")]
pub struct StoreError {
    place: String,
    #[source]
    source: BoxError,
}

impl StoreError {
    /// Creates an error. `place` describes the store, such as the path of its file.
    pub fn new(place: impl Into<String>, source: impl Into<BoxError>) -> Self {
        Self { place: place.into(), source: source.into() }
    }
}
