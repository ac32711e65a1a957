//! The peer of a connection.

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcpgen_types::{ErrorObject, Json, JsonObject, RequestId};
use tokio_util::sync::CancellationToken;

use super::backlog::Backlog;
use super::change_listeners::{ChangeListener, ChangeListeners};
use super::error::CallError;
use super::input_requests::{InputRequests, OpenInputRequest};
use super::message;
use super::outbox::{Closed, Outbox};
use super::pending::PendingRequests;
use super::progress::Progress;
use super::task_scope::TaskScope;
use crate::jsonrpc::json;
use crate::protocol::info::PeerInfo;
use crate::protocol::modern::SUBSCRIPTION_ID;
use crate::protocol::{Protocol, RequestScope};
use crate::telemetry::{Message, Telemetry};
use crate::transport::{Metadata, Outbound, Route};

/// The peer of a connection. Clones refer to the same peer.
#[derive(Clone)]
pub struct Peer {
    pub(super) shared: Arc<Shared>,
    /// The scope of the request or notification on whose behalf messages are sent.
    pub(super) scope: Option<RequestScope>,
    /// The ID of the request on whose behalf messages are sent.
    request: Option<RequestId>,
    /// The task on whose behalf messages are sent.
    pub(super) task_scope: Option<Arc<dyn TaskScope>>,
    /// Keeps the connection open, if this peer is a handle of a client.
    _connection: Option<Arc<DisconnectOnDrop>>,
}

/// Disconnects a peer when it is dropped.
pub(crate) struct DisconnectOnDrop(Peer);

impl Drop for DisconnectOnDrop {
    fn drop(&mut self) {
        self.0.disconnect();
    }
}

pub(super) struct Shared {
    pub(super) outbox: Outbox,
    pub(super) protocol: Arc<dyn Protocol>,
    pub(super) next_id: AtomicI64,
    pub(super) pending: PendingRequests,
    /// The number of sessions that ended before the current one.
    session: AtomicU64,
    pub(super) input_requests: InputRequests,
    pub(super) idle_timeout: Option<Duration>,
    pub(super) timeout: Option<Duration>,
    /// Cancelled when no more messages will be received.
    receiving_ended: CancellationToken,
    backlog: Backlog,
    change_listeners: ChangeListeners,
    /// Why the connection failed, once it has.
    failure: OnceLock<String>,
    /// Called before any other receiver of a `list_changed` notification.
    on_list_changed: OnceLock<OnListChanged>,
}

/// A callback that takes the method of a `list_changed` notification.
type OnListChanged = Box<dyn Fn(&str) + Send + Sync>;

impl Peer {
    /// Creates the peer of a connection, with the default timeouts of its calls.
    pub(crate) fn new(
        outbox: Outbox,
        protocol: Arc<dyn Protocol>,
        idle_timeout: Option<Duration>,
        timeout: Option<Duration>,
    ) -> Self {
        Self::of(Arc::new(Shared {
            outbox,
            protocol,
            next_id: AtomicI64::new(1),
            pending: PendingRequests::new(),
            session: AtomicU64::new(0),
            input_requests: InputRequests::default(),
            idle_timeout,
            timeout,
            receiving_ended: CancellationToken::new(),
            backlog: Backlog::default(),
            change_listeners: ChangeListeners::default(),
            failure: OnceLock::new(),
            on_list_changed: OnceLock::new(),
        }))
    }

    fn of(shared: Arc<Shared>) -> Self {
        Self { shared, scope: None, request: None, task_scope: None, _connection: None }
    }

    /// Returns the peer for messages on behalf of a request, or of a notification, which has no ID.
    pub(crate) fn on_behalf(&self, scope: RequestScope, request: Option<RequestId>) -> Self {
        Self { scope: Some(scope), request, ..self.of_connection() }
    }

    /// Returns the peer for messages that do not belong to a request or a task.
    pub(crate) fn of_connection(&self) -> Self {
        Self::of(Arc::clone(&self.shared))
    }

    /// Returns the peer for messages on behalf of a task, which may outlive its request.
    #[cfg(feature = "tasks")]
    pub(crate) fn on_task(&self, task_scope: Arc<dyn TaskScope>) -> Self {
        Self { task_scope: Some(task_scope), ..self.clone() }
    }

    /// Returns a guard that ends the connection when it is dropped.
    pub(crate) fn disconnect_on_drop(&self) -> Arc<DisconnectOnDrop> {
        Arc::new(DisconnectOnDrop(self.of_connection()))
    }

    /// Makes this peer and its clones hold the guard of the connection.
    pub(crate) fn keep_connected(self, connection: Arc<DisconnectOnDrop>) -> Self {
        Self { _connection: Some(connection), ..self }
    }

    /// Returns a key that identifies the connection. It is unique as long as this peer exists.
    pub(crate) fn connection_key(&self) -> usize {
        Arc::as_ptr(&self.shared) as usize
    }

    /// Fails all pending requests, because the client that received them has been replaced by another one.
    pub(crate) fn begin_session(&self) {
        self.shared.session.fetch_add(1, Ordering::SeqCst);
        self.shared.pending.clear();
    }

    /// Returns a number that identifies the session of the connection.
    pub(crate) fn session(&self) -> u64 {
        self.shared.session.load(Ordering::SeqCst)
    }

    /// Returns the information that the peer has declared about itself. Returns `None` if it is not known yet, or if
    /// the peer declares it with each request.
    pub fn peer_info(&self) -> Option<Arc<PeerInfo>> {
        self.shared.protocol.peer_info()
    }

