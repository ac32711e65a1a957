//! The methods of [`Context`] for MCP.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcpgen_types::{ErrorObject, Json, JsonObject, ProgressToken, Request, Revision};
use serde_json::json;

use super::conversion::{ConversionError, Revisions};
use super::info::PeerInfo;
#[cfg(feature = "tasks")]
use super::input_requests::InputByKey;
#[cfg(feature = "tasks")]
use super::params::Round;
use super::params::{ParamsInterner, ParamsView};
use super::scope::{Scope, scope};
#[cfg(feature = "tasks")]
use super::task_scope::TaskScope;
use super::{FixedRevision, Level, Mcp, RequestInfo, RequestScope};
use crate::context::{Context, Parts};
use crate::jsonrpc::errors;
use crate::peer::Peer;
use crate::transport::{Outbound, Route};

impl Context {
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
    pub(crate) fn without_peer(method: &str, request: RequestScope, params: Option<&Json>) -> Self {
        let parts = Parts {
            id: None,
            method: method.to_owned().into(),
            connection: no_peer(request.revision).connection(),
            extensions: None,
            memory: None,
        };
        let params_view = ParamsView::at(method, params, &mut ParamsInterner::default());
        Self::new(parts, request.revision.version(), Scope::new(request, params_view))
    }

    /// Creates a context of the same request for a task, which outlives the request.
    #[cfg(feature = "tasks")]
    pub(crate) fn on_task(&self, task: Arc<dyn TaskScope>) -> Self {
        let Scope { request, params_view, .. } = scope(self);
        self.derive(Scope { task: Some(task), ..Scope::new(request.clone(), params_view.clone()) })
    }

    /// Creates a context of the same request for a round of a task, with the client's input. Its peer is disconnected,
    /// because the request has a response already.
    #[cfg(feature = "tasks")]
    pub(crate) fn in_task(&self, responses: InputByKey, state: Option<String>) -> Self {
        let Scope { request, params_view, .. } = scope(self);
        let round = Some(Box::new(Round { responses, state }));
        let params_view = ParamsView { round, ..params_view.clone() };
        let parts = Parts { connection: no_peer(request.revision).connection(), ..self.parts().clone() };
        Self::new(parts, self.version(), Scope::new(request.clone(), params_view))
    }

    /// Returns the request's subject: the name of the tool or prompt, or the URI of the resource. `None` for all other
    /// methods.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        scope(self).params_view.subject.as_deref()
    }

    /// Returns the revision of the request or notification.
    #[must_use]
    pub fn revision(&self) -> Revision {
        scope(self).request.revision
    }

    /// Returns the peer info of the sender of the request. In legacy revisions this comes from `initialize`, in
    /// modern ones from the request's metadata. `None` for a notification.
    #[must_use]
    pub fn peer_info(&self) -> Option<&Arc<PeerInfo>> {
        scope(self).request.peer_info.as_ref()
    }

    pub(crate) fn info(&self) -> RequestInfo<'_> {
        let Scope { request, params_view, .. } = scope(self);
        let subject = params_view.subject.as_deref();
        RequestInfo { method: self.method(), subject, meta: &params_view.meta, scope: request }
    }

    pub(crate) fn request_scope(&self) -> &RequestScope {
        &scope(self).request
    }

    /// Checks that the peer has declared a capability, such as `["elicitation", "url"]`.
    ///
    /// # Errors
    ///
    /// Fails if the peer has not declared the capability. Return the error to reject the request.
    pub fn require(&self, capability: &[&str]) -> Result<(), ErrorObject> {
        match self.peer_info().is_some_and(|peer_info| peer_info.can(capability)) {
            true => Ok(()),
            false => Err(super::errors::missing_capabilities(&[capability])),
        }
    }

    /// Returns the params' `_meta`, which is empty if absent.
    #[must_use]
    pub fn meta(&self) -> &JsonObject {
        &scope(self).params_view.meta
    }

    /// Decodes the client's response to the input request with this key. Returns `None` if there is no response.
    ///
    /// # Errors
    ///
    /// Fails if the response is not a valid result of `R`.
    pub fn input<R: Request>(&self, key: &str) -> Result<Option<R::Result>, ErrorObject> {
        let response = scope(self).params_view.round.as_ref().and_then(|round| round.responses.get(key));
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
        scope(self).params_view.round.as_ref()?.state.as_deref()
    }

    /// Closes the SSE stream on which the client awaits the response, and asks it to reconnect after `retry`.
    ///
    /// Use this in handlers that run for a long time, so that no HTTP response stays open meanwhile. No message is
    /// lost: the client resumes the stream when it reconnects. This works over HTTP in revision 2025-11-25 and does
    /// nothing elsewhere.
    pub fn close_sse_stream(&self, retry: Duration) {
        if let Some(id) = self.id().cloned() {
            self.peer().send_now(Outbound::new(Route::Reconnect(id, retry), Vec::new()));
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
        let last = &scope(self).last_progress;
        let params = || {
            // JSON has no infinity and no NaN.
            if !progress.is_finite() || progress <= f64::from_bits(last.load(Ordering::Relaxed)) {
                return None;
            }
            last.store(progress.to_bits(), Ordering::Relaxed);
            let token = mcpgen_types::to_value(&token).unwrap_or_default();
            let mut params = json!({ "progressToken": token, "progress": progress });
            if let Some(total) = total.filter(|total| total.is_finite()) {
                params["total"] = json!(total);
            }
            if let Some(message) = message {
                params["message"] = json!(message);
            }
            Some(params.into())
        };
        self.report("notifications/progress", params).await;
    }

    /// Sends a log message to the peer.
    ///
    /// Sends nothing if the server does not declare [`logging`](crate::ServerBuilder::logging), if the peer has not asked
    /// for messages of this level, or once the response is being sent.
    pub async fn log(&self, level: Level, logger: Option<&str>, data: impl Into<Json>) {
        if !self.peer().revision_rules().wants_log(self.request_scope(), level) {
            return;
        }
        let mut params = JsonObject::from([("level", level.as_str().into()), ("data", data.into())]);
        if let Some(logger) = logger {
            params.insert("logger", logger);
        }
        self.report("notifications/message", || Some(params.into())).await;
    }
}

fn no_peer(revision: Revision) -> Peer {
    Peer::disconnected_from(Mcp::new(Arc::new(FixedRevision(revision))))
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
