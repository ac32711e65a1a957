//! Converts errors.

use std::error::Error;
use std::time::Duration;

use mcpgen_sdk::replicas::StoreError;
use redis::{ErrorKind, RedisError};

/// The reason why a store is unavailable, if it is not an error of Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// Redis did not respond in time.
    #[error("Redis did not respond within {0:?}")]
    TimedOut(Duration),
    /// Another replica is the home of the session.
    #[error("another replica runs the session")]
    NotHome,
    /// The connection to Redis was interrupted, so this replica cannot tell yet which replicas are alive.
    #[error("the connection to Redis was interrupted; the replica of the session may still be alive")]
    Interrupted,
    /// Several replicas change the same value all the time.
    #[error("too many concurrent changes of the same value")]
    Contended,
    /// The replica that runs the session has died, or frames of its response were lost.
    #[error("the replica that runs the session is gone, or the connection to it was interrupted")]
    ReplicaGone,
    /// The replica that runs the session does not accept requests.
    #[error("the replica that runs the session does not accept requests")]
    Refused,
    /// The handler of the other replica failed.
    #[error("the replica that runs the session could not complete the response")]
    ResponseFailed,
}

/// The options with which Redis cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidOptions {
    /// The URL, or the root certificates, cannot be used.
    #[error(
        "`RedisOptions::url` or `root_certificates` cannot be used; write a URL such as `redis://localhost:6379/`, \
         `rediss://…` for TLS (feature `tls`), or `redis+unix:///path`"
    )]
    Client(#[source] RedisError),
    /// Redis refuses the user or the password.
    #[error("Redis refuses the user or the password; write them in `RedisOptions::url`: `redis://user:password@host/`")]
    Credentials(#[source] RedisError),
}

impl From<InvalidOptions> for StoreError {
    fn from(invalid: InvalidOptions) -> Self {
        Self::configuration(invalid)
    }
}

impl From<Unavailable> for StoreError {
    fn from(reason: Unavailable) -> Self {
        Self::unavailable(reason)
    }
}

/// Converts an error of Redis. Redis is full if it has reached its `maxmemory` and may not evict keys.
pub(crate) fn redis_error(error: RedisError) -> StoreError {
    match (error.kind(), error.code()) {
        (_, Some("OOM")) => StoreError::full(),
        (_, Some("NOAUTH" | "WRONGPASS")) | (ErrorKind::AuthenticationFailed, _) => {
            InvalidOptions::Credentials(error).into()
        }
        _ => StoreError::unavailable(error),
    }
}

/// A stored value cannot be decoded.
pub(crate) fn corrupt(source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
    StoreError::corrupt(source)
}
