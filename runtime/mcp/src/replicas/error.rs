//! The error type of all stores.

use std::error::Error;
use std::fmt;

use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::util::error_chain;
use mcpgen_types::{ErrorCode, ErrorObject};
use tower::BoxError;

/// A store failed.
#[derive(Debug)]
#[non_exhaustive]
pub struct StoreError {
    kind: Kind,
    source: Option<BoxError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unavailable,
    Undelivered,
    Full,
    Corrupt,
    Configuration,
}

impl StoreError {
    /// Creates an error: the store is unreachable, or did not respond in time. HTTP clients get 503 with `Retry-After`.
    pub fn unavailable(source: impl Into<BoxError>) -> Self {
        Self { kind: Kind::Unavailable, source: Some(source.into()) }
    }

    /// Creates an error: a forwarded request did not reach the replica. Like [`unavailable`](Self::unavailable), but it
    /// is safe to forward the request to another replica.
    pub fn undelivered(source: impl Into<BoxError>) -> Self {
        Self { kind: Kind::Undelivered, source: Some(source.into()) }
    }

    /// Creates an error: the store has reached a limit, such as its maximum number of sessions.
    #[must_use]
    pub fn full() -> Self {
        Self { kind: Kind::Full, source: None }
    }

    /// Creates an error: a stored value cannot be decoded.
    pub fn corrupt(source: impl Into<BoxError>) -> Self {
        Self { kind: Kind::Corrupt, source: Some(source.into()) }
    }

    /// Creates an error: the store is misconfigured, so retrying does not help. `source` should name the remedy.
    pub fn configuration(source: impl Into<BoxError>) -> Self {
        Self { kind: Kind::Configuration, source: Some(source.into()) }
    }

    /// Returns whether the store is misconfigured.
    #[must_use]
    pub fn is_configuration(&self) -> bool {
        self.kind == Kind::Configuration
    }

    /// Returns whether the store could not be reached.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self.kind, Kind::Unavailable | Kind::Undelivered)
    }

    /// Returns whether a forwarded request did not reach the replica.
    #[must_use]
    pub fn is_undelivered(&self) -> bool {
        self.kind == Kind::Undelivered
    }

    pub(super) fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::Unavailable => "unavailable",
            Kind::Undelivered => "undelivered",
            Kind::Full => "full",
            Kind::Corrupt => "corrupt",
            Kind::Configuration => "configuration",
        }
    }

    /// Returns whether the store has reached a limit.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.kind == Kind::Full
    }
}

impl Kind {
    /// Returns a message for peers, who must not learn about the store.
    fn message(self) -> &'static str {
        match self {
            Kind::Unavailable => "the shared store is unavailable; try again later",
            Kind::Undelivered => "the replica that runs the session cannot be reached; try again later",
            Kind::Full => "the shared store is full; try again later",
            Kind::Corrupt => "the shared store contains a value that cannot be decoded",
            Kind::Configuration => "the shared store is not configured correctly",
        }
    }
}

/// Includes the remedy if the store is misconfigured.
impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.message())?;
        match &self.source {
            Some(source) if self.kind == Kind::Configuration => write!(f, ": {}", error_chain(&**source)),
            _ => Ok(()),
        }
    }
}

/// The error for the peer. Tells it nothing about the store.
impl From<StoreError> for ErrorObject {
    fn from(error: StoreError) -> Self {
        tracing::warn!(error = %error_chain(&error), "a shared store failed");
        match error.kind {
            Kind::Unavailable | Kind::Undelivered | Kind::Full => errors::limit_exceeded(error.kind.message()),
            Kind::Corrupt | Kind::Configuration => Self::new(ErrorCode::INTERNAL_ERROR, error.kind.message()),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as &(dyn Error + 'static))
    }
}