    /// Checks whether the peer may request this input in its result.
    pub(crate) fn check_input_request(&self, method: &str, params: Option<&JsonObject>) -> Result<(), CallError> {
        let asked = self.shared.protocol.check_input_request(method, params);
        asked.map_err(|error| CallError::Input { method: method.to_owned(), error })
    }

    pub(crate) fn protocol(&self) -> &dyn Protocol {
        &*self.shared.protocol
    }

    pub(crate) fn telemetry(&self) -> &Telemetry {
        self.shared.outbox.telemetry()
    }

    /// Describes an outgoing message for telemetry.
    pub(super) fn described<'a>(
        &self,
        id: Option<&'a RequestId>,
        method: &'a str,
        params: Option<&'a Json>,
    ) -> Message<'a> {
        let revision = match &self.scope {
            Some(scope) => Some(scope.revision),
            None if cfg!(feature = "opentelemetry") => self.peer_info().map(|peer_info| peer_info.revision),
            None => None,
        };
        Message { method, id, revision, params, ..Message::default() }
    }

    /// Adds to the params the task on whose behalf messages are sent.
    pub(super) fn with_task_scope(&self, params: Option<Json>) -> Result<Option<Json>, CallError> {
        let Some(task_scope) = &self.task_scope else { return Ok(params) };
        if task_scope.has_ended() {
            return Err(CallError::NotAllowed("the task that sends this message has ended".to_owned()));
        }
        json::with_meta(params, &[task_scope.meta()], true).map_err(|why| CallError::Invalid(why.into()))
    }

    pub(crate) async fn send(&self, message: Outbound) -> Result<(), Closed> {
        self.shared.outbox.send(message).await
    }

    pub(crate) fn try_send(&self, message: Outbound) -> Result<(), Outbound> {
        self.shared.outbox.try_send(message)
    }

    /// Queues a short message without waiting for room. Does nothing if the connection is closed.
    pub(crate) fn send_now(&self, message: Outbound) {
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
        let route = self.request.clone().map_or(Route::Connection, Route::Request);
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
            let read = |result| {
                self.shared
                    .protocol
                    .process_result(&request.method, result)
                    .map_err(|why| CallError::Invalid(why.into()))
            };
            // The caller may just have dropped the call.
            let _ = request.response.send(response.and_then(read));
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

    /// Ends a subscription that the server has cancelled. Ignores other requests, which a server cannot cancel.
    pub(crate) fn end_subscription(&self, id: &RequestId) {
        if self.shared.pending.is_subscription(id) {
            self.complete(id, Err(CallError::SubscriptionEnded));
        }
    }

    /// Returns whether any pending call is a subscription.
    pub(crate) fn has_subscriptions(&self) -> bool {
        self.shared.pending.has_subscriptions()
    }

    /// Passes a notification to the subscription that it belongs to. Returns false if it belongs to none.
    pub(crate) fn notify_subscription(&self, method: &str, params: Option<&Json>, meta: &JsonObject) -> bool {
        let id = meta.get(SUBSCRIPTION_ID).and_then(|id| id.decode().ok());
        id.is_some_and(|id| self.shared.pending.notify(&id, method, params))
    }

    /// Records that this side handles a request for input, such as a question to the user. Until the result is dropped,
    /// the idle timeouts of calls do not run.
    pub(crate) fn begin_input_request(&self) -> OpenInputRequest {
        self.shared.input_requests.begin()
    }

    /// Passes a progress report to the pending request with this token.
    pub(crate) fn report_progress(&self, token: &RequestId, progress: Progress) {
        self.shared.pending.report_progress(token, progress);
    }

    /// Sets the callback for `list_changed` notifications. Only the first call has an effect.
    pub(crate) fn on_list_changed(&self, callback: impl Fn(&str) + Send + Sync + 'static) {
        let _ = self.shared.on_list_changed.set(Box::new(callback));
    }

    /// Adds a callback for notifications of changed lists and resources, until the result is dropped.
    pub(crate) fn listen_to_changes(
        &self,
        callback: impl Fn(&str, Option<&Json>) + Send + Sync + 'static,
    ) -> ChangeListener {
        self.shared.change_listeners.add(callback)
    }

    /// Calls the callbacks for a notification of a changed list or resource.
    pub(crate) fn changed(&self, method: &str, params: Option<&Json>) {
        if let Some(callback) = self.shared.on_list_changed.get().filter(|_| method.ends_with("/list_changed")) {
            callback(method);
        }
        self.shared.change_listeners.call(method, params);
    }

    /// Records why the connection failed. Only the first reason is kept.
    pub(crate) fn set_failure(&self, reason: String) {
        let _ = self.shared.failure.set(reason);
    }

    /// Adds the reason to the error of a call that has failed because the connection has failed: returns
    /// [`CallError::ConnectionFailed`] instead of [`CallError::Closed`]. Returns all other errors unchanged.
    ///
    /// The methods of [`Client`](crate::Client) do this. Use it for requests that you send with the peer.
    #[must_use]
    pub fn explain(&self, error: CallError) -> CallError {
        match (error, self.shared.failure.get()) {
            (CallError::Closed(_), Some(reason)) => CallError::ConnectionFailed(reason.clone()),
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

    /// Waits until the notifications that were received before this call are handled, or the connection has ended.
    #[cfg(feature = "bridge")]
    pub(crate) async fn notifications_handled(&self) {
        tokio::select! {
            () = self.shared.backlog.cleared() => {}
            () = self.disconnected() => {}
        }
    }

    /// Waits until no more messages will be received.
    pub(crate) async fn receiving_ended(&self) {
        self.shared.receiving_ended.cancelled().await;
    }

    /// Waits until the connection is closed for sending.
    pub(crate) async fn disconnected(&self) {
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

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").field("calls", &self.shared.pending.len()).finish_non_exhaustive()
    }
}
