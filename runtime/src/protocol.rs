//! Hooks for the rules of a protocol on top of JSON-RPC.

use std::any::Any;
use std::borrow::Cow;

use futures_util::future::BoxFuture;
use mcpgen_types::codec::Encode;
use mcpgen_types::{ErrorId, ErrorObject, Json, JsonObject, RequestId, Version};
use tower::BoxError;

use crate::context::{Context, Parts};
use crate::error::CallError;
use crate::jsonrpc::errors;
use crate::transport::{Extensions, FreeForm};

/// The rules of a protocol: which messages may be sent when, which version they belong to, and what its notifications
/// do. A connection applies them to every message. All methods but two have defaults.
pub trait Protocol: Send + Sync + 'static {
    /// What the protocol keeps about a message. Handlers read it with [`Context::scope`].
    type Scope: Send + Sync + 'static;

    /// Returns the fixed rules of the connection. Called once.
    fn rules(&self) -> Rules {
        Rules::default()
    }

    /// Checks whether the peer may send a batch now. By default, it may not.
    ///
    /// # Errors
    ///
    /// Returns the error response to the batch.
    fn check_batch(&self) -> Result<(), ErrorObject> {
        Err(errors::invalid_request("batches are not supported; send one message at a time"))
    }

    /// Returns the `id` of an error response to a message whose ID cannot be read. JSON-RPC's `null` by default.
    fn unknown_id(&self) -> ErrorId {
        ErrorId::Null
    }

    /// Decides whether a request is handled, gets a response at once, or is dropped.
    ///
    /// # Errors
    ///
    /// Returns the error response if the request is not allowed, or not allowed yet.
    fn admit(&self, request: &Received<'_>) -> Result<Admission<Self::Scope>, ErrorObject>;

    /// Returns the version and effect of a notification. `None` drops it.
    fn classify(&self, notification: &Received<'_>) -> Option<Notice<Self::Scope>>;

    /// Returns the target of a request, such as the name of a tool, for logs.
    fn subject<'c>(&self, _context: &'c Context) -> Option<&'c str> {
        None
    }

    /// Returns where the messages of a method contain free-form JSON, which takes less of
    /// [`Limits::memory`](crate::Limits::memory) than decoded values.
    fn free_form(&self, _method: &str) -> FreeForm {
        FreeForm::default()
    }

    /// Corrects params that do not decode as the handler's type. By default, such params are an error.
    fn repair_params(&self, _context: &Context, _params: Option<&Json>, _error: &mcpgen_types::Error) -> Option<Json> {
        None
    }

    /// Completes a handler's result or error before it is sent.
    ///
    /// # Errors
    ///
    /// Returns the error to send if the handler failed, or if its result is not valid for the request.
    fn finish_response(&self, _context: &Context, result: Result<Json, ErrorObject>) -> Result<Json, ErrorObject> {
        result
    }

    /// Checks and completes a request or notification before it is sent.
    ///
    /// # Errors
    ///
    /// Returns the error of the call if the message may not be sent now.
    fn before_send(&self, _message: &mut Sending<'_>) -> Result<(), CallError> {
        Ok(())
    }

    /// Called before a request is sent on behalf of a message. The request is sent once the future completes, and the
    /// future's value is dropped when the call ends.
    fn before_call(&self, _context: &Context) -> Option<BoxFuture<'static, Box<dyn Any + Send>>> {
        None
    }

    /// Processes the result of an outgoing request, before any later message is processed.
    ///
    /// # Errors
    ///
    /// Returns the reason if the result is not valid.
    fn receive_result(&self, _method: &str, result: Json) -> Result<Json, BoxError> {
        Ok(result)
    }

    /// Returns the notification that cancels an outgoing request, which may have been sent on behalf of another
    /// message. By default, the peer is not notified.
    fn cancellation(&self, _id: &RequestId, _on_behalf_of: Option<&Context>) -> Option<Cancellation> {
        None
    }
}

/// Rules that hold for the whole connection.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Methods whose requests stay open for a long time, such as subscriptions. They are limited separately, by
    /// [`Limits::long_lived`](crate::Limits::long_lived).
    pub long_lived: &'static [&'static str],
    /// Whether the idle timeouts of calls stop while this side handles a request, such as a question to the user.
    pub pauses_timeouts: bool,
    /// Whether `"params": null` means the same as no `params`. Otherwise it is an error.
    pub null_params: bool,
    /// The response to a cancelled request. By default, it gets no response.
    pub cancelled: Option<ErrorObject>,
}

