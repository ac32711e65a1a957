//! The context that a handler receives besides its params.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use mcpgen_types::{ErrorObject, Json, JsonObject, ProgressToken, Request, RequestId, Revision};
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard, Notify};

use crate::jsonrpc::errors;
use crate::peer::Peer;
use crate::peer::outbox::Outbox;
use crate::protocol::conversion::{ConversionError, Revisions};
use crate::protocol::info::PeerInfo;
#[cfg(feature = "tasks")]
use crate::protocol::input_requests::InputByKey;
use crate::protocol::params::{ParamsInterner, ParamsView};
use crate::protocol::{FixedRevision, Level, RequestInfo, RequestScope, Role};
use crate::telemetry::{Message, Telemetry};
use crate::transport::{DecodedMemory, Extensions, Outbound, Principal, Route, TakenMemory, TransportBudget};

/// The context of a request or notification: its ID, method, revision, peer and metadata.
///
/// Every handler receives one. It is cheap to clone, and clones refer to the same message.
#[derive(Clone, Debug)]
pub struct Context(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: Option<RequestId>,
    method: Cow<'static, str>,
    scope: RequestScope,
    peer: Peer,
    /// Set when the request is cancelled or its response is ready.
    cancelled: AwaitableFlag,
    params_view: ParamsView,
    extensions: Option<Arc<Extensions>>,
    reports: Reports,
    /// Set when the response is in the outbox.
    response_sent: AwaitableFlag,
    /// The position in the queue of the connection. Zero if the request was never queued.
    queue_position: AtomicU64,
    /// The memory of the requests that run on the connection.
    memory: Option<Arc<AtomicUsize>>,
}

/// A flag that is set once and can be awaited.
///
/// Each request has two of them, and usually no task waits for either. A `CancellationToken` would allocate for each,
/// and lock whenever it is cancelled or checked. This flag does neither unless a task waits.
#[derive(Debug, Default)]
struct AwaitableFlag {
    is_set: AtomicBool,
    /// Whether a task may be waiting. Usually none is, and `set` skips the wake-up.
    is_awaited: AtomicBool,
    notify: Notify,
}

impl AwaitableFlag {
    fn set(&self) {
        self.is_set.store(true, Ordering::SeqCst);
        if self.is_awaited.load(Ordering::SeqCst) {
            self.notify.notify_waiters();
        }
    }

    fn is_set(&self) -> bool {
        self.is_set.load(Ordering::SeqCst)
    }

    async fn wait(&self) {
        // Created before the flag is read, so that no wake-up is lost in between.
        let notified = self.notify.notified();
        self.is_awaited.store(true, Ordering::SeqCst);
        if !self.is_set() {
            notified.await;
        }
    }
}

/// The state of a request's progress and log notifications.
#[derive(Debug)]
struct Reports {
    has_begun: AtomicBool,
    has_ended: AtomicBool,
    /// The last progress reported. Locked while a notification is sent, which keeps notifications in order.
    last: Mutex<f64>,
}

impl Default for Reports {
    fn default() -> Self {
        Self {
            has_begun: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            last: Mutex::new(f64::NEG_INFINITY),
        }
    }
}

impl Reports {
    /// Waits until earlier notifications are sent. Returns `None` once reporting has ended.
    async fn begin(&self) -> Option<MutexGuard<'_, f64>> {
        // Either `end` sees that reports have begun, or this sees that they have ended.
        self.has_begun.store(true, Ordering::SeqCst);
        let last = self.last.lock().await;
        (!self.has_ended.load(Ordering::SeqCst)).then_some(last)
    }

    /// Ends reporting. When this returns, a notification that was being sent has been sent.
    async fn end(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
        if self.has_begun.load(Ordering::SeqCst) {
            drop(self.last.lock().await);
        }
    }
}

impl Context {
    pub(crate) fn new(
        id: Option<RequestId>,
        method: Cow<'static, str>,
        scope: RequestScope,
        peer: &Peer,
        params_view: ParamsView,
    ) -> Self {
        Self(Arc::new(Inner {
            method,
            peer: peer.on_behalf(scope.clone(), id.clone()),
            id,
            scope,
            cancelled: AwaitableFlag::default(),
            params_view,
            extensions: None,
            reports: Reports::default(),
            response_sent: AwaitableFlag::default(),
            queue_position: AtomicU64::new(0),
            memory: None,
        }))
    }

