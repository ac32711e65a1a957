//! What a handler knows besides its params.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcpgen_types::{ErrorObject, JsonObject, ProgressToken, RawJson, Request, RequestId, Revision, Value};
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard, Notify};

use crate::jsonrpc::errors;
use crate::peer::Peer;
use crate::peer::outbox::{Message, Outbox, Place};
use crate::protocol::info::PeerInfo;
use crate::protocol::params::{ParamsInterner, ParamsView};
use crate::protocol::{FixedRevision, Level, RequestInfo, RequestScope};

/// What a handler knows besides its params. Clones are of the same message.
#[derive(Clone, Debug)]
pub struct Context(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: Option<RequestId>,
    method: Cow<'static, str>,
    scope: RequestScope,
    peer: Peer,
    over: Once,
    params_view: ParamsView,
    extensions: Option<Carrier>,
    reports: Reports,
    /// The answer is on its way.
    sent: Once,
}

/// What happens once, and whoever waits for it.
#[derive(Debug, Default)]
struct Once {
    has_happened: AtomicBool,
    /// Whether somebody may wait. As a rule nobody does, and nobody has to be woken.
    is_awaited: AtomicBool,
    told: Notify,
}

impl Once {
    fn happens(&self) {
        self.has_happened.store(true, Ordering::SeqCst);
        if self.is_awaited.load(Ordering::SeqCst) {
            self.told.notify_waiters();
        }
    }

    fn has_happened(&self) -> bool {
        self.has_happened.load(Ordering::SeqCst)
    }

    async fn happened(&self) {
        // Who waits is told of all that happens from here on.
        let told = self.told.notified();
        self.is_awaited.store(true, Ordering::SeqCst);
        if !self.has_happened() {
            told.await;
        }
    }
}

/// The reports of a request's progress, and what is logged for it.
#[derive(Debug)]
struct Reports {
    has_begun: AtomicBool,
    has_ended: AtomicBool,
    /// The progress that was reported last. Held while a report is sent, so that reports keep their order.
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
    /// Waits for the reports that are being sent. `None` once the answer is on its way, or nobody waits for one.
    async fn begin(&self) -> Option<MutexGuard<'_, f64>> {
        // Either `end` sees that reports have begun, or this sees that they have ended.
        self.has_begun.store(true, Ordering::SeqCst);
        let last = self.last.lock().await;
        (!self.has_ended.load(Ordering::SeqCst)).then_some(last)
    }

    /// Ends the reports. The last one is sent when this returns.
    async fn end(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
        if self.has_begun.load(Ordering::SeqCst) {
            drop(self.last.lock().await);
        }
    }
}