/// An incoming request or notification.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Received<'a> {
    /// The ID of a request.
    pub id: Option<&'a RequestId>,
    /// The method.
    pub method: &'a str,
    /// The params, not decoded yet; `None` if absent.
    pub params: Option<&'a Json>,
    /// Whether the message is part of a batch.
    pub in_batch: bool,
    /// An unfinished request with the same ID. A request that reuses an ID is refused unless it [begins a
    /// session](Admission::NewSession).
    pub open: Option<&'a Context>,
    /// Values that the transport attached.
    pub extensions: &'a Extensions,
}

impl Received<'_> {
    /// Returns a member of the params.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<Json> {
        self.params.and_then(|params| Some(params.get(name)?.to_json()))
    }
}

/// An outgoing request or notification, before it is sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct Sending<'a> {
    /// The ID of a request.
    pub id: Option<&'a RequestId>,
    /// The method.
    pub method: &'a str,
    /// The version that defines the message, or `None` if the message is untyped.
    pub version: Option<Version>,
    /// The encoded params.
    pub params: Option<Json>,
    /// The message on whose behalf this one is sent.
    pub on_behalf_of: Option<&'a Context>,
    /// Whether the caller wants progress reports.
    pub wants_progress: bool,
    /// Whether the peer is notified with [`Protocol::cancellation`] if the caller drops the call.
    pub can_cancel: bool,
}

impl Sending<'_> {
    /// Sets a member of the params.
    ///
    /// # Errors
    ///
    /// Fails if the params are not an object.
    pub fn set_param(&mut self, name: &str, value: &impl Encode) -> Result<(), CallError> {
        let members = self.params.as_ref().map(|params| params.decode::<JsonObject>()).transpose();
        let mut members = members.map_err(|error| CallError::Invalid(error.into()))?.unwrap_or_default();
        members.insert(name, Json::from(value));
        self.params = Some(members.into());
        Ok(())
    }
}

/// What to do with a request.
#[derive(Clone, Debug)]
pub enum Admission<S> {
    /// Call the handler for this version, with this scope.
    Handle(Version, S),
    /// Send this result at once, without calling a handler.
    Respond(Json),
    /// Send this result at once and begin a new session. Requests that were sent to the previous client fail, and
    /// incoming ones for which `ends` returns true are cancelled.
    NewSession {
        /// The result.
        result: Json,
        /// Whether a request belongs to the previous session.
        ends: fn(&Context) -> bool,
    },
    /// Send no response, for this reason.
    Drop(&'static str),
}

/// How to treat a notification.
#[derive(Clone, Debug)]
pub struct Notice<S> {
    /// The version whose handler is called, or `None` to call no handler and only apply the effect.
    pub version: Option<Version>,
    /// The scope for the handler.
    pub scope: S,
    /// The effect on a request. If that request exists, no handler is called.
    pub effect: Effect,
}

impl<S> Notice<S> {
    /// Creates a notice for a handler.
    pub fn new(version: Version, scope: S) -> Self {
        Self { version: Some(version), scope, effect: Effect::None }
    }

    /// Sets the effect.
    #[must_use]
    pub fn with_effect(self, effect: Effect) -> Self {
        Self { effect, ..self }
    }
}

/// What a notification does to the request with a given ID, if there is one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Effect {
    /// Nothing.
    None,
    /// Cancels an incoming request.
    Cancel(RequestId),
    /// Reports the progress of an outgoing request.
    Progress(RequestId, Json),
    /// Passes the notification to an outgoing request, such as a subscription.
    Deliver(RequestId),
    /// Ends an outgoing request to which notifications are delivered.
    End(RequestId),
}

/// A notification that cancels a request.
#[derive(Clone, Debug)]
pub struct Cancellation {
    /// The method.
    pub method: Cow<'static, str>,
    /// The encoded params.
    pub params: Option<Json>,
}

impl Cancellation {
    /// Creates a cancellation.
    pub fn new(method: impl Into<Cow<'static, str>>, params: &impl Encode) -> Self {
        Self { method: method.into(), params: Some(Json::from(params)) }
    }
}

