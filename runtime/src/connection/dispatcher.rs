//! Dispatches incoming messages: requests to the executor, responses to their calls, notifications to their handlers.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use mcpgen_types::codec::{Cursor, Document};
use mcpgen_types::{ErrorId, ErrorObject, Json, JsonObject, ProgressToken, RequestId};

use super::executor::{Executor, Task};
use super::limits::Limits;
use super::notification_queue::NotificationQueue;
use super::response::{batch_response, invalid_message_response, no_response, rejection, response};
use super::shared::Shared;
use crate::jsonrpc::envelope::{Envelope, Invalid, batch};
use crate::jsonrpc::errors;
use crate::peer::{CallError, Peer, Progress};
use crate::protocol::params::{ParamsInterner, ParamsView};
use crate::protocol::{Admission, IncomingRequest, Protocol, RequestScope};
use crate::service::context::Context;
use crate::service::router::{AnyNotification, AnyRequest, RequestService, Router};
use crate::telemetry::{Message, Outcome};
use crate::transport::{Extensions, Inbound, Memory, Outbound, Skipped, Undelivered};

/// Dispatches the incoming messages of a connection. Sends exactly one response per request.
pub(super) struct Dispatcher<S> {
    notifications: Router,
    shared: Arc<Shared>,
    notification_queue: NotificationQueue,
    executor: Executor<S>,
    interner: ParamsInterner,
}

