//! The handle for the other side of a connection.

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

/// The other side of a connection. Clones refer to the same peer.
#[derive(Clone)]
pub struct Peer {
    pub(super) shared: Arc<PeerState>,
    /// The message on whose behalf this handle sends.
    pub(super) context: Option<Context>,
    /// Keeps the connection open as long as a client's handle exists.
    _connection: Option<Arc<DisconnectOnDrop>>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timeouts {
    pub(crate) idle: Option<Duration>,
    pub(crate) total: Option<Duration>,
    pub(crate) notifications: Option<Duration>,
}

/// Disconnects the peer when dropped.
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
    /// How many sessions ended before the current one.
    session: AtomicU64,
    pub(super) input_requests: InputRequests,
    pub(super) timeouts: Timeouts,
    /// Cancelled once no more messages will arrive.
    receiving_ended: CancellationToken,
    backlog: Backlog,
    /// The reason why the connection failed, if it has.
    failure: OnceLock<Arc<io::Error>>,
}

impl Context {
    /// Returns the peer. Messages sent with it belong to this message: they reach the same client, and fail if the
    /// protocol forbids them here. To keep a peer for longer than the message, use
    /// [`of_connection`](Peer::of_connection).
    #[must_use]
    pub fn peer(&self) -> Peer {
        match Arc::downcast(Arc::clone(&self.parts().connection)) {
            Ok(shared) => Peer { context: Some(self.clone()), ..Peer::of(shared) },
            // Only connections create contexts.
            Err(_) => unreachable!("a context without a connection"),
        }
    }

    /// Creates a context without a connection, to test handlers and layers. Its peer is disconnected.
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

    /// Like [`derive`](Self::derive), but with a disconnected peer, for work whose messages must not reach the real
    /// one. Keeps the transport's values unless `extensions` replaces them.
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
    /// Creates a peer. `timeouts` are the defaults for its calls.
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

    /// Returns a peer whose messages belong to the connection rather than to the message of a [`Context`]. Use it to
    /// keep a peer: one from a context keeps its message, and what the transport attached to it, in memory.
    #[must_use]
    pub fn of_connection(&self) -> Self {
        Self::of(Arc::clone(&self.shared))
    }

    /// Returns the state for [`Parts`](crate::context::Parts), which is in a lower layer.
    pub(crate) fn connection(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(&self.shared) as _
    }

    /// Returns a guard that closes the connection when dropped.
    #[must_use]
    pub fn disconnect_on_drop(&self) -> Arc<DisconnectOnDrop> {
        Arc::new(DisconnectOnDrop(self.of_connection()))
    }

    /// Keeps the connection open until this peer and all its clones are dropped.
    #[must_use]
    pub fn keep_connected(self, connection: Arc<DisconnectOnDrop>) -> Self {
        Self { _connection: Some(connection), ..self }
    }

    /// Returns a key that is unique to the connection as long as this peer exists.
    #[must_use]
    pub fn connection_key(&self) -> usize {
        Arc::as_ptr(&self.shared) as usize
    }

    /// Fails all pending requests, because a new client has replaced the one that received them.
    pub(crate) fn begin_session(&self) {
        self.shared.session.fetch_add(1, Ordering::SeqCst);
        self.shared.pending.clear();
    }

    /// Returns the number of the connection's current session.
    #[must_use]
    pub fn session(&self) -> u64 {
        self.shared.session.load(Ordering::SeqCst)
    }

    /// Returns the connection's protocol, if it has this type.
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

    /// Queues a short message even if the outbox is full. Does nothing if the connection is closed.
    pub fn send_now(&self, message: Outbound) {
        let _ = self.shared.outbox.send_now(message);
    }

    /// Encodes a request, or a notification if `id` is `None`, on behalf of this handle's message.
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

    /// Declares which extras the transport needs besides the bytes of messages.
    pub(crate) fn set_transport_needs(&self, has_request_streams: bool, metadata: bool) {
        self.shared.outbox.set_needs(has_request_streams, metadata);
    }

    pub(crate) fn pending_method(&self, id: &RequestId) -> Option<String> {
        self.shared.pending.method(id)
    }

