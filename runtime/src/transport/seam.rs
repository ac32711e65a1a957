//! The traits and errors that transports are built from.

use std::error::Error;
use std::{fmt, io};

use futures_util::{Sink, Stream};
use mcpgen_types::RequestId;
use mcpgen_types::codec::{Decode, Document};
use tower::BoxError;

use super::inbound::Inbound;
use super::outbound::Outbound;
use crate::jsonrpc::json::Picked;

/// An error from the incoming stream of a transport.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// A message is longer than the transport's limit. It is skipped, and reading continues.
    #[error("a message is longer than {limit} bytes; raise the transport's limit to accept it")]
    TooLong {
        /// The limit, in bytes.
        limit: usize,
        /// What is known about the message.
        message: Skipped,
    },
    /// An outgoing request could not be delivered, or its response could not be received. Other requests are
    /// unaffected.
    #[error("request {id} has no response")]
    Undelivered {
        /// The request's ID.
        id: RequestId,
        /// The cause.
        #[source]
        why: Undelivered,
    },
    /// The stream has failed; nothing more can be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A message that was skipped because it is too long. Only its top-level keys and its ID were read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Skipped {
    /// A request with this ID.
    Request(RequestId),
    /// A notification.
    Notification,
    /// A response to the request with this ID, either a result or an error.
    Response(RequestId),
    /// A batch, a message without a readable ID, or not a JSON-RPC message.
    Unknown,
}

impl Skipped {
    /// Identifies a message by its keys. Decodes nothing but the ID.
    pub(crate) fn of(document: &Document<'_>) -> Self {
        let [id, method, result, error] = Picked::values(document.root(), &["id", "method", "result", "error"]);
        match (id.map(RequestId::decode), method.is_some(), result.or(error).is_some()) {
            (Some(Ok(id)), true, false) => Self::Request(id),
            (None, true, false) => Self::Notification,
            (Some(Ok(id)), false, true) => Self::Response(id),
            _ => Self::Unknown,
        }
    }
}

/// Why a request or its response could not be delivered.
///
/// Displays as the transport's error and has the same source.
#[derive(Debug)]
#[non_exhaustive]
pub struct Undelivered {
    /// Whether the request reached a server that could not handle it, such as one of an older revision.
    pub reached: bool,
    /// The transport's error.
    pub error: BoxError,
}

impl Undelivered {
    /// Wraps a transport's error.
    pub fn new(reached: bool, error: impl Into<BoxError>) -> Self {
        Self { reached, error: error.into() }
    }
}

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for Undelivered {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

/// A stream of incoming messages. Implemented for every stream of such items.
pub trait Incoming: Stream<Item = Result<Inbound, ReceiveError>> + Send + 'static {}

impl<S: Stream<Item = Result<Inbound, ReceiveError>> + Send + 'static> Incoming for S {}

/// A sink for outgoing messages.
pub trait Outgoing: Sink<Outbound, Error = io::Error> + Send + 'static {
    /// Returns whether the transport has a stream per request. Its sink then also gets messages without bytes, with the
    /// routes [`NoResponse`](super::Route::NoResponse) and [`Reconnect`](super::Route::Reconnect).
    fn has_request_streams(&self) -> bool {
        false
    }

    /// Returns whether the transport reads [`Outbound::metadata`].
    fn needs_metadata(&self) -> bool {
        false
    }
}
