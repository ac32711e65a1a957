//! MCP as the protocol of a connection.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_runtime::CallError;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::protocol::{Admission, Cancellation, Effect, Notice, Protocol, Received, Rules, Sending};
use mcpgen_runtime::transport::FreeForm;
use mcpgen_types::{ErrorId, ErrorObject, Json, JsonObject, RequestId, Revision};
use parking_lot::Mutex;
use serde_json::json;
use tower::BoxError;

use super::change_listeners::ChangeListeners;
use super::modern::SUBSCRIPTION_ID;
use super::params::{ParamsInterner, ParamsView};
use super::scope::{Scope, request_id};
use super::task_scope::CallOfTask;
use super::{IncomingRequest, NotAllowed, RequestScope, RevisionRules, Role, meta, methods};
use crate::protocol::scope::{request_info, scope};

/// The Model Context Protocol as the protocol of a connection.
pub struct Mcp {
    rules: Arc<dyn RevisionRules>,
    interner: Mutex<ParamsInterner>,
    change_listeners: ChangeListeners,
    /// Called with a `list_changed` notification before other listeners.
    on_list_changed: OnceLock<OnListChanged>,
}

impl fmt::Debug for Mcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mcp").finish_non_exhaustive()
    }
}

/// Called with the method of a `list_changed` notification.
type OnListChanged = Box<dyn Fn(&str) + Send + Sync>;

impl Mcp {
    /// Creates a connection's protocol from the rules of its revisions.
    #[must_use]
    pub fn new(rules: Arc<dyn RevisionRules>) -> Self {
        Self {
            rules,
            interner: Mutex::default(),
            change_listeners: ChangeListeners::default(),
            on_list_changed: OnceLock::new(),
        }
    }

    pub(crate) fn on_list_changed(self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { on_list_changed: OnceLock::from(Box::new(callback) as OnListChanged), ..self }
    }

    pub(super) fn revision_rules(&self) -> &dyn RevisionRules {
        &*self.rules
    }

    pub(super) fn change_listeners(&self) -> &ChangeListeners {
        &self.change_listeners
    }

    fn view(&self, message: &Received<'_>) -> ParamsView {
        match self.interner.try_lock() {
            Some(mut interner) => ParamsView::at(message.method, message.params, &mut interner),
            // Requests that share the protocol must not wait for each other.
            None => ParamsView::at(message.method, message.params, &mut ParamsInterner::default()),
        }
    }

    /// Notifies the listeners that a list or resource has changed.
    pub(super) fn changed(&self, method: &str, params: Option<&Json>) {
        if let Some(callback) = self.on_list_changed.get().filter(|_| method.ends_with("/list_changed")) {
            callback(method);
        }
        self.change_listeners.call(method, params);
    }

    fn effect(&self, notification: &Received<'_>, view: &ParamsView) -> Effect {
        let request = |id: Json| id.decode::<RequestId>().ok();
        match notification.method {
            "notifications/cancelled" => match notification.param("requestId").and_then(request) {
                // Modern servers send no requests that they could cancel, but they end subscriptions.
                Some(id) if self.rules.role() == Some(Role::Client) && !self.is_legacy() => Effect::End(id),
                Some(id) => Effect::Cancel(id),
                None => Effect::None,
            },
            "notifications/progress" => {
                let token = notification.param("progressToken").and_then(|token| token.decode().ok());
                match token.zip(notification.params) {
                    Some((token, params)) => Effect::Progress(request_id(token), params.clone()),
                    None => Effect::None,
                }
            }
            _ => {
                let subscription = view.meta.get(SUBSCRIPTION_ID).and_then(|id| id.decode().ok());
                subscription.map_or(Effect::None, Effect::Deliver)
            }
        }
    }

    fn is_legacy(&self) -> bool {
        self.rules.peer_info().is_some_and(|peer_info| peer_info.revision.is_legacy())
    }
}

impl Protocol for Mcp {
    type Scope = Scope;

    fn rules(&self) -> Rules {
        Rules {
            long_lived: &methods::LONG_LIVED,
            pauses_timeouts: self.rules.role() == Some(Role::Client),
            ..Rules::default()
        }
    }

    fn check_batch(&self) -> Result<(), ErrorObject> {
        if self.rules.allows_batches() { Ok(()) } else { Err(super::errors::not_in_batches()) }
    }

    /// Some revisions leave the ID out. Before the handshake, this side's preferred revision decides.
    fn unknown_id(&self) -> ErrorId {
        match self.rules.current_revision() {
            Some(revision) if revision.has_optional_error_id() => ErrorId::Absent,
            _ => ErrorId::Null,
        }
    }