    /// Completes a pending request. A response to an unknown request is ignored.
    pub(crate) fn complete(&self, id: &RequestId, response: Result<Json, CallError>) {
        if let Some(request) = self.shared.pending.remove(id) {
            let read =
                |result| self.shared.protocol.receive_result(&request.method, result).map_err(CallError::Invalid);
            // The caller may just have dropped the call.
            let _ = request.response.send((response.and_then(read), self.shared.backlog.mark()));
        }
    }

    /// Completes the request that an error response belongs to, if any.
    pub(crate) fn complete_with_error(&self, id: Option<&RequestId>, error: ErrorObject) {
        match self.shared.pending.matching_error(id) {
            Some(id) => self.complete(&id, Err(CallError::ErrorResponse(error))),
            None if id.is_none() => tracing::warn!(%error, "the peer could not read a message"),
            None => {}
        }
    }

    /// Ends the subscription with this ID. Returns whether there is one.
    pub(crate) fn end_subscription(&self, id: &RequestId) -> bool {
        let is_subscription = self.shared.pending.is_subscription(id);
        if is_subscription {
            self.complete(id, Err(CallError::SubscriptionEnded));
        }
        is_subscription
    }

    /// Passes a notification to the subscription with this ID. Returns whether there is one.
    pub(crate) fn deliver(&self, id: &RequestId, method: &str, params: Option<&Json>) -> bool {
        self.shared.pending.notify(id, method, params)
    }

    /// Stops the idle timeouts of calls until the returned guard is dropped, while this side handles a request for
    /// input such as a question to the user.
    pub(crate) fn begin_input_request(&self) -> OpenInputRequest {
        self.shared.input_requests.begin()
    }

    /// Passes a progress report to the request with this ID. Returns whether one wants it.
    pub(crate) fn report_progress(&self, id: &RequestId, report: Json) -> bool {
        self.shared.pending.report_progress(id, report)
    }

    /// Sets the reason why the connection failed. Only the first reason is kept.
    pub(crate) fn set_failure(&self, reason: Arc<io::Error>) {
        let _ = self.shared.failure.set(reason);
    }

    /// Adds the reason if a call failed because the connection did: turns [`CallError::Closed`] into
    /// [`CallError::ConnectionFailed`]. Other errors are returned unchanged.
    #[must_use]
    pub fn explain(&self, error: CallError) -> CallError {
        match (error, self.shared.failure.get()) {
            (CallError::Closed(_), Some(reason)) => CallError::ConnectionFailed(Arc::clone(reason)),
            (error, _) => error,
        }
    }

    /// Fails all pending requests, because no more responses will arrive. Sending still works.
    pub(crate) fn end_receiving(&self) {
        self.shared.receiving_ended.cancel();
        self.shared.pending.close();
    }

    pub(crate) fn backlog(&self) -> &Backlog {
        &self.shared.backlog
    }

    /// Returns a future that waits until the notifications before the mark are handled, `limit` has passed or the
    /// connection has ended. Returns `None` if they are handled already, which is nearly always.
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

    /// Waits until the notifications received so far are handled, or the connection has ended.
    pub async fn notifications_handled(&self) {
        tokio::select! {
            () = self.shared.backlog.cleared() => {}
            () = self.disconnected() => {}
        }
    }

    /// Waits until no more messages will arrive.
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

    /// Closes the connection. Queued messages are still written; pending calls fail with [`Closed`](CallError::Closed).
    pub fn disconnect(&self) {
        self.shared.outbox.close();
        self.shared.pending.close();
    }
}

impl Context {
    /// Sends a notification about the request before its response. `params` is called once earlier notifications
    /// are sent, and may return `None` to send nothing. Nothing is sent once the response is on its way, or if the
    /// request ends while the outbox is full.
    pub async fn report(&self, method: &str, params: impl FnOnce() -> Option<Json>) {
        let Some(_sending) = self.begin_report().await else { return };
        let Some(params) = params() else { return };
        let peer = self.peer();
        tokio::select! {
            // An error means that the peer has disconnected, so nobody misses the notification.
            _ = peer.raw_notify(method, Some(params)) => {}
            () = self.cancelled() => {}
        }
    }

    /// Waits until the response is in the outbox, so that later messages follow it, or the peer is disconnected. For
    /// a notification, which has no response, waits for the disconnection.
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