    /// Sets the data that the transport attached. Does nothing if the context has been cloned.
    pub(crate) fn with_extensions(mut self, extensions: Option<&Arc<Extensions>>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.extensions = extensions.cloned();
        }
        self
    }

    /// Sets the memory of the requests that run on the connection. Does nothing if the context has been cloned.
    pub(crate) fn with_memory(mut self, of_connection: &Arc<AtomicUsize>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.memory = Some(Arc::clone(of_connection));
        }
        self
    }

    /// Takes memory for decoded arguments, which the estimate for the message does not contain.
    ///
    /// # Errors
    ///
    /// Fails if other messages take the memory.
    #[cfg_attr(not(feature = "schemars"), expect(dead_code, reason = "only typed tools decode their arguments"))]
    pub(crate) fn take_memory(&self, bytes: usize) -> Result<DecodedMemory, ErrorObject> {
        let too_large =
            || errors::limit_exceeded("other requests take the memory for these arguments; try again later");
        let of_transport = match self.extensions().get::<TransportBudget>() {
            Some(budget) => Some(budget.take(bytes).ok_or_else(too_large)?),
            None => None,
        };
        let of_connection = self.0.memory.as_ref().map(|total| TakenMemory::new(total, bytes));
        Ok(DecodedMemory { _of_connection: of_connection, _of_transport: of_transport })
    }

    /// Creates a context of the same request for a task, which outlives the request.
    #[cfg(feature = "tasks")]
    pub(crate) fn on_task(&self, task_scope: Arc<dyn crate::peer::TaskScope>) -> Self {
        let Inner { id, method, scope, peer, params_view, extensions, memory, .. } = &*self.0;
        Self(Arc::new(Inner {
            id: id.clone(),
            method: method.clone(),
            scope: scope.clone(),
            peer: peer.on_task(task_scope),
            cancelled: AwaitableFlag::default(),
            params_view: params_view.clone(),
            extensions: extensions.clone(),
            reports: Reports::default(),
            response_sent: AwaitableFlag::default(),
            queue_position: AtomicU64::new(0),
            memory: memory.clone(),
        }))
    }

    /// Creates a context of the same request for a round of a task, with the client's input. Its peer is disconnected,
    /// because the request has a response already.
    #[cfg(feature = "tasks")]
    pub(crate) fn in_task(&self, input_responses: InputByKey, state: Option<String>) -> Self {
        let Inner { id, method, scope, params_view, extensions, memory, .. } = &*self.0;
        let peer = Self::no_peer(scope.revision);
        let params_view = ParamsView { input_responses, state, ..params_view.clone() };
        let context = Self::new(id.clone(), method.clone(), scope.clone(), &peer, params_view);
        let context = context.with_extensions(extensions.as_ref());
        memory.iter().fold(context, |context, memory| context.with_memory(memory))
    }

    fn no_peer(revision: Revision) -> Peer {
        let peer = Peer::new(
            Outbox::new(1, Role::Server, Telemetry::default()).0,
            Arc::new(FixedRevision(revision)),
            None,
            None,
        );
        peer.disconnect();
        peer
    }

    /// Creates a context without a connection, for testing handlers and layers. Its peer is disconnected.
    #[must_use]
    pub fn detached(revision: Revision) -> Self {
        Self::of_request(revision, "", None)
    }

    /// Like [`detached`](Self::detached), but with a method and params.
    #[must_use]
    pub fn of_request(revision: Revision, method: &str, params: Option<&Json>) -> Self {
        Self::without_peer(method, RequestScope::of(revision), params)
    }

    /// Like [`of_request`](Self::of_request), but with a request scope.
    pub(crate) fn without_peer(method: &str, scope: RequestScope, params: Option<&Json>) -> Self {
        let peer = Self::no_peer(scope.revision);
        Self::new(
            None,
            method.to_owned().into(),
            scope,
            &peer,
            ParamsView::at(method, params, &mut ParamsInterner::default()),
        )
    }

    /// Returns the request's ID, or `None` for a notification.
    #[must_use]
    pub fn id(&self) -> Option<&RequestId> {
        self.0.id.as_ref()
    }

    /// Returns the method of the request or notification.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.0.method
    }

    /// Returns the request's subject: the name of the tool or prompt, or the URI of the resource. `None` for all other
    /// methods.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.0.params_view.subject.as_deref()
    }

    /// Returns the protocol revision of the request or notification.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.0.scope.revision
    }

    /// Returns the peer info of the sender of the request. In legacy revisions this comes from `initialize`, in
    /// modern ones from the request's metadata. `None` for a notification.
    #[must_use]
    pub fn peer_info(&self) -> Option<&Arc<PeerInfo>> {
        self.0.scope.peer_info.as_ref()
    }

    pub(crate) fn info(&self) -> RequestInfo<'_> {
        RequestInfo { method: self.method(), subject: self.subject(), meta: self.meta(), scope: self.scope() }
    }

    /// Describes the message for telemetry.
    pub(crate) fn described(&self) -> Message<'_> {
        Message {
            method: self.method(),
            id: self.id(),
            revision: Some(self.revision()),
            params: None,
            subject: self.subject(),
            meta: Some(self.meta()),
            extensions: self.0.extensions.as_deref(),
        }
    }

    pub(crate) fn scope(&self) -> &RequestScope {
        &self.0.scope
    }

    /// Returns the peer, scoped to this message. Sending fails if the message's revision does not allow it.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.0.peer
    }

    /// Waits until the request has ended: it was cancelled, its sender disconnected, or its response is
    /// ready.
    ///
    /// When a request is cancelled, its handler's future is dropped. Await this in tokio tasks that the handler has
    /// spawned.
    pub async fn cancelled(&self) {
        self.0.cancelled.wait().await;
    }

    /// Returns whether the request has ended: it was cancelled, its sender disconnected, or its response is
    /// ready.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.is_set()
    }

    /// Returns whether this is a context of the same message.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Marks the request as ended.
    pub(crate) fn cancel(&self) {
        self.0.cancelled.set();
    }

    /// Checks that the peer has declared a capability, such as `["elicitation", "url"]`.
    ///
    /// # Errors
    ///
    /// Fails if the peer has not declared the capability. Return the error to reject the request.
    pub fn require(&self, capability: &[&str]) -> Result<(), ErrorObject> {
        match self.peer_info().is_some_and(|peer_info| peer_info.can(capability)) {
            true => Ok(()),
            false => Err(errors::missing_capabilities(&[capability])),
        }
    }

    /// Returns the params' `_meta`, which is empty if absent.
    #[must_use]
    pub fn meta(&self) -> &JsonObject {
        &self.0.params_view.meta
    }

    /// Decodes the client's response to the input request with this key. Returns `None` if there is no response.
    ///
    /// # Errors
    ///
    /// Fails if the response is not a valid result of `R`.
    pub fn input<R: Request>(&self, key: &str) -> Result<Option<R::Result>, ErrorObject> {
        let response = self.0.params_view.input_responses.get(key);
        response.map(|response| self.decode_input::<R>(key, response)).transpose()
    }

    /// Decodes the client's response to the input request with this key.
    pub(crate) fn decode_input<R: Request>(&self, key: &str, response: &Json) -> Result<R::Result, ErrorObject> {
        let revisions = Revisions { from: self.revision(), to: Revision::of(R::VERSION) };
        let decoded = match revisions.from == revisions.to {
            true => response.decode(),
            false => revisions.result(R::METHOD, response).map_err(ConversionError::into_response)?.decode(),
        };
        decoded.map_err(|error| {
            errors::invalid_params(&error.at_key(key.to_owned()).at_key("inputResponses").at_key("params"))
        })
    }

    /// Returns the request state that the client sends back from an earlier response.
    ///
    /// The client can change it. Use [`RequestStateCodec`](crate::server::request_state::RequestStateCodec) before you
    /// trust it.
    #[must_use]
    pub fn request_state(&self) -> Option<&str> {
        self.0.params_view.state.as_deref()
    }

    /// Returns the values that the transport attached to the message, by type. Over HTTP they contain the
    /// `http::request::Parts` of the HTTP request, whose own extensions contain the values that tower layers have set.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        static EMPTY: LazyLock<Extensions> = LazyLock::new(Extensions::new);
        self.0.extensions.as_deref().unwrap_or(&EMPTY)
    }

    /// Returns the authenticated sender of the message, if the transport or an authentication layer has attached one.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.extensions().get()
    }

    /// Closes the SSE stream on which the client awaits the response, and asks it to reconnect after `retry`.
    ///
    /// Use this in handlers that run for a long time, so that no HTTP response stays open meanwhile. No message is
    /// lost: the client resumes the stream when it reconnects. This works over HTTP in revision 2025-11-25 and does
    /// nothing elsewhere.
    pub fn close_sse_stream(&self, retry: Duration) {
        if let Some(id) = self.0.id.clone() {
            self.0.peer.send_now(Outbound::new(Route::Reconnect(id, retry), Vec::new()));
        }
    }

    /// Returns the request's trace context, in the format of W3C Trace Context and Baggage.
    #[must_use]
    pub fn trace(&self) -> Trace<'_> {
        let member = |name: &str| self.meta().get(name)?.as_str();
        Trace { parent: member("traceparent"), state: member("tracestate"), baggage: member("baggage") }
    }

    /// Returns the request's progress token, or `None` if the peer did not ask for progress.
    #[must_use]
    pub fn progress_token(&self) -> Option<ProgressToken> {
        self.meta().get("progressToken")?.decode().ok()
    }

    /// Sends a progress notification.
    ///
    /// Sends nothing if the peer did not ask for progress, if `progress` is not finite or not greater than the last
    /// value reported, or once the response is being sent.
    pub async fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(token) = self.progress_token() else { return };
        let Some(mut last) = self.0.reports.begin().await else { return };
        // JSON has no infinity and no NaN.
        if !progress.is_finite() || progress <= *last {
            return;
        }
        *last = progress;
        let token = mcpgen_types::to_value(&token).unwrap_or_default();
        let mut params = json!({ "progressToken": token, "progress": progress });
        if let Some(total) = total.filter(|total| total.is_finite()) {
            params["total"] = json!(total);
        }
        if let Some(message) = message {
            params["message"] = json!(message);
        }
        self.report("notifications/progress", params.into()).await;
    }

    /// Sends a log message to the peer.
    ///
    /// Sends nothing if the server does not declare [`logging`](crate::ServerBuilder::logging), if the peer has not asked
    /// for messages of this level, or once the response is being sent.
    pub async fn log(&self, level: Level, logger: Option<&str>, data: impl Into<Json>) {
        if !self.0.peer.protocol().wants_log(self.scope(), level) {
            return;
        }
        let mut params = JsonObject::from([("level", level.as_str().into()), ("data", data.into())]);
        if let Some(logger) = logger {
            params.insert("logger", logger);
        }
        if let Some(_last) = self.0.reports.begin().await {
            self.report("notifications/message", params.into()).await;
        }
    }

    /// Sends a notification about the request. Gives up if the request ends while the outbox is full.
    async fn report(&self, method: &str, params: Json) {
        tokio::select! {
            // Failing to notify a disconnected peer is harmless.
            _ = self.0.peer.raw_notify(method, Some(params)) => {}
            () = self.cancelled() => {}
        }
    }

    /// Records that the response is in the outbox, or that none will be sent.
    pub(crate) fn response_sent(&self) {
        self.0.response_sent.set();
    }

    /// Waits until the response is in the outbox, so that later messages follow it.
    #[cfg(feature = "tasks")]
    pub(crate) async fn sent(&self) {
        tokio::select! {
            () = self.0.response_sent.wait() => {}
            () = self.0.peer.disconnected() => {}
        }
    }

    /// Records the position in the queue of the connection, which is not zero.
    pub(crate) fn set_queue_position(&self, position: u64) {
        self.0.queue_position.store(position, Ordering::Relaxed);
    }

    /// Returns the position in the queue of the connection. Zero if the request was never queued.
    pub(crate) fn queue_position(&self) -> u64 {
        self.0.queue_position.load(Ordering::Relaxed)
    }

    /// Ends reporting and waits until the last notification is sent.
    pub(crate) async fn finish(&self) {
        self.0.reports.end().await;
    }
}

/// The trace context of a request. The values are not validated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace<'a> {
    /// The value of `traceparent`.
    pub parent: Option<Cow<'a, str>>,
    /// The value of `tracestate`.
    pub state: Option<Cow<'a, str>>,
    /// The value of `baggage`.
    pub baggage: Option<Cow<'a, str>>,
}
