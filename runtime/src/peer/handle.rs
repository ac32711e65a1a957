//! The peer of a connection.

use std::any::Any;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{fmt, io};

use futures_util::future::BoxFuture;
use mcpgen_types::{ErrorObject, Json, RequestId, Version};
use tokio_util::sync::CancellationToken;

use super::backlog::{Backlog, Mark};
use super::input_requests::{InputRequests, OpenInputRequest};
use super::message;
use super::outbox::Outbox;
use super::pending::PendingRequests;
use crate::context::{Context, Parts};
use crate::error::{CallError, Closed};
use crate::observer::Observer;
use crate::protocol::{ErasedProtocol, Protocol};
use crate::transport::{Extensions, Metadata, Outbound, Route};

/// The peer of a connection. Clones refer to the same peer.
#[derive(Clone)]
pub struct Peer {
    pub(super) shared: Arc<PeerState>,
    /// The message on whose behalf messages are sent.
    pub(super) context: Option<Context>,
    /// Keeps the connection open, if this peer is a handle of a client.
    _connection: Option<Arc<DisconnectOnDrop>>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timeouts {
    pub(crate) idle: Option<Duration>,
    pub(crate) total: Option<Duration>,
    pub(crate) notifications: Option<Duration>,
}

/// Disconnects a peer when it is dropped.
#[derive(Debug)]
pub struct DisconnectOnDrop(Peer);

impl Drop for DisconnectOnDrop {
    fn drop(&mut self) {
        self.0.disconnect();
    }
}

pub(super) struct PeerState {
    pub(super) outbox: Outbox,
    pub(super) protocol: Arc<dyn ErasedProtocol>,
    pub(super) next_id: AtomicI64,
    pub(super) pending: PendingRequests,
    /// The number of sessions that ended before the current one.
    session: AtomicU64,
    pub(super) input_requests: InputRequests,
    pub(super) timeouts: Timeouts,
    /// Cancelled when no more messages will be received.
    receiving_ended: CancellationToken,
    backlog: Backlog,
    /// Why the connection failed, once it has.
    failure: OnceLock<Arc<io::Error>>,
}

impl Context {
    /// Returns the peer. Messages that you send with it belong to this message, so that they reach the same client, and
    /// sending fails if the protocol forbids them in this context. To keep the peer, use
    /// [`of_connection`](Peer::of_connection).
    #[must_use]
    pub fn peer(&self) -> Peer {
        match Arc::downcast(Arc::clone(&self.parts().connection)) {
            Ok(shared) => Peer { context: Some(self.clone()), ..Peer::of(shared) },
            // Only connections create contexts.
            Err(_) => unreachable!("a context without a connection"),
        }
    }

    /// Creates a context without a connection, for testing handlers and layers. Its peer is disconnected.
    #[must_use]
    pub fn without_peer<P: Protocol>(protocol: P, version: Version, method: &str, scope: P::Scope) -> Self {
        let parts = Parts {
            id: None,
            method: method.to_owned().into(),
            connection: Peer::disconnected_from(protocol).connection(),
            extensions: None,
            memory: None,
        };
        Self::new(parts, version, scope)
    }

    /// Like [`derive`](Self::derive), but the peer is disconnected, for work whose messages must not reach it. Keeps the
    /// values of the transport, unless `extensions` replaces them.
    #[must_use]
    pub fn derive_without_peer<P: Protocol>(
        &self,
        protocol: P,
        scope: P::Scope,
        extensions: Option<Extensions>,
    ) -> Self {
        let connection = Peer::disconnected_from(protocol).connection();
        let extensions = extensions.map(Arc::new).or_else(|| self.parts().extensions.clone());
        Self::new(Parts { connection, extensions, ..self.parts().clone() }, self.version(), scope)
    }
}

impl Peer {
    /// Creates the peer of a connection, with the default timeouts of its calls.
    pub(crate) fn new(outbox: Outbox, protocol: Arc<dyn ErasedProtocol>, timeouts: Timeouts) -> Self {
        Self::of(Arc::new(PeerState {
            outbox,
            protocol,
            next_id: AtomicI64::new(1),
            pending: PendingRequests::new(),
            session: AtomicU64::new(0),
            input_requests: InputRequests::default(),
            timeouts,
            receiving_ended: CancellationToken::new(),
            backlog: Backlog::default(),
            failure: OnceLock::new(),
        }))
    }

    fn disconnected_from(protocol: impl Protocol) -> Self {
        let peer = Self::new(Outbox::new(1, None).0, Arc::new(protocol), Timeouts::default());
        peer.disconnect();
        peer
    }

    fn of(shared: Arc<PeerState>) -> Self {
        Self { shared, context: None, _connection: None }
    }