/// What a message came with, by the transport that it came over.
pub(crate) type Carrier = Arc<dyn Any + Send + Sync>;

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
            over: Once::default(),
            params_view,
            extensions: None,
            reports: Reports::default(),
            sent: Once::default(),
        }))
    }

    /// With what the message came with. For a context that nobody else has yet.
    pub(crate) fn with_extensions(mut self, extensions: Option<&Carrier>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.extensions = extensions.cloned();
        }
        self
    }

    /// The same request, for something that lasts longer than it.
    #[cfg(feature = "tasks")]
    pub(crate) fn on_task(&self, task_scope: Arc<dyn crate::peer::TaskScope>) -> Self {
        let Inner { id, method, scope, peer, params_view, extensions, .. } = &*self.0;
        Self(Arc::new(Inner {
            id: id.clone(),
            method: method.clone(),
            scope: scope.clone(),
            peer: peer.on_task(task_scope),
            over: Once::default(),
            params_view: params_view.clone(),
            extensions: extensions.clone(),
            reports: Reports::default(),
            sent: Once::default(),
        }))
    }

    /// The context of no connection, for trying handlers and layers by themselves. Its peer is gone.
    #[must_use]
    pub fn detached(revision: Revision) -> Self {
        Self::of_request(revision, "", None)
    }

    /// As [`detached`](Self::detached), of a request with these params.
    #[must_use]
    pub fn of_request(revision: Revision, method: &str, params: Option<&RawJson>) -> Self {
        Self::without_peer(method, RequestScope::of(revision), params)
    }

    /// As [`of_request`](Self::of_request), under these terms.
    pub(crate) fn without_peer(method: &str, scope: RequestScope, params: Option<&RawJson>) -> Self {
        let peer = Peer::new(Outbox::new(1).0, Arc::new(FixedRevision(scope.revision)), None, None);
        peer.disconnect();
        Self::new(
            None,
            method.to_owned().into(),
            scope,
            &peer,
            ParamsView::at(method, params, &mut ParamsInterner::default()),
        )
    }

    /// The request's id; `None` for a notification.
    #[must_use]
    pub fn id(&self) -> Option<&RequestId> {
        self.0.id.as_ref()
    }

    /// The method of the request or the notification.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.0.method
    }

    /// What the request is about: the name of a tool or a prompt, or the URI of a resource; `None` for all other methods.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.0.params_view.subject.as_deref()
    }

    /// The revision that the request is of, or the notification.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.0.scope.revision
    }

    /// Who has made the request, as far as that is known: in the revisions that begin with `initialize` what was said
    /// there, in later ones what is said with the request. `None` in the context of a notification.
    #[must_use]
    pub fn peer_info(&self) -> Option<&Arc<PeerInfo>> {
        self.0.scope.peer_info.as_ref()
    }

    pub(crate) fn info(&self) -> RequestInfo<'_> {
        RequestInfo { method: self.method(), subject: self.subject(), meta: self.meta(), scope: self.scope() }
    }

    pub(crate) fn scope(&self) -> &RequestScope {
        &self.0.scope
    }

    /// The other side, on behalf of this message: what may not be sent in its revision is refused.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.0.peer
    }

    /// Waits until the request is over: answered, taken back, or its sender gone. The handler's own future is dropped when
    /// the request is taken back; this is for what it has spawned.
    pub async fn over(&self) {
        self.0.over.happened().await;
    }

    /// Whether the request is over: answered, taken back, or its sender gone.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.over.has_happened()
    }

    /// The request is over.
    pub(crate) fn end(&self) {
        self.0.over.happens();
    }

    /// Refuses the request unless its sender has declared a capability, such as `["elicitation", "url"]`.
    ///
    /// # Errors
    ///
    /// The capability is not declared.
    pub fn require(&self, capability: &[&str]) -> Result<(), ErrorObject> {
        match self.peer_info().is_some_and(|peer_info| peer_info.can(capability)) {
            true => Ok(()),
            false => Err(errors::missing_capabilities(&[capability])),
        }
    }

    /// `_meta` of the params; empty if there is none.
    #[must_use]
    pub fn meta(&self) -> &JsonObject {
        &self.0.params_view.meta
    }

    /// The answer to an input request of this key, as the request says that it must be; `None` if there is none.
    ///
    /// # Errors
    ///
    /// It is no answer to such a request.
    pub fn input<R: Request>(&self, key: &str) -> Result<Option<R::Result>, ErrorObject> {
        let Some(answer) = self.0.params_view.answers.get(key) else { return Ok(None) };
        let decoded = mcpgen_types::from_value(answer.clone());
        decoded.map(Some).map_err(|error| {
            errors::invalid_params(&error.at_key(key.to_owned()).at_key("inputResponses").at_key("params"))
        })
    }

    /// What an earlier answer wanted to have back: see [`RequestStateCodec`](crate::server::request_state::RequestStateCodec) before you trust it.
    #[must_use]
    pub fn request_state(&self) -> Option<&str> {
        self.0.params_view.state.as_deref()
    }

    /// What the message came with, by the transport that it came over: see there which type it is. `None` if it is of
    /// another one.
    #[must_use]
    pub fn extensions<T: Any>(&self) -> Option<&T> {
        self.0.extensions.as_ref()?.downcast_ref()
    }

    /// Lets go of the stream that the answer is awaited on, where that is a thing of its own and can be come back to: over
    /// HTTP in revision 2025-11-25. The client comes back after so long, and nothing is lost meanwhile. For handlers that
    /// take long; elsewhere it does nothing.
    pub fn close_sse_stream(&self, retry: Duration) {
        if let Some(id) = self.0.id.clone() {
            self.0.peer.send_now(Message { place: Place::Later(id, retry), bytes: Vec::new() });
        }
    }

    /// The trace that the request is a part of, as W3C's Trace Context and Baggage have it.
    #[must_use]
    pub fn trace(&self) -> Trace<'_> {
        let member = |name: &str| self.meta().get(name).and_then(Value::as_str);
        Trace { parent: member("traceparent"), state: member("tracestate"), baggage: member("baggage") }
    }

    /// What reports of progress are known by; `None` if the other side asked for none.
    #[must_use]
    pub fn progress_token(&self) -> Option<ProgressToken> {
        mcpgen_types::from_value(self.meta().get("progressToken")?.clone()).ok()
    }

    /// Reports how far the request has come. Nothing is sent if the other side asked for no reports, if it would be no
    /// more than what was reported before, or after the answer.
    pub async fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(token) = self.progress_token() else { return };
        let Some(mut last) = self.0.reports.begin().await else { return };
        // What is not finite is no number of JSON's.
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
        self.report("notifications/progress", &params).await;
    }

    /// Tells the other side of an event. Nothing is sent if it does not want to hear of this level, or if it cannot be.
    pub async fn log(&self, level: Level, logger: Option<&str>, data: impl Into<Value>) {
        if !self.0.peer.protocol().logs(self.scope(), level) {
            return;
        }
        let mut params = json!({ "level": level.as_str(), "data": data.into() });
        if let Some(logger) = logger {
            params["logger"] = json!(logger);
        }
        if let Some(_last) = self.0.reports.begin().await {
            self.report("notifications/message", &params).await;
        }
    }

    /// Sends a notification about the request, unless the request ends while it waits for room.
    async fn report(&self, method: &str, params: &Value) {
        tokio::select! {
            // A peer that is gone needs no reports.
            _ = self.0.peer.raw_notify(method, Some(RawJson::from(params))) => {}
            () = self.over() => {}
        }
    }

    /// The answer is in the outbox, or there will be none.
    pub(crate) fn is_sent(&self) {
        self.0.sent.happens();
    }

    /// Waits until whatever is said next is said after the answer.
    #[cfg(feature = "tasks")]
    pub(crate) async fn sent(&self) {
        tokio::select! {
            () = self.0.sent.happened() => {}
            () = self.0.peer.disconnected() => {}
        }
    }

    /// No more reports; the last one is sent.
    pub(crate) async fn finish(&self) {
        self.0.reports.end().await;
    }
}

/// The trace that a request is a part of. Nothing is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trace<'a> {
    /// `traceparent`
    pub parent: Option<&'a str>,
    /// `tracestate`
    pub state: Option<&'a str>,
    /// `baggage`
    pub baggage: Option<&'a str>,
}