    fn admit(&self, request: &Received<'_>) -> Result<Admission<Scope>, ErrorObject> {
        let begins_session = request.method == "initialize";
        if begins_session && request.in_batch {
            // A new session would end the one that the batch belongs to.
            return Err(errors::invalid_request("initialize: expected outside of a batch"));
        }
        // A new session frees the IDs of the previous one.
        if request.open.is_some_and(|open| !(begins_session && is_legacy(open))) {
            return Err(errors::invalid_request("a request with this ID is still pending"));
        }
        let view = self.view(request);
        let incoming = IncomingRequest { method: request.method, params: request.params, meta: &view.meta };
        Ok(match self.rules.admit(&incoming)? {
            super::Admission::Handle(scope) if request.in_batch && !scope.revision.is_legacy() => {
                return Err(super::errors::not_in_batches());
            }
            super::Admission::Handle(scope) => Admission::Handle(scope.revision.version(), Scope::new(scope, view)),
            super::Admission::Respond(result) => Admission::Respond(result),
            super::Admission::NewSession(result) => Admission::NewSession { result, ends: is_legacy },
            super::Admission::Drop(why) => Admission::Drop(why),
        })
    }

    fn classify(&self, notification: &Received<'_>) -> Option<Notice<Scope>> {
        let method = notification.method;
        if method.ends_with("/list_changed") || method == "notifications/resources/updated" {
            self.changed(method, notification.params);
        }
        let view = self.view(notification);
        let effect = self.effect(notification, &view);
        let revision = self.rules.notification_revision(method, notification.params);
        // Before the handshake, a notification may cancel a request, but has no handler.
        if revision.is_none() && matches!(effect, Effect::None) {
            return None;
        }
        let scope = Scope::new(RequestScope::of(revision.unwrap_or(Revision::LATEST)), view);
        Some(Notice { version: revision.map(Revision::version), scope, effect })
    }

    fn subject<'c>(&self, context: &'c Context) -> Option<&'c str> {
        scope(context).params_view.subject.as_deref()
    }

    fn free_form(&self, method: &str) -> FreeForm {
        methods::free_form(method)
    }

    /// Drops `inputResponses` if an entry is invalid. [`ContextExt::input`](super::ContextExt::input) decodes each
    /// entry by itself, so an entry that nobody reads must not fail the request.
    fn repair_params(&self, _: &Context, params: Option<&Json>, error: &mcpgen_types::Error) -> Option<Json> {
        if !error.path().starts_with("/params/inputResponses/") {
            return None;
        }
        let mut others: JsonObject = params?.decode().ok()?;
        others.remove("inputResponses");
        Some(others.into())
    }

    fn finish_response(&self, context: &Context, result: Result<Json, ErrorObject>) -> Result<Json, ErrorObject> {
        self.rules.complete_response(&request_info(context), result)
    }

    fn before_send(&self, message: &mut Sending<'_>) -> Result<(), CallError> {
        let scope = message.on_behalf_of.and_then(|context| context.scope::<Scope>());
        let revision = message.version.map(Revision::of);
        self.rules
            .may_send(scope.map(Scope::request), message.method, revision, message.params.as_ref())
            .map_err(|why| CallError::NotAllowed(why.into()))?;
        let Some(id) = message.id else {
            return self.add_task(message, scope);
        };
        message.params =
            self.rules.complete_params(message.method, message.params.take()).map_err(CallError::Invalid)?;
        self.add_task(message, scope)?;
        if message.wants_progress {
            // The progress token is the request's ID, which is unique on the connection.
            let token = ("progressToken", mcpgen_types::to_string(id));
            message.params = meta::with_meta(message.params.take(), &[token], true)
                .map_err(|error| CallError::Invalid(error.into()))?;
        }
        message.can_cancel = self.rules.may_cancel(message.method, message.params.as_ref());
        Ok(())
    }

    fn before_call(&self, context: &Context) -> Option<BoxFuture<'static, Box<dyn Any + Send>>> {
        let task = context.scope::<Scope>()?.task()?.clone();
        Some(async move { Box::new(CallOfTask::start(task).await) as Box<dyn Any + Send> }.boxed())
    }

    fn receive_result(&self, method: &str, result: Json) -> Result<Json, BoxError> {
        self.rules.process_result(method, result)
    }

    fn cancellation(&self, id: &RequestId, on_behalf_of: Option<&Context>) -> Option<Cancellation> {
        let mut params = json!({ "requestId": mcpgen_types::to_value(id).unwrap_or_default() });
        if let Some(task) = on_behalf_of.and_then(|context| context.scope::<Scope>()?.task()) {
            let (name, value) = task.meta();
            params["_meta"] = json!({ name: serde_json::from_str::<serde_json::Value>(&value).unwrap_or_default() });
        }
        Some(Cancellation { method: "notifications/cancelled".into(), params: Some(Json::from(&params)) })
    }
}

impl Mcp {
    /// Tags the message's `_meta` with the task on whose behalf it is sent.
    fn add_task(&self, message: &mut Sending<'_>, scope: Option<&Scope>) -> Result<(), CallError> {
        let Some(task) = scope.and_then(Scope::task) else { return Ok(()) };
        if task.has_ended() {
            return Err(CallError::NotAllowed(NotAllowed::TaskEnded.into()));
        }
        let params = meta::with_meta(message.params.take(), &[task.meta()], true);
        message.params = params.map_err(|why| CallError::Invalid(why.into()))?;
        Ok(())
    }
}

fn is_legacy(context: &Context) -> bool {
    scope(context).request.revision.is_legacy()
}
