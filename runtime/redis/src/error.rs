//! Converts errors.

use std::error::Error;
use std::time::Duration;

use mcpgen_sdk::replicas::StoreError;
use redis::{ErrorKind, RedisError};

/// Why a store is unavailable, if the reason is not an error from Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// Redis did not respond in time.
    #[error("Redis did not respond within {0:?}")]
    TimedOut(Duration),
    /// Another replica is the session's home.
    #[error("another replica runs the session")]
    NotHome,
    /// The connection to Redis was interrupted, so this replica cannot tell which others are alive.
    #[error("the connection to Redis was interrupted; the replica of the session may still be alive")]
    Interrupted,
    /// Several replicas keep changing the same value.
    #[error("too many concurrent changes to the same value")]
    Contended,
    /// The replica that runs the session has died, or frames of its response were lost.
    #[error("the replica that runs the session is gone, or the connection to it was interrupted")]
    ReplicaGone,
    /// The replica that runs the session does not accept requests.
    #[error("the replica that runs the session does not accept requests")]
    Refused,
    /// The other replica's handler failed.
    #[error("the replica that runs the session could not complete the response")]
    ResponseFailed,
}

/// Why Redis cannot be used with these options.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidOptions {
    /// The URL or the root certificates are unusable.
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

/// Converts an error. Redis reports `OOM` once it has reached `maxmemory` and may not evict keys.
pub(crate) fn redis_error(error: RedisError) -> StoreError {
    match (error.kind(), error.code()) {
        (_, Some("OOM")) => StoreError::full(),
        (_, Some("NOAUTH" | "WRONGPASS")) | (ErrorKind::AuthenticationFailed, _) => {
            InvalidOptions::Credentials(error).into()
        }
        _ => StoreError::unavailable(error),
    }
}

pub(crate) fn corrupt(source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
    StoreError::corrupt(source)
}
