//! The errors of calls.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use mcpgen_types::ErrorObject;
use tower::BoxError;

use crate::jsonrpc::errors;
use crate::transport::Undelivered;

/// The connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection is closed")]
pub struct Closed;

/// The reason why a request or a notification failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The peer responded with an error.
    #[error(transparent)]
    ErrorResponse(ErrorObject),
    /// The params or the result are not valid.
    #[error(transparent)]
    Invalid(BoxError),
    /// The idle timeout or the total timeout of the call has passed without a result.
    #[error("{request}: no result within {limit:?}; set a longer timeout if the peer is slow")]
    Timeout {
        /// The method, or the method and what it was about.
        request: String,
        /// The timeout that has passed.
        limit: Duration,
    },
    /// The protocol does not allow the message now, for example because the peer has not declared a capability.
    #[error(transparent)]
    NotAllowed(BoxError),
    /// The transport could not deliver the request or its response.
    #[error(transparent)]
    Undelivered(Undelivered),
    /// The peer ended a subscription without a result.
    #[error("the peer ended the subscription")]
    SubscriptionEnded,
    /// An error of the protocol on top of JSON-RPC, such as a failed tool in MCP. See
    /// [`downcast_ref`](Self::downcast_ref).
    #[error(transparent)]
    Protocol(BoxError),
    /// The connection failed for this reason before the response arrived, for example because the server's process
    /// exited. [`Peer::explain`](crate::Peer::explain) returns it.
    #[error("the connection failed: {0}")]
    ConnectionFailed(#[source] Arc<io::Error>),
    /// The connection closed before the response arrived.
    #[error(transparent)]
    Closed(#[from] Closed),
}

impl CallError {
    /// Returns the cause that the protocol or the transport has added, if it has this type.
    #[must_use]
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        match self {
            Self::Protocol(error) | Self::NotAllowed(error) => error.downcast_ref(),
            Self::ConnectionFailed(error) => error.get_ref()?.downcast_ref(),
            _ => None,
        }
    }

    /// Returns whether the peer rejected the request because it has too many others, with error code
    /// [`BUSY`](errors::BUSY). The request was not handled, so it can be sent again later.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::ErrorResponse(error) if error.code.0 == errors::BUSY)
    }
}
