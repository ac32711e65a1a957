//! Records used request states across replicas.

use std::sync::Arc;
use std::time::SystemTime;

use futures_util::future::BoxFuture;

use super::error::StoreError;

/// Remembers used request states, so that each is accepted only once.
pub trait ReplayGuard: Send + Sync + 'static {
    /// Marks a state as used, and remembers it until `until`. Returns `false` if it was used before, or if the guard
    /// cannot tell because it has forgotten used states.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable. The state is then not accepted, but may be sent again later.
    fn record<'a>(&'a self, nonce: [u8; 16], until: SystemTime) -> BoxFuture<'a, Result<bool, StoreError>>;
}

impl<S: ReplayGuard + ?Sized> ReplayGuard for Arc<S> {
    fn record<'a>(&'a self, nonce: [u8; 16], until: SystemTime) -> BoxFuture<'a, Result<bool, StoreError>> {
        (**self).record(nonce, until)
    }
}
