//! The errors of calls.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use mcpgen_types::ErrorObject;
use tower::BoxError;

use crate::jsonrpc::errors;
use crate::transport::Undelivered;

/// The connection is closed, so nothing can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection is closed")]
pub struct Closed;

/// Why a request or a notification failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The peer responded with an error.
    #[error(transparent)]
    ErrorResponse(ErrorObject),
    /// The params or the result are not valid.
    #[error(transparent)]
    Invalid(BoxError),
    /// No result arrived within the idle timeout or the total timeout of the call.
    #[error("{request}: no result within {limit:?}; set a longer timeout if the peer is slow")]
    Timeout {
        /// The method, with its target if known, e.g. the name of the tool.
        request: String,
        /// The timeout that has passed.
        limit: Duration,
    },
    /// The protocol forbids the message now, for example because the peer has not declared a capability.
    #[error(transparent)]
    NotAllowed(BoxError),
    /// The transport could not deliver the request or its response.
    #[error(transparent)]
    Undelivered(Undelivered),
    /// The peer ended a subscription without a result.
    #[error("the peer ended the subscription")]
    SubscriptionEnded,
    /// An error of the protocol on top of JSON-RPC, such as a failed tool in MCP. Read it with
    /// [`downcast_ref`](Self::downcast_ref).
    #[error(transparent)]
    Protocol(BoxError),
    /// The connection failed before the response arrived, for example because the server's process exited. Returned by
    /// [`Peer::explain`](crate::Peer::explain).
    #[error("the connection failed: {0}")]
    ConnectionFailed(#[source] Arc<io::Error>),
    /// The connection closed before the response arrived.
    #[error(transparent)]
    Closed(#[from] Closed),
}

impl CallError {
    /// Returns the underlying error of the protocol or the transport, if it has this type.
    #[must_use]
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        match self {
            Self::Protocol(error) | Self::NotAllowed(error) => error.downcast_ref(),
            Self::ConnectionFailed(error) => error.get_ref()?.downcast_ref(),
            _ => None,
        }
    }

    /// Returns whether the peer is overloaded: it rejected the request with error code [`BUSY`](errors::BUSY) without
    /// handling it. Retry later.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::ErrorResponse(error) if error.code.0 == errors::BUSY)
    }
}