/// A [`Protocol`] with its scope type erased.
pub(crate) trait ErasedProtocol: Any + Send + Sync {
    fn rules(&self) -> Rules;
    fn check_batch(&self) -> Result<(), ErrorObject>;
    fn unknown_id(&self) -> ErrorId;
    /// Takes the parts if the request goes to a handler.
    fn admit(&self, request: &Received<'_>, parts: &mut Option<Parts>) -> Result<Admission<Context>, ErrorObject>;
    /// Takes the parts if `is_handled` returns true for the version.
    fn classify(
        &self,
        notification: &Received<'_>,
        parts: &mut Option<Parts>,
        is_handled: &dyn Fn(Version) -> bool,
    ) -> Option<(Effect, Option<Context>)>;
    fn subject<'c>(&self, context: &'c Context) -> Option<&'c str>;
    fn free_form(&self, method: &str) -> FreeForm;
    fn repair_params(&self, context: &Context, params: Option<&Json>, error: &mcpgen_types::Error) -> Option<Json>;
    fn finish_response(&self, context: &Context, result: Result<Json, ErrorObject>) -> Result<Json, ErrorObject>;
    fn before_send(&self, message: &mut Sending<'_>) -> Result<(), CallError>;
    fn before_call(&self, context: &Context) -> Option<BoxFuture<'static, Box<dyn Any + Send>>>;
    fn receive_result(&self, method: &str, result: Json) -> Result<Json, BoxError>;
    fn cancellation(&self, id: &RequestId, on_behalf_of: Option<&Context>) -> Option<Cancellation>;
}

impl<P: Protocol> ErasedProtocol for P {
    fn rules(&self) -> Rules {
        Protocol::rules(self)
    }

    fn check_batch(&self) -> Result<(), ErrorObject> {
        Protocol::check_batch(self)
    }

    fn unknown_id(&self) -> ErrorId {
        Protocol::unknown_id(self)
    }

    fn admit(&self, request: &Received<'_>, parts: &mut Option<Parts>) -> Result<Admission<Context>, ErrorObject> {
        Ok(match Protocol::admit(self, request)? {
            Admission::Handle(version, scope) => match parts.take() {
                Some(parts) => Admission::Handle(version, Context::new(parts, version, scope)),
                None => return Err(errors::internal()),
            },
            Admission::Respond(result) => Admission::Respond(result),
            Admission::NewSession { result, ends } => Admission::NewSession { result, ends },
            Admission::Drop(why) => Admission::Drop(why),
        })
    }

    fn classify(
        &self,
        notification: &Received<'_>,
        parts: &mut Option<Parts>,
        is_handled: &dyn Fn(Version) -> bool,
    ) -> Option<(Effect, Option<Context>)> {
        let Notice { version, scope, effect } = Protocol::classify(self, notification)?;
        let context = match version.filter(|version| is_handled(*version)) {
            Some(version) => parts.take().map(|parts| Context::new(parts, version, scope)),
            None => None,
        };
        Some((effect, context))
    }

    fn subject<'c>(&self, context: &'c Context) -> Option<&'c str> {
        Protocol::subject(self, context)
    }

    fn free_form(&self, method: &str) -> FreeForm {
        Protocol::free_form(self, method)
    }

    fn repair_params(&self, context: &Context, params: Option<&Json>, error: &mcpgen_types::Error) -> Option<Json> {
        Protocol::repair_params(self, context, params, error)
    }

    fn finish_response(&self, context: &Context, result: Result<Json, ErrorObject>) -> Result<Json, ErrorObject> {
        Protocol::finish_response(self, context, result)
    }

    fn before_send(&self, message: &mut Sending<'_>) -> Result<(), CallError> {
        Protocol::before_send(self, message)
    }

    fn before_call(&self, context: &Context) -> Option<BoxFuture<'static, Box<dyn Any + Send>>> {
        Protocol::before_call(self, context)
    }

    fn receive_result(&self, method: &str, result: Json) -> Result<Json, BoxError> {
        Protocol::receive_result(self, method, result)
    }

    fn cancellation(&self, id: &RequestId, on_behalf_of: Option<&Context>) -> Option<Cancellation> {
        Protocol::cancellation(self, id, on_behalf_of)
    }
}
