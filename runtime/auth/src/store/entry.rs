//! The trait of credential stores.

use std::fmt;

use futures_util::future::BoxFuture;
use secrecy::SecretString;
use tower::BoxError;

/// Stores secrets between runs of a client. All entries are secret.
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

    /// Waits until no other client, in this process or another one, holds the lock of this entry.
    ///
    /// A client holds the lock while it refreshes tokens: authorization servers may revoke all tokens of a login if its
    /// refresh token is used twice. By default there is no lock, which suits stores that only one client uses.
    ///
    /// # Errors
    ///
    /// Returns an error if the lock is not available. The client then continues without it.
    fn lock<'a>(&'a self, key: &'a StoreKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        let _ = key;
        Box::pin(std::future::ready(Ok(StoreLock::new(()))))
    }
}

/// The lock of an entry. It is released when this value is dropped.
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

/// The key of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoreKey {
    /// The contents of the entry.
    pub kind: EntryKind,
    /// The MCP server's URL for credentials, and the authorization server's issuer for registrations.
    pub server: String,
    /// The user of this client. Users do not share entries.
    pub user: String,
}

/// The contents of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EntryKind {
    /// Access and refresh tokens, with the parts of the metadata that refreshing and revoking them requires: the issuer,
    /// the endpoints, the authentication methods and the resource. The metadata documents are not stored.
    Credentials,
    /// The client ID and secret from dynamic registration.
    Registration,
}

impl fmt::Display for StoreKey {
    /// Writes a text that is different for each key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            EntryKind::Credentials => "credentials",
            EntryKind::Registration => "registration",
        };
        // URLs contain no spaces, so different keys have different texts.
        write!(f, "{kind} {} {}", self.server, self.user)
    }
}

/// An error of a store.
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
