//! Adds MCP's methods to [`Context`].

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::transport::{Outbound, Route, TransportBudget};
use mcpgen_types::{ErrorObject, Json, JsonObject, ProgressToken, Request, Revision};
use serde_json::json;

use super::conversion::{ConversionError, Revisions};
use super::extension::{CAPABILITY as EXTENSIONS, Extension, settings};
use super::info::PeerInfo;
use super::input_requests::InputByKey;
use super::params::Round;
use super::params::{ParamsInterner, ParamsView};
use super::peer::PeerExt;
use super::scope::{Scope, request_scope, scope};
use super::task_scope::TaskScope;
use super::{FixedRevision, Level, Mcp, RequestScope};

/// Adds MCP's methods to [`Context`] and [`RequestContext`](crate::server::RequestContext). On a connection with
/// another protocol, they behave as for an empty request.
pub trait ContextExt: AsRef<Context> + Sync {
    /// Creates a context without a connection, to test handlers and layers. Its peer is disconnected.
    #[must_use]
    fn detached(revision: Revision) -> Self
    where
        Self: From<Context>,
    {
        Self::of_request(revision, "", None)
    }

    /// Like [`detached`](Self::detached), but with a method and params.
    #[must_use]
    fn of_request(revision: Revision, method: &str, params: Option<&Json>) -> Self
    where
        Self: From<Context>,
    {
        without_peer(method, RequestScope::of(revision), params).into()
    }

    /// Returns the target of the request: the name of the tool or prompt, or the URI of the resource. `None` for all
    /// other methods.
    #[must_use]
    fn subject(&self) -> Option<&str> {
        scope(self.as_ref()).params_view.subject.as_deref()
    }

    /// Returns the revision of the request or notification.
    #[must_use]
    fn revision(&self) -> Revision {
        scope(self.as_ref()).request.revision
    }

    /// Returns what the sender of the request has declared about itself: in legacy revisions in `initialize`, in modern
    /// ones in the request's metadata. `None` for a notification.
    #[must_use]
    fn peer_info(&self) -> Option<&Arc<PeerInfo>> {
        scope(self.as_ref()).request.peer_info.as_ref()
    }

    /// Checks that the peer has declared a capability, such as `["elicitation", "url"]`.
    ///
    /// # Errors
    ///
    /// Fails if the peer has not declared the capability. Return the error to reject the request.
    fn require(&self, capability: &[&str]) -> Result<(), ErrorObject> {
        match self.peer_info().is_some_and(|peer_info| peer_info.can(capability)) {
            true => Ok(()),
            false => Err(super::errors::missing_capabilities(&[capability])),
        }
    }

    /// Returns `_meta` of the params. Empty if absent.
    #[must_use]
    fn meta(&self) -> &JsonObject {
        &scope(self.as_ref()).params_view.meta
    }

    /// Decodes the client's response to the input request with this key. `None` if the client has not responded yet.
    ///
    /// # Errors
    ///
    /// Fails if the response is not a valid result of `R`.
    fn input<R: Request>(&self, key: &str) -> Result<Option<R::Result>, ErrorObject> {
        let response = scope(self.as_ref()).params_view.round.as_ref().and_then(|round| round.responses.get(key));
        response.map(|response| decode_input::<R>(self.as_ref(), key, response)).transpose()
    }

    /// Returns the request state that the client sends back from an earlier response.
    ///
    /// The client can change it. Do not trust it without a
    /// [`RequestStateCodec`](crate::server::request_state::RequestStateCodec).
    #[must_use]
    fn request_state(&self) -> Option<&str> {
        scope(self.as_ref()).params_view.round.as_ref()?.state.as_deref()
    }

    /// Closes the SSE stream on which the client waits for the response, and asks it to reconnect after `retry`.
    ///
    /// Use this in long-running handlers to avoid keeping an HTTP response open. No message is lost: the client resumes
    /// the stream when it reconnects. Works over HTTP in revision 2025-11-25, and does nothing elsewhere.
    fn close_sse_stream(&self, retry: Duration) {
        if let Some(id) = self.as_ref().id().cloned() {
            self.as_ref().peer().send_now(Outbound::new(Route::Reconnect(id, retry), Vec::new()));
        }
    }

