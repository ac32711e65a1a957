//! A store in memory.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, ready};
use secrecy::SecretString;

use super::entry::{CredentialStore, StoreError, StoreKey, StoreLock};

/// Stores entries until the process ends.
#[derive(Default)]
pub struct MemoryStore {
    entries: Mutex<HashMap<StoreKey, SecretString>>,
    locks: Mutex<HashMap<StoreKey, Arc<tokio::sync::Mutex<()>>>>,
}

impl MemoryStore {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<StoreKey, SecretString>) -> T) -> T {
        work(&mut self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CredentialStore for MemoryStore {
    fn load<'a>(&'a self, key: &'a StoreKey) -> BoxFuture<'a, Result<Option<SecretString>, StoreError>> {
        Box::pin(ready(Ok(self.with(|entries| entries.get(key).cloned()))))
    }

    fn save<'a>(&'a self, key: &'a StoreKey, value: &'a SecretString) -> BoxFuture<'a, Result<(), StoreError>> {
        self.with(|entries| entries.insert(key.clone(), value.clone()));
        Box::pin(ready(Ok(())))
    }

    fn remove<'a>(&'a self, key: &'a StoreKey) -> BoxFuture<'a, Result<(), StoreError>> {
        self.with(|entries| entries.remove(key));
        Box::pin(ready(Ok(())))
    }

    fn lock<'a>(&'a self, key: &'a StoreKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        // Remove locks that no task holds or waits for.
        locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        let lock = Arc::clone(locks.entry(key.clone()).or_default());
        Box::pin(async move { Ok(StoreLock::new(lock.lock_owned().await)) })
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemoryStore").field(&self.with(|entries| entries.len())).finish()
    }
}