    /// Returns the peer for messages that belong to the connection, and not to the message of a [`Context`]. Use it to keep
    /// a peer: that of a context keeps its message in memory, with the data that the transport attached.
    #[must_use]
    pub fn of_connection(&self) -> Self {
        Self::of(Arc::clone(&self.shared))
    }

    /// Returns the state of the peer, for a [context](crate::context::Parts).
    pub(crate) fn connection(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(&self.shared) as _
    }

    /// Returns a guard that ends the connection when it is dropped.
    #[must_use]
    pub fn disconnect_on_drop(&self) -> Arc<DisconnectOnDrop> {
        Arc::new(DisconnectOnDrop(self.of_connection()))
    }

    /// Makes this peer and its clones hold the guard of the connection.
    #[must_use]
    pub fn keep_connected(self, connection: Arc<DisconnectOnDrop>) -> Self {
        Self { _connection: Some(connection), ..self }
    }

    /// Returns a key that identifies the connection. It is unique as long as this peer exists.
    #[must_use]
    pub fn connection_key(&self) -> usize {
        Arc::as_ptr(&self.shared) as usize
    }

    /// Fails all pending requests, because the client that received them has been replaced by another one.
    pub(crate) fn begin_session(&self) {
        self.shared.session.fetch_add(1, Ordering::SeqCst);
        self.shared.pending.clear();
    }

    /// Returns a number that identifies the session of the connection.
    #[must_use]
    pub fn session(&self) -> u64 {
        self.shared.session.load(Ordering::SeqCst)
    }

    /// Returns the protocol of the connection, if it has this type.
    #[must_use]
    pub fn protocol<P: Protocol>(&self) -> Option<&P> {
        (&*self.shared.protocol as &dyn Any).downcast_ref()
    }

    pub(crate) fn erased_protocol(&self) -> &dyn ErasedProtocol {
        &*self.shared.protocol
    }

    pub(crate) fn observer(&self) -> Option<&Arc<dyn Observer>> {
        self.shared.outbox.observer()
    }

    pub(crate) async fn send(&self, message: Outbound) -> Result<(), Closed> {
        self.shared.outbox.send(message).await
    }

    pub(crate) fn try_send(&self, message: Outbound) -> Result<(), Outbound> {
        self.shared.outbox.try_send(message)
    }

    /// Queues a short message without waiting for room. Does nothing if the connection is closed.
    pub fn send_now(&self, message: Outbound) {
        let _ = self.shared.outbox.send_now(message);
    }

    /// Encodes a request, or a notification if `id` is `None`. It belongs to the request on whose behalf it is sent, if
    /// any.
    pub(super) fn message(&self, id: Option<&RequestId>, method: &str, params: Option<&Json>) -> Outbound {
        let metadata = self.shared.outbox.needs_metadata().then(|| Metadata {
            id: id.cloned(),
            method: method.to_owned(),
            params: params.cloned(),
        });
        let request = self.context.as_ref().and_then(Context::id);
        let route = request.cloned().map_or(Route::Connection, Route::Request);
        Outbound::new(route, message::encode(id, method, params)).with_metadata(metadata)
    }

    /// Records what the transport needs besides the bytes of messages.
    pub(crate) fn set_transport_needs(&self, has_request_streams: bool, metadata: bool) {
        self.shared.outbox.set_needs(has_request_streams, metadata);
    }

    /// Returns the method of a pending request.
    pub(crate) fn pending_method(&self, id: &RequestId) -> Option<String> {
        self.shared.pending.method(id)
    }

    /// Completes a pending request with its response. Ignores a response without a pending request.
    pub(crate) fn complete(&self, id: &RequestId, response: Result<Json, CallError>) {
        if let Some(request) = self.shared.pending.remove(id) {
            let read =
                |result| self.shared.protocol.receive_result(&request.method, result).map_err(CallError::Invalid);
            // The caller may just have dropped the call.
            let _ = request.response.send((response.and_then(read), self.shared.backlog.mark()));
        }
    }

    /// Completes the pending request that an error response belongs to. Ignores an error that belongs to none.
    pub(crate) fn complete_with_error(&self, id: Option<&RequestId>, error: ErrorObject) {
        match self.shared.pending.matching_error(id) {
            Some(id) => self.complete(&id, Err(CallError::ErrorResponse(error))),
            None if id.is_none() => tracing::warn!(%error, "the peer could not read a message"),
            None => {}
        }
    }

    /// Ends a pending request to which notifications are delivered. Returns whether there is one with this ID.
    pub(crate) fn end_subscription(&self, id: &RequestId) -> bool {
        let is_subscription = self.shared.pending.is_subscription(id);
        if is_subscription {
            self.complete(id, Err(CallError::SubscriptionEnded));
        }
        is_subscription
    }

