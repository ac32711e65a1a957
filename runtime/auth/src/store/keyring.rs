//! A store in the system's keyring.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use keyring_core::{Entry, Error};
use secrecy::{ExposeSecret, SecretString};
use tower::BoxError;

use super::entry::{CredentialStore, StoreError, StoreKey};

/// Stores entries in the system's keyring: the Keychain on macOS, the Credential Manager on Windows, and the Secret
/// Service on Linux.
///
/// The Credential Manager stores at most 2,560 bytes per entry, which long tokens exceed. Saving them fails, and the
/// client keeps them in memory; use a [`FileStore`](super::FileStore) instead.
///
/// Entries have no locks, so only one client should use a server's tokens.
#[derive(Clone, Debug)]
pub struct KeyringStore {
    service: String,
    /// `None` means the system's keyring.
    keyring: Option<Arc<keyring_core::CredentialStore>>,
}

impl KeyringStore {
    /// Creates a store whose entries have this service name, such as the application's name.
    pub fn new(service: impl Into<String>) -> Self {
        Self { service: service.into(), keyring: None }
    }

    /// Creates a store in another keyring, such as the Linux kernel's. `keyring-core` lists crates that provide one.
    pub fn with_keyring(service: impl Into<String>, keyring: Arc<keyring_core::CredentialStore>) -> Self {
        Self { service: service.into(), keyring: Some(keyring) }
    }

    /// Uses a blocking thread, because the keyring may ask the user to unlock it. Returns `None` if there is no such
    /// entry.
    async fn run<T: Send + 'static>(
        &self,
        key: &StoreKey,
        work: impl FnOnce(&Entry) -> Result<T, Error> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        let (store, key) = (self.clone(), key.to_string());
        let done = tokio::task::spawn_blocking(move || match work(&store.entry(&key)?) {
            Ok(done) => Ok(Some(done)),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(explain(error)),
        });
        let place = || format!("in the system's keyring (service `{}`)", self.service);
        done.await.map_err(|error| StoreError::new(place(), error))?.map_err(|error| StoreError::new(place(), error))
    }

    fn entry(&self, key: &str) -> Result<Entry, BoxError> {
        if let Some(keyring) = &self.keyring {
            return Ok(keyring.build(&self.service, key, None)?);
        }
        let status = keyring::Entry::store_status();
        status.as_ref().map_err(|error| format!("the system has no keyring: {error}"))?;
        Ok(keyring::Entry::new(&self.service, key)?.inner)
    }
}

/// Replaces errors whose texts reveal secrets or name no remedy.
fn explain(error: Error) -> BoxError {
    match error {
        Error::TooLong(part, most) => {
            format!("the {part} of the entry is longer than {most} bytes, the limit of this keyring; use `FileStore`")
                .into()
        }
        Error::BadEncoding(_) | Error::BadDataFormat(..) => "the entry is not text; remove it to log in again".into(),
        error => error.into(),
    }
}

impl CredentialStore for KeyringStore {
    fn load<'a>(&'a self, key: &'a StoreKey) -> BoxFuture<'a, Result<Option<SecretString>, StoreError>> {
        Box::pin(self.run(key, |entry| {
            let secret = String::from_utf8(entry.get_secret()?);
            secret.map(SecretString::from).map_err(|error| Error::BadEncoding(error.into_bytes()))
        }))
    }

    fn save<'a>(&'a self, key: &'a StoreKey, value: &'a SecretString) -> BoxFuture<'a, Result<(), StoreError>> {
        let value = value.clone();
        Box::pin(async move {
            // `set_password` would use two bytes per character on Windows.
            self.run(key, move |entry| entry.set_secret(value.expose_secret().as_bytes())).await.map(drop)
        })
    }

    fn remove<'a>(&'a self, key: &'a StoreKey) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.run(key, |entry| entry.delete_credential()).await.map(drop) })
    }
}
