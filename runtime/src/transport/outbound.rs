//! Outgoing messages, which a connection passes to transports.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcpgen_types::codec::Cursor;
use mcpgen_types::{Json, RequestId};
use tokio::sync::OwnedSemaphorePermit;

use crate::jsonrpc::envelope::{Envelope, scan_bytes};

/// An outgoing message, and the incoming request that it belongs to.
///
/// It holds a share of [`Limits::outbox_bytes`](crate::Limits) until it is dropped. A transport with an unbounded
/// buffer must keep it until the message is written.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outbound {
    /// The encoded message, without line feeds. Empty for the routes that carry no message.
    pub bytes: Vec<u8>,
    /// The incoming request that the message belongs to, if any.
    pub route: Route,
    /// Method and params of a request or notification, if the transport [asks for
    /// them](super::Outgoing::needs_metadata).
    pub metadata: Option<Box<Metadata>>,
    pub(crate) permit: Option<OutboxPermit>,
}

/// Called with the number of bytes that were queued for writing, or the negated number of bytes that left the queue.
pub type QueueGauge = Arc<dyn Fn(i64) + Send + Sync>;

/// A message's share of the outbox, released when dropped.
pub struct OutboxPermit {
    /// One permit per byte. `None` once merged into another share.
    bytes: Option<OwnedSemaphorePermit>,
    gauge: Option<QueueGauge>,
}

impl OutboxPermit {
    /// Creates a share from permits of the outbox's semaphore, one per byte.
    #[must_use]
    pub fn new(bytes: OwnedSemaphorePermit, gauge: Option<QueueGauge>) -> Self {
        let permit = Self { bytes: Some(bytes), gauge };
        permit.count(1);
        permit
    }

    /// Adds another share of the same outbox.
    pub fn merge(&mut self, mut other: Self) {
        if let (Some(bytes), Some(others)) = (&mut self.bytes, other.bytes.take()) {
            bytes.merge(others);
        }
    }

    fn count(&self, sign: i64) {
        if let (Some(gauge), Some(bytes)) = (&self.gauge, &self.bytes) {
            gauge(sign * i64::try_from(bytes.num_permits()).unwrap_or(i64::MAX));
        }
    }
}

impl Drop for OutboxPermit {
    fn drop(&mut self) {
        self.count(-1);
    }
}

impl fmt::Debug for OutboxPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboxPermit").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// The incoming request that an outgoing message belongs to, for transports with a stream per request.
#[derive(Clone, Debug, PartialEq)]
pub enum Route {
    /// The message belongs to no request.
    Connection,
    /// The message is sent on behalf of a request that is being handled.
    Request(RequestId),
    /// The message is the response to a request.
    Response(RequestId, Outcome),
    /// The request gets no response. Carries no message.
    NoResponse(RequestId),
    /// The response may take a while, and the client may disconnect and reconnect after this time. Carries no message.
    Reconnect(RequestId, Duration),
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The request succeeded.
    Result,
    /// The handler failed with this error code.
    Failed(i64),
    /// The request was rejected with this error code before any handler was called.
    Refused(i64),
}

/// Method and params of an outgoing request or notification.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Metadata {
    /// The ID of a request. `None` for a notification.
    pub id: Option<RequestId>,
    /// The method.
    pub method: String,
    /// The params.
    pub params: Option<Json>,
}

impl Metadata {
    /// Reads the metadata from an encoded message. `None` unless it is a request or a notification.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let document = scan_bytes(bytes).ok()?;
        document.check_depth().ok()?;
        let (id, method, params) = match Envelope::read(&document).ok()? {
            Envelope::Request { id, method, params } => (Some(id), method, params),
            Envelope::Notification { method, params } => (None, method, params),
            _ => return None,
        };
        Some(Self { id, method: method.into_owned(), params: params.map(Cursor::to_json) })
    }
}

impl Outbound {
    /// Creates a message that belongs to a request or to the connection.
    #[must_use]
    pub fn new(route: Route, bytes: Vec<u8>) -> Self {
        Self { bytes, route, metadata: None, permit: None }
    }

    /// Takes the share of the outbox, to hold it longer than the message itself.
    pub fn take_permit(&mut self) -> Option<OutboxPermit> {
        self.permit.take()
    }

    pub(crate) fn with_metadata(mut self, metadata: Option<Metadata>) -> Self {
        self.metadata = metadata.map(Box::new);
        self
    }
}

/// The message belongs to no request.
impl From<Vec<u8>> for Outbound {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(Route::Connection, bytes)
    }
}
