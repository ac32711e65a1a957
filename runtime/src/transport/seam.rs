//! What a transport is: a stream of incoming messages and a sink for outgoing ones.

use std::error::Error;
use std::{fmt, io};

use futures_util::{Sink, Stream};
use mcpgen_types::RequestId;
use tower::BoxError;

/// What a transport could not deliver.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// A message is longer than the transport's limit. It is skipped, and the next one is read.
    #[error("a message of more than {limit} bytes")]
    TooLong {
        /// The limit, in bytes.
        limit: usize,
        /// The message, as far as it could be identified.
        message: Skipped,
    },
    /// A request that was to be sent has no answer, though others may have: only that one fails.
    #[error("request {id} has no response")]
    Undelivered {
        /// The request.
        id: RequestId,
        /// Why.
        #[source]
        why: Undelivered,
    },
    /// Nothing more can be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A message that was skipped because of its length. Only its top-level keys and its id were read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Skipped {
    /// A request with this id.
    Request(RequestId),
    /// A notification.
    Notification,
    /// A response to the request with this id, either a result or an error.
    Response(RequestId),
    /// A batch, a message without a readable id, or not a JSON-RPC message.
    Unknown,
}

/// Why a request or its response could not be delivered.
///
/// It is displayed as the transport's error, whose source is its own.
#[derive(Debug)]
#[non_exhaustive]
pub struct Undelivered {
    /// Whether the request reached a server that could not handle it, such as one of an older revision.
    pub reached: bool,
    /// The transport's error.
    pub error: BoxError,
}

impl Undelivered {
    /// Creates an error of a transport.
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

/// Messages as they arrive, not read yet. There is nothing to implement: every such stream is one.
pub trait Incoming: Stream<Item = Result<Vec<u8>, ReceiveError>> + Send + 'static {}

impl<S: Stream<Item = Result<Vec<u8>, ReceiveError>> + Send + 'static> Incoming for S {}

/// Where messages leave, each on one line. There is nothing to implement: every such sink is one.
pub trait Outgoing: Sink<Vec<u8>, Error = io::Error> + Send + 'static {}

impl<S: Sink<Vec<u8>, Error = io::Error> + Send + 'static> Outgoing for S {}
