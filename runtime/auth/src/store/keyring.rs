//! A store in the system's keyring.

use futures_util::future::BoxFuture;
use keyring::{Entry, Error};
use secrecy::{ExposeSecret, SecretString};

use super::entry::{CredentialStore, StoreError, StoreKey};

/// Stores entries in the system's keyring: the Keychain on macOS, the Credential Manager on Windows, and the Secret
/// Service on Linux.
#[derive(Clone, Debug)]
pub struct KeyringStore {
    service: String,
}

impl KeyringStore {
    /// Creates a store whose entries have this service name, such as the name of the application.
    pub fn new(service: impl Into<String>) -> Self {
        Self { service: service.into() }
    }

    /// Calls the keyring on a blocking thread, because it may ask the user to unlock it.
    async fn run<T: Send + 'static>(
        &self,
        key: &StoreKey,
        work: impl FnOnce(&Entry) -> Result<T, Error> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        let (service, key) = (self.service.clone(), key.to_string());
        let done =
            tokio::task::spawn_blocking(move || match Entry::new(&service, &key).and_then(|entry| work(&entry)) {
                Ok(done) => Ok(Some(done)),
                Err(Error::NoEntry) => Ok(None),
                Err(error) => Err(error),
            });
        let place = || format!("in the system's keyring (service `{}`)", self.service);
        done.await.map_err(|error| StoreError::new(place(), error))?.map_err(|error| StoreError::new(place(), error))
    }
}

impl CredentialStore for KeyringStore {
    fn load<'a>(&'a self, key: &'a StoreKey) -> BoxFuture<'a, Result<Option<SecretString>, StoreError>> {
        Box::pin(self.run(key, |entry| entry.get_password().map(SecretString::from)))
    }

    fn save<'a>(&'a self, key: &'a StoreKey, value: &'a SecretString) -> BoxFuture<'a, Result<(), StoreError>> {
        let value = value.clone();
        Box::pin(async move { self.run(key, move |entry| entry.set_password(value.expose_secret())).await.map(drop) })
    }

    fn remove<'a>(&'a self, key: &'a StoreKey) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.run(key, |entry| entry.delete_credential()).await.map(drop) })
    }
}