    /// Passes a notification to the pending request with this ID. Returns whether there is one that takes it.
    pub(crate) fn deliver(&self, id: &RequestId, method: &str, params: Option<&Json>) -> bool {
        self.shared.pending.notify(id, method, params)
    }

    /// Records that this side handles a request for input, such as a question to the user. Until the result is dropped,
    /// the idle timeouts of calls do not run.
    pub(crate) fn begin_input_request(&self) -> OpenInputRequest {
        self.shared.input_requests.begin()
    }

    /// Passes a progress report to the pending request with this ID. Returns whether there is one that wants reports.
    pub(crate) fn report_progress(&self, id: &RequestId, report: Json) -> bool {
        self.shared.pending.report_progress(id, report)
    }

    /// Records why the connection failed. Only the first reason is kept.
    pub(crate) fn set_failure(&self, reason: Arc<io::Error>) {
        let _ = self.shared.failure.set(reason);
    }

    /// Adds the reason to the error of a call that has failed because the connection has failed: returns
    /// [`CallError::ConnectionFailed`] instead of [`CallError::Closed`]. Returns all other errors unchanged.
    ///
    #[must_use]
    pub fn explain(&self, error: CallError) -> CallError {
        match (error, self.shared.failure.get()) {
            (CallError::Closed(_), Some(reason)) => CallError::ConnectionFailed(Arc::clone(reason)),
            (error, _) => error,
        }
    }

    /// Fails all pending requests, because no more messages will be received. Messages can still be sent.
    pub(crate) fn end_receiving(&self) {
        self.shared.receiving_ended.cancel();
        self.shared.pending.close();
    }

    /// Returns the counter of the notifications that are not handled yet.
    pub(crate) fn backlog(&self) -> &Backlog {
        &self.shared.backlog
    }

    /// Returns a future that waits until the notifications before a point are handled, for at most `limit`, or the
    /// connection has ended. Returns `None` if they are handled, as almost always.
    pub(crate) fn wait_for_notifications(
        &self,
        before: Mark,
        limit: Option<Duration>,
    ) -> Option<BoxFuture<'static, ()>> {
        if limit == Some(Duration::ZERO) || self.shared.backlog.is_handled(before) {
            return None;
        }
        let peer = self.of_connection();
        Some(Box::pin(async move {
            tokio::select! {
                biased;
                () = peer.shared.backlog.wait(peer.connection_key(), before, limit) => {}
                () = peer.disconnected() => {}
            }
        }))
    }

    /// Waits until the notifications that were received before this call are handled, or the connection has ended.
    pub async fn notifications_handled(&self) {
        tokio::select! {
            () = self.shared.backlog.cleared() => {}
            () = self.disconnected() => {}
        }
    }

    /// Waits until no more messages will be received.
    pub async fn receiving_ended(&self) {
        self.shared.receiving_ended.cancelled().await;
    }

    /// Waits until the connection is closed for sending.
    pub async fn disconnected(&self) {
        self.shared.outbox.closed().await;
    }

    /// Returns whether the connection is closed or closing.
    pub fn is_closed(&self) -> bool {
        self.shared.outbox.is_closed()
    }

    /// Closes the connection. Queued messages are still written. Pending calls fail with
    /// [`Closed`](CallError::Closed).
    pub fn disconnect(&self) {
        self.shared.outbox.close();
        self.shared.pending.close();
    }
}

impl Context {
    /// Sends a notification about the request, before its response. Calls `params` once earlier ones are sent. Sends
    /// nothing if it returns `None`, or once the response is being sent, and gives up if the request ends while the outbox
    /// is full.
    pub async fn report(&self, method: &str, params: impl FnOnce() -> Option<Json>) {
        let Some(_sending) = self.begin_report().await else { return };
        let Some(params) = params() else { return };
        let peer = self.peer();
        tokio::select! {
            // Failing to notify a disconnected peer is harmless.
            _ = peer.raw_notify(method, Some(params)) => {}
            () = self.cancelled() => {}
        }
    }

    /// Waits until the response is in the outbox, so that later messages follow it, or the peer is disconnected. In the
    /// context of a notification, which has no response, it waits until the peer is disconnected.
    pub async fn responded(&self) {
        let peer = self.peer();
        tokio::select! {
            () = self.wait_for_response_sent() => {}
            () = peer.disconnected() => {}
        }
    }
}

impl AsRef<Self> for Peer {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").field("calls", &self.shared.pending.len()).finish_non_exhaustive()
    }
}
