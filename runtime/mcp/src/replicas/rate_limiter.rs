//! Limits the rate of calls across replicas.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::error::StoreError;

/// Limits how many calls each caller may make.
pub trait RateLimiter: Send + Sync + 'static {
    /// Counts a call against the caller's limit.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable. The call is then refused.
    fn check<'a>(&'a self, caller: &'a str) -> BoxFuture<'a, Result<Decision, StoreError>>;
}

impl<S: RateLimiter + ?Sized> RateLimiter for Arc<S> {
    fn check<'a>(&'a self, caller: &'a str) -> BoxFuture<'a, Result<Decision, StoreError>> {
        (**self).check(caller)
    }
}

/// Whether a call is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The call is allowed.
    Allowed,
    /// The limit is exceeded. The caller may try again after this time.
    After(Duration),
}