    /// Returns the request's trace context, in the formats of W3C Trace Context and Baggage.
    #[must_use]
    fn trace(&self) -> Trace<'_> {
        let member = |name: &str| self.meta().get(name)?.as_str();
        Trace { parent: member("traceparent"), state: member("tracestate"), baggage: member("baggage") }
    }

    /// Returns the request's progress token, or `None` if the peer did not ask for progress.
    #[must_use]
    fn progress_token(&self) -> Option<ProgressToken> {
        self.meta().get("progressToken")?.decode().ok()
    }

    /// Sends a progress notification.
    ///
    /// Sends nothing if the peer did not ask for progress, if `progress` is not finite or not greater than before, or
    /// once the response is being sent.
    fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) -> impl Future<Output = ()> + Send {
        async move {
            let context = self.as_ref();
            let Some(token) = self.progress_token() else { return };
            let last = &scope(context).last_progress;
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
            context.report("notifications/progress", params).await;
        }
    }

    /// Sends a log message to the peer.
    ///
    /// Sends nothing if the server does not declare [`logging`](crate::ServerBuilder::logging), if the peer did not ask
    /// for messages of this level, or once the response is being sent.
    fn log(&self, level: Level, logger: Option<&str>, data: impl Into<Json>) -> impl Future<Output = ()> + Send {
        let data = data.into();
        async move {
            let context = self.as_ref();
            if !context.peer().revision_rules().wants_log(request_scope(context), level) {
                return;
            }
            let mut params = JsonObject::from([("level", level.as_str().into()), ("data", data)]);
            if let Some(logger) = logger {
                params.insert("logger", logger);
            }
            context.report("notifications/message", || Some(params.into())).await;
        }
    }

    /// Returns the settings that the sender of the request declared for an extension, or `None` if it did not declare
    /// the extension.
    ///
    /// # Errors
    ///
    /// Fails if the settings do not decode as the extension's settings. Return the error to reject the request.
    fn extension<E: Extension>(&self) -> Result<Option<E::Settings>, ErrorObject> {
        settings::<E>(self.peer_info().map(Arc::as_ref))
    }

    /// Checks that the sender of this request has declared an extension.
    ///
    /// # Errors
    ///
    /// Fails if the sender has not declared it. Return the error to reject the request.
    fn require_extension<E: Extension>(&self) -> Result<(), ErrorObject> {
        self.require(&[EXTENSIONS, E::IDENTIFIER])
    }
}

impl ContextExt for Context {}

pub(crate) fn without_peer(method: &str, request: RequestScope, params: Option<&Json>) -> Context {
    let params_view = ParamsView::at(method, params, &mut ParamsInterner::default());
    let revision = request.revision;
    Context::without_peer(no_peer(revision), revision.version(), method, Scope::new(request, params_view))
}

/// Derives the context of a task from that of its request. The task may outlive the request.
#[must_use]
pub fn on_task(context: &Context, task: Arc<dyn TaskScope>) -> Context {
    let Scope { request, params_view, .. } = scope(context);
    context.derive(Scope { task: Some(task), ..Scope::new(request.clone(), params_view.clone()) })
}

/// Derives the context for a round of a task from that of its request, with the client's input. The peer is
/// disconnected, because the request already has its response.
#[must_use]
pub fn in_task(context: &Context, responses: InputByKey, state: Option<String>) -> Context {
    let Scope { request, params_view, .. } = scope(context);
    let round = Some(Box::new(Round { responses, state }));
    let params_view = ParamsView { round, ..params_view.clone() };
    context.derive_without_peer(no_peer(request.revision), Scope::new(request.clone(), params_view), None)
}

/// Derives a context with the same sender, for decisions after the message was handled. It has neither params nor a
/// connected peer, so it does not keep the message in memory.
pub(crate) fn of_sender(context: &Context) -> Context {
    let mut extensions = context.extensions().clone();
    extensions.remove::<TransportBudget>();
    let mut request = request_scope(context).clone();
    // A notification does not name its sender, but a legacy connection knows it.
    request.peer_info = request.peer_info.or_else(|| context.peer().peer_info());
    let (peer, scope) = (no_peer(request.revision), Scope::new(request, ParamsView::default()));
    context.derive_without_peer(peer, scope, Some(extensions))
}

fn no_peer(revision: Revision) -> Mcp {
    Mcp::new(Arc::new(FixedRevision(revision)))
}

pub(crate) fn decode_input<R: Request>(
    context: &Context,
    key: &str,
    response: &Json,
) -> Result<R::Result, ErrorObject> {
    let revisions = Revisions { from: context.revision(), to: Revision::of(R::VERSION) };
    let decoded = match revisions.from == revisions.to {
        true => response.decode(),
        false => revisions.result(R::METHOD, response).map_err(ConversionError::into_response)?.decode(),
    };
    decoded.map_err(|error| {
        errors::invalid_params(&error.at_key(key.to_owned()).at_key("inputResponses").at_key("params"))
    })
}

/// A request's trace context. The values are not validated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trace<'a> {
    /// The value of `traceparent`.
    pub parent: Option<Cow<'a, str>>,
    /// The value of `tracestate`.
    pub state: Option<Cow<'a, str>>,
    /// The value of `baggage`.
    pub baggage: Option<Cow<'a, str>>,
}