/// A message without its params or result, which are not decoded yet.
enum Head {
    Request { id: RequestId, method: Cow<'static, str> },
    Notification { method: Cow<'static, str> },
    Response { id: RequestId },
    Error { id: ErrorId, error: ErrorObject },
}

/// The undecoded params or result of a message.
type Body = Result<Option<Json>, mcpgen_types::Error>;

impl<S: RequestService> Dispatcher<S> {
    pub(super) fn new(
        service: S,
        notifications: Router,
        protocol: Arc<dyn Protocol>,
        limits: Limits,
        peer: Peer,
        notification_queue: NotificationQueue,
    ) -> Self {
        let shared = Arc::new(Shared::new(protocol, limits, peer));
        Self {
            notifications,
            executor: Executor::new(service, Arc::clone(&shared), notification_queue.clone()),
            shared,
            notification_queue,
            interner: ParamsInterner::default(),
        }
    }

    /// Dispatches an incoming message or batch.
    pub(super) async fn dispatch(&mut self, mut inbound: Inbound) {
        let is_batch = inbound.is_batch();
        let extensions = std::mem::take(&mut inbound.extensions);
        let extensions = (!extensions.is_empty()).then(|| Arc::new(extensions));
        if is_batch && !self.shared.protocol.allows_batches() {
            return self.send(invalid_message_response(ErrorId::Null, errors::not_in_batches())).await;
        }
        let mut memory = Memory::default();
        let dispatched = match inbound.into_document() {
            Ok((document, of_document)) => {
                let limit = self.shared.limits.memory;
                memory = of_document;
                if memory.total() > limit {
                    memory = self.memory_of_response(&document).unwrap_or(memory);
                }
                if memory.total() > limit {
                    let needed = memory.total();
                    let why = format!("takes {needed} bytes of memory, more than {limit} (`Limits::memory`)");
                    return self.refuse(Skipped::of(&document), &why, "that limit").await;
                }
                match is_batch {
                    true => self.dispatch_batch(&document, extensions.as_ref()),
                    false => self.dispatch_one(document, extensions.as_ref()),
                }
            }
            Err(invalid) => self.invalid(invalid).map_or(Ok(None), Err),
        };
        match dispatched {
            Ok(None) => {}
            Ok(Some(task)) => self.executor.admit(task, memory).await,
            Err(response) => self.send(response).await,
        }
    }

    /// Returns the memory of a response to a pending request.
    fn memory_of_response(&self, document: &Document<'_>) -> Option<Memory> {
        let Ok(Envelope::Response { id, .. }) = Envelope::read(document) else { return None };
        Some(Memory::of_response(document, &self.shared.peer.pending_method(&id)?))
    }

    /// Processes a single message. Returns a request that needs a handler as a task, and an immediate response as an
    /// error.
    fn dispatch_one(
        &mut self,
        document: Document<'static>,
        extensions: Option<&Arc<Extensions>>,
    ) -> Result<Option<Task>, Outbound> {
        let (head, place) = match Envelope::read(&document) {
            Ok(envelope) => {
                let (head, body) = parts(envelope, &self.notifications);
                (Ok(head), body.map(Cursor::place))
            }
            Err(invalid) => (Err(invalid), None),
        };
        let body = place.map(|place| Json::extract(document, place)).transpose();
        Ok(self.receive(head, body, extensions)?.map(Task::Request))
    }

    fn dispatch_batch(
        &mut self,
        document: &Document<'static>,
        extensions: Option<&Arc<Extensions>>,
    ) -> Result<Option<Task>, Outbound> {
        let messages = match batch(document) {
            Ok(messages) => messages,
            Err(invalid) => return self.invalid(invalid).map_or(Ok(None), Err),
        };
        let depth = document.check_depth();
        let (mut requests, mut responses) = (Vec::new(), Vec::new());
        for message in messages {
            let (head, body) = match message {
                Ok(envelope) => {
                    let (head, body) = parts(envelope, &self.notifications);
                    (Ok(head), depth.clone().map(|()| body.map(Cursor::to_json)))
                }
                Err(invalid) => (Err(invalid), Ok(None)),
            };
            let received = match head {
                // It would end the session of the batch.
                Ok(Head::Request { id, method }) if method == "initialize" => {
                    Err(rejection(id, errors::invalid_request("initialize: expected outside of a batch")))
                }
                head => self.receive(head, body, extensions),
            };
            match received {
                Ok(Some(request)) if !request.context.revision().is_legacy() => {
                    responses.extend(self.shared.reject(&request, errors::not_in_batches()));
                }
                Ok(request) => requests.extend(request),
                Err(response) => responses.push(response),
            }
        }
        match (requests.is_empty(), responses.is_empty()) {
            (true, true) => Ok(None),
            (true, false) => Err(batch_response(&responses)),
            (false, _) => Ok(Some(Task::Batch(requests, responses))),
        }
    }

    /// Handles a message that was skipped because it exceeds the limit of the transport.
    pub(super) async fn message_too_long(&mut self, limit: usize, message: Skipped) {
        self.refuse(message, &format!("is longer than {limit} bytes"), "the line limit").await;
    }

    /// Refuses a message that exceeds a limit. `why` follows the kind of message in the error.
    async fn refuse(&mut self, message: Skipped, why: &str, limit: &str) {
        let invalid = |what: &str| errors::invalid_request(&format!("{what} {why}"));
        match message {
            Skipped::Request(id) => self.send(rejection(id, invalid("the request"))).await,
            Skipped::Notification => tracing::warn!("dropping a notification: it {why}"),
            Skipped::Response(id) => {
                let why = Undelivered::new(false, format!("the response {why}; raise {limit}"));
                self.shared.peer.complete(&id, Err(CallError::Undelivered(why)));
            }
            Skipped::Unknown => self.send(invalid_message_response(ErrorId::Null, invalid("the message"))).await,
        }
    }

    /// Processes an invalid message. If it is a response, its call fails. Otherwise this returns an error response.
    fn invalid(&mut self, invalid: Invalid) -> Option<Outbound> {
        match invalid.response_to {
            Some(id) => {
                self.shared.peer.complete(&id, Err(CallError::Invalid(invalid.error.into())));
                None
            }
            None => Some(invalid_message_response(invalid.id, invalid.error)),
        }
    }

    /// Processes a message. Returns a request that needs a handler, and an immediate response as an error.
    fn receive(
        &mut self,
        head: Result<Head, Invalid>,
        body: Body,
        extensions: Option<&Arc<Extensions>>,
    ) -> Result<Option<AnyRequest>, Outbound> {
        match head {
            Ok(Head::Request { id, method }) => match body {
                Ok(params) => return self.request(id, method, params, extensions),
                Err(error) => return Err(rejection(id, errors::invalid_params(&error.at_key("params")))),
            },
            Ok(Head::Notification { method }) => match body {
                Ok(params) => self.notification(method, params, extensions),
                Err(error) => {
                    let error = error.at_key("params");
                    tracing::warn!(method = &*method, %error, "ignoring an invalid notification");
                }
            },
            Ok(Head::Response { id }) => {
                if let Some(result) = body.transpose() {
                    self.shared.peer.complete(&id, result.map_err(|error| CallError::Invalid(error.into())));
                }
            }
            Ok(Head::Error { id, error }) => {
                let id = if let ErrorId::Id(id) = id { Some(id) } else { None };
                self.shared.peer.complete_with_error(id.as_ref(), error);
            }
            Err(invalid) => return self.invalid(invalid).map_or(Ok(None), Err),
        }
        Ok(None)
    }

    fn request(
        &mut self,
        id: RequestId,
        method: Cow<'static, str>,
        params: Option<Json>,
        extensions: Option<&Arc<Extensions>>,
    ) -> Result<Option<AnyRequest>, Outbound> {
        let mut open_requests = self.shared.open_requests();
        let is_pending = || errors::invalid_request("a request with this ID is still pending");
        let open = match open_requests.entry(id.clone()) {
            // A new session frees the IDs of the session before.
            Entry::Occupied(open) if method != "initialize" || !open.get().revision().is_legacy() => {
                return Err(rejection(id, is_pending()));
            }
            open => open,
        };
        let params_view = ParamsView::at(&method, params.as_ref(), &mut self.interner);
        match self.shared.protocol.admit(&IncomingRequest {
            method: &method,
            params: params.as_ref(),
            meta: &params_view.meta,
        }) {
            Err(error) => {
                self.record(&id, &method, &params_view, Outcome::Error(&error));
                Err(rejection(id, error))
            }
            Ok(Admission::Respond(result)) => {
                self.record(&id, &method, &params_view, Outcome::Result(&result));
                Err(response(id, Ok(result)))
            }
            Ok(Admission::NewSession(result)) => {
                self.record(&id, &method, &params_view, Outcome::Result(&result));
                // Modern requests belong to no session.
                let ended: Vec<(RequestId, Context)> =
                    open_requests.extract_if(|_, context| context.revision().is_legacy()).collect();
                drop(open_requests);
                ended.iter().for_each(|(id, context)| self.cancel_request(id, context));
                self.shared.peer.begin_session();
                Err(response(id, Ok(result)))
            }
            Ok(Admission::Handle(scope)) => {
                let Entry::Vacant(open) = open else { return Err(rejection(id, is_pending())) };
                let context = Context::new(Some(id), method.clone(), scope, &self.shared.peer, params_view)
                    .with_extensions(extensions)
                    .with_memory(&self.shared.memory);
                open.insert(context.clone());
                Ok(Some(AnyRequest { method, params, context }))
            }
            Ok(Admission::Drop(why)) => {
                tracing::warn!(method = &*method, why, "dropping a request");
                self.shared.peer.send_now(no_response(&id));
                Ok(None)
            }
        }
    }

    /// Records a request that needs no handler.
    fn record(&self, id: &RequestId, method: &str, params_view: &ParamsView, outcome: Outcome<'_>) {
        let message = Message {
            method,
            id: Some(id),
            subject: params_view.subject.as_deref(),
            meta: Some(&params_view.meta),
            ..Message::default()
        };
        self.shared.peer.telemetry().receive(message).end(outcome);
    }

    fn notification(&mut self, method: Cow<'static, str>, params: Option<Json>, extensions: Option<&Arc<Extensions>>) {
        match &*method {
            "notifications/cancelled" => self.cancel(&members(params.as_ref())),
            "notifications/progress" => self.progress(&members(params.as_ref())),
            method if method.ends_with("/list_changed") || method == "notifications/resources/updated" => {
                self.shared.peer.changed(method, params.as_ref());
            }
            _ => {}
        }
        let Some(revision) = self.shared.protocol.notification_revision(&method, params.as_ref()) else { return };
        let is_handled = self.notifications.handles_notification(revision, &method);
        if !is_handled && !self.shared.peer.has_subscriptions() {
            return;
        }
        let params_view = ParamsView::at(&method, params.as_ref(), &mut self.interner);
        let context = Context::new(None, method.clone(), RequestScope::of(revision), &self.shared.peer, params_view)
            .with_extensions(extensions);
        let message = AnyNotification { method, params, context };
        if self.shared.peer.notify_subscription(&message.method, message.params.as_ref(), message.context.meta())
            || !is_handled
        {
            return;
        }
        self.notification_queue.push(message);
    }

    /// Cancels a request that has no response yet.
    fn cancel(&mut self, params: &JsonObject) {
        let Some(id) = params.get("requestId").and_then(|id| id.decode().ok()) else { return };
        self.shared.peer.end_subscription(&id);
        let Some(context) = self.shared.open_requests().get(&id).cloned() else { return };
        self.cancel_request(&id, &context);
    }

    fn cancel_request(&mut self, id: &RequestId, context: &Context) {
        if self.executor.remove_queued(context) {
            self.shared.open_requests().remove(id);
            self.shared.peer.send_now(no_response(id));
        } else {
            context.cancel();
        }
    }

    fn progress(&self, params: &JsonObject) {
        let number = |name: &str| params.get(name).and_then(|number| number.as_f64());
        let token = params.get("progressToken").and_then(|token| token.decode().ok());
        let (Some(token), Some(progress)) = (token, number("progress")) else { return };
        let id = match token {
            ProgressToken::Integer(id) => RequestId::Integer(id),
            ProgressToken::String(id) => RequestId::String(id),
        };
        let message = params.get("message").and_then(|message| Some(message.as_str()?.into_owned()));
        self.shared.peer.report_progress(&id, Progress { progress, total: number("total"), message });
    }

    /// Sends a response now if the outbox has room. Otherwise queues it like a request, so that the connection keeps
    /// reading. If both peers stopped reading until the other one reads, they would deadlock.
    async fn send(&mut self, response: Outbound) {
        if let Err(response) = self.shared.peer.try_send(response) {
            let memory = Memory { held: response.bytes.len(), decoded: 0 };
            self.executor.admit(Task::Response(response), memory).await;
        }
    }

    /// Starts a queued request if the limits allow it, or waits until a running one ends. Cancel safe.
    pub(super) async fn advance(&mut self) {
        self.executor.advance().await;
    }

    /// Finishes running and queued requests, for at most `limit`.
    pub(super) async fn drain(&mut self, limit: Duration) {
        self.executor.drain(limit).await;
    }

    /// Cancels all unfinished requests. Sends an error response for each, as far as the outbox has room.
    pub(super) async fn abandon(&mut self) {
        self.executor.abandon().await;
    }
}

/// Splits a message into its head and its params or result. Shares the method's name with the router where it can.
fn parts<'m>(envelope: Envelope<'m>, router: &Router) -> (Head, Option<Cursor<'m>>) {
    match envelope {
        Envelope::Request { id, method, params } => {
            (Head::Request { id, method: router.intern_method(&method) }, params)
        }
        Envelope::Notification { method, params } => {
            (Head::Notification { method: router.intern_method(&method) }, params)
        }
        Envelope::Response { id, result } => (Head::Response { id }, Some(result)),
        Envelope::Error { id, error } => (Head::Error { id, error }, None),
    }
}

/// Decodes params that are an object. Returns an empty object for all others.
fn members(params: Option<&Json>) -> JsonObject {
    params.and_then(|params| params.decode().ok()).unwrap_or_default()
}
