//! A revision's rules: which messages may be sent when, and which revision a message belongs to.

use std::sync::Arc;

use mcpgen_types::{ErrorObject, Json, JsonObject, Revision};
use tower::BoxError;

use super::info::PeerInfo;
use super::log_level::Level;
use super::not_allowed::NotAllowed;
use super::role::Role;

/// The rules of the legacy or the modern revisions. [`Mcp`](super::Mcp) applies them to a connection's messages.
pub trait RevisionRules: Send + Sync + 'static {
    /// Decides whether a request is handled, gets a response at once, or is dropped.
    ///
    /// # Errors
    ///
    /// Returns the error response if the request is not allowed, or not allowed yet.
    fn admit(&self, request: &IncomingRequest<'_>) -> Result<Admission, ErrorObject>;

    /// Returns the revision of a notification, or `None` to ignore it for now.
    fn notification_revision(&self, method: &str, params: Option<&Json>) -> Option<Revision>;

    /// Returns whether batches are supported.
    fn allows_batches(&self) -> bool {
        false
    }

    /// Completes a handler's result or error before it is sent.
    ///
    /// # Errors
    ///
    /// Returns the error to send if the handler failed, or if its result is not valid for the request.
    fn complete_response(
        &self,
        _request: &RequestInfo<'_>,
        result: Result<Json, ErrorObject>,
    ) -> Result<Json, ErrorObject> {
        result
    }

    /// Checks whether a request or notification may be sent now. `revision` is that of its type, if it has one. `scope`
    /// is that of the request on whose behalf the message is sent, if any.
    ///
    /// # Errors
    ///
    /// Returns the reason if the message is not allowed.
    fn may_send(
        &self,
        _scope: Option<&RequestScope>,
        _method: &str,
        _revision: Option<Revision>,
        _params: Option<&Json>,
    ) -> Result<(), NotAllowed> {
        Ok(())
    }

    /// Completes the params of an outgoing request.
    ///
    /// # Errors
    ///
    /// Returns the reason if the params are not valid for any request.
    fn complete_params(&self, _method: &str, params: Option<Json>) -> Result<Option<Json>, BoxError> {
        Ok(params)
    }

    /// Returns whether to notify the peer when the caller drops this request.
    fn may_cancel(&self, _method: &str, _params: Option<&Json>) -> bool {
        true
    }

    /// Processes the result of an outgoing request, before any later message is processed.
    ///
    /// # Errors
    ///
    /// Returns the reason if the result is invalid.
    fn process_result(&self, _method: &str, result: Json) -> Result<Json, BoxError> {
        Ok(result)
    }

    /// Checks whether the peer may ask for this input in its result.
    ///
    /// # Errors
    ///
    /// Fails if this side did not declare the capability for it, or if the revision has no input requests.
    fn check_input_request(&self, method: &str, _params: Option<&JsonObject>) -> Result<(), ErrorObject> {
        Err(mcpgen_runtime::jsonrpc::errors::method_not_found(method))
    }

    /// Returns whether this side has declared a capability.
    fn has_declared(&self, _capability: &[&str]) -> bool {
        false
    }

    /// Returns the role of this side, if known.
    fn role(&self) -> Option<Role> {
        None
    }

    /// Returns the peer info for the whole connection, if known.
    fn peer_info(&self) -> Option<Arc<PeerInfo>> {
        None
    }

    /// Returns the revision of messages that name none: the negotiated one or, failing that, the preferred one.
    fn current_revision(&self) -> Option<Revision> {
        self.peer_info().map(|peer_info| peer_info.revision)
    }

    /// Returns whether the client wants log messages of this level.
    fn wants_log(&self, _scope: &RequestScope, _level: Level) -> bool {
        false
    }
}

/// An incoming request.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct IncomingRequest<'a> {
    /// The requested method.
    pub method: &'a str,
    /// The params, not decoded yet; `None` if absent.
    pub params: Option<&'a Json>,
    /// `_meta` of the params. Empty if absent. Consecutive requests with an equal `_meta` may share it.
    pub meta: &'a Arc<JsonObject>,
}

/// What the rules need to finish a request's result.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RequestInfo<'a> {
    /// The method.
    pub method: &'a str,
    /// The target: the name of a tool or prompt, or the URI of a resource.
    pub subject: Option<&'a str>,
    /// `_meta` of the params. Empty if absent.
    pub meta: &'a JsonObject,
    /// The scope of the request.
    pub scope: &'a RequestScope,
}

/// What to do with an incoming request.
#[derive(Clone, Debug)]
pub enum Admission {
    /// Call the handler, with this scope.
    Handle(RequestScope),
    /// Send this result at once, without calling a handler.
    Respond(Json),
    /// Send this result at once and begin a new session: cancel the previous session's requests, and fail those sent to
    /// its client.
    NewSession(Json),
    /// Ignore the request and send no response, for this reason.
    Drop(&'static str),
}

/// The revision, client and log level of a request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RequestScope {
    /// The revision of the request.
    pub revision: Revision,
    /// The peer that sent the request, if known.
    pub peer_info: Option<Arc<PeerInfo>>,
    /// The minimum level of log messages, if the request sets one.
    pub level: Option<Level>,
}

impl RequestScope {
    /// Creates a scope without peer info or log level.
    #[must_use]
    pub fn of(revision: Revision) -> Self {
        Self { revision, peer_info: None, level: None }
    }
}

/// Uses one revision for all messages, without a handshake.
#[derive(Clone, Copy, Debug)]
pub struct FixedRevision(pub Revision);

impl RevisionRules for FixedRevision {
    fn admit(&self, _: &IncomingRequest<'_>) -> Result<Admission, ErrorObject> {
        Ok(Admission::Handle(RequestScope::of(self.0)))
    }

    fn notification_revision(&self, _: &str, _: Option<&Json>) -> Option<Revision> {
        Some(self.0)
    }

    fn allows_batches(&self) -> bool {
        self.0.has_batches()
    }

    fn current_revision(&self) -> Option<Revision> {
        Some(self.0)
    }
}
