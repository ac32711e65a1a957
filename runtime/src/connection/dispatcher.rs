//! Dispatches incoming messages: requests to the executor, responses to pending calls, notifications to handlers.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use mcpgen_types::codec::{Cursor, Document};
use mcpgen_types::{ErrorId, ErrorObject, Json, RequestId};

use super::executor::{Executor, Task};
use super::limits::Limits;
use super::notification_queue::NotificationQueue;
use super::response::{batch_response, no_response, rejection, response};
use super::state::ConnectionState;
use crate::context::{Context, Parts, extensions_of};
use crate::error::CallError;
use crate::jsonrpc::envelope::{Envelope, Invalid, batch};
use crate::jsonrpc::errors;
use crate::peer::Peer;
use crate::protocol::{Admission, Effect, Received};
use crate::router::{AnyNotification, AnyRequest, RequestService, Router};
use crate::transport::{Extensions, Inbound, Memory, Outbound, Skipped, Undelivered};

/// Dispatches incoming messages, and guarantees exactly one response per request.
pub(super) struct Dispatcher<S> {
    notifications: Router,
    shared: Arc<ConnectionState>,
    notification_queue: NotificationQueue,
    executor: Executor<S>,
}

/// A message whose params or result, the [`Body`], are not decoded yet.
enum Head {
    Request { id: RequestId, method: Cow<'static, str> },
    Notification { method: Cow<'static, str> },
    Response { id: RequestId },
    Error { id: ErrorId, error: ErrorObject },
}

type Body = Result<Option<Json>, mcpgen_types::Error>;

impl<S: RequestService> Dispatcher<S> {
    pub(super) fn new(
        service: S,
        notifications: Router,
        limits: Limits,
        peer: Peer,
        notification_queue: NotificationQueue,
    ) -> Self {
        let shared = Arc::new(ConnectionState::new(limits, peer));
        Self { notifications, executor: Executor::new(service, Arc::clone(&shared)), shared, notification_queue }
    }

    pub(super) async fn dispatch(&mut self, mut inbound: Inbound) {
        let is_batch = inbound.is_batch();
        let extensions = std::mem::take(&mut inbound.extensions);
        let extensions = (!extensions.is_empty()).then(|| Arc::new(extensions));
        if is_batch && let Err(error) = self.shared.peer.erased_protocol().check_batch() {
            return self.send(self.shared.invalid_message(ErrorId::Null, error)).await;
        }
        let mut memory = Memory::default();
        let dispatched = match inbound.into_document(&|method| self.shared.peer.erased_protocol().free_form(method)) {
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

    /// Returns how much memory the response to a pending request takes. `None` if the message is not such a response.
    fn memory_of_response(&self, document: &Document<'_>) -> Option<Memory> {
        let Ok(Envelope::Response { id, .. }) = Envelope::read(document) else { return None };
        let ConnectionState { peer, .. } = &*self.shared;
        Some(Memory::of_response(document, peer.erased_protocol().free_form(&peer.pending_method(&id)?)))
    }

    /// `Ok`: a request for the executor, if there is one. `Err`: a response to send now.
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
        Ok(self.receive(head, body, false, extensions)?.map(Task::Request))
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
            match self.receive(head, body, true, extensions) {
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

    /// Handles a message that the transport skipped because it is longer than the transport's limit.
    pub(super) async fn message_too_long(&mut self, limit: usize, message: Skipped) {
        self.refuse(message, &format!("is longer than {limit} bytes"), "the transport's limit").await;
    }

    /// Refuses a message that exceeds a limit. `why` completes the sentence "the request …" in the error message.
    async fn refuse(&mut self, message: Skipped, why: &str, limit: &str) {
        let invalid = |what: &str| errors::invalid_request(&format!("{what} {why}"));
        match message {
            Skipped::Request(id) => self.send(rejection(id, invalid("the request"))).await,
            Skipped::Notification => tracing::warn!("dropping a notification: it {why}"),
            Skipped::Response(id) => {
                let why = Undelivered::new(false, format!("the response {why}; raise {limit}"));
                self.shared.peer.complete(&id, Err(CallError::Undelivered(why)));
            }
            Skipped::Unknown => self.send(self.shared.invalid_message(ErrorId::Null, invalid("the message"))).await,
        }
    }

    /// Fails the call if the message is a response. Otherwise returns an error response.
    fn invalid(&mut self, invalid: Invalid) -> Option<Outbound> {
        match invalid.response_to {
            Some(id) => {
                self.shared.peer.complete(&id, Err(CallError::Invalid(invalid.error.into())));
                None
            }
            None => Some(self.shared.invalid_message(invalid.id, invalid.error)),
        }
    }

    /// `Ok`: the request, if it needs a handler. `Err`: a response to send now.
    fn receive(
        &mut self,
        head: Result<Head, Invalid>,
        mut body: Body,
        in_batch: bool,
        extensions: Option<&Arc<Extensions>>,
    ) -> Result<Option<AnyRequest>, Outbound> {
        let is_message = matches!(head, Ok(Head::Request { .. } | Head::Notification { .. }));
        if self.shared.rules.null_params && is_message {
            body = body.map(|params| params.filter(|params| params.text() != "null"));
        }
        match head {
            Ok(Head::Request { id, method }) => match body {
                Ok(params) => return self.request(id, method, params, in_batch, extensions),
                Err(error) => return Err(rejection(id, errors::invalid_params(&error.at_key("params")))),
            },
            Ok(Head::Notification { method }) => match body {
                Ok(params) => return self.notification(method, params, in_batch, extensions).map_or(Ok(None), Err),
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
        in_batch: bool,
        extensions: Option<&Arc<Extensions>>,
    ) -> Result<Option<AnyRequest>, Outbound> {
        let mut open_requests = self.shared.open_requests();
        let received = Received {
            id: Some(&id),
            method: &method,
            params: params.as_ref(),
            in_batch,
            open: open_requests.get(&id),
            extensions: extensions_of(extensions),
        };
        match self.shared.admit(&received, method.clone(), extensions) {
            Err(error) => Err(rejection(id, error)),
            Ok(Admission::Respond(result)) => Err(response(id, Ok(result))),
            Ok(Admission::NewSession { result, ends }) => {
                let ended: Vec<(RequestId, Context)> = open_requests.extract_if(|_, context| ends(context)).collect();
                drop(open_requests);
                // A new client has replaced the one that sent these requests, and would not expect their responses.
                for (id, context) in &ended {
                    if self.cancel_request(id, context).is_some() {
                        self.shared.peer.send_now(no_response(id));
                    }
                }
                self.shared.peer.begin_session();
                Err(response(id, Ok(result)))
            }
            Ok(Admission::Handle(_, context)) => {
                open_requests.insert(id, context.clone());
                Ok(Some(AnyRequest { method, params, context }))
            }
            Ok(Admission::Drop(why)) => {
                tracing::warn!(method = &*method, why, "dropping a request");
                self.shared.peer.send_now(no_response(&id));
                Ok(None)
            }
        }
    }

    fn notification(
        &mut self,
        method: Cow<'static, str>,
        params: Option<Json>,
        in_batch: bool,
        extensions: Option<&Arc<Extensions>>,
    ) -> Option<Outbound> {
        let peer = &self.shared.peer;
        let received = Received {
            id: None,
            method: &method,
            params: params.as_ref(),
            in_batch,
            open: None,
            extensions: extensions_of(extensions),
        };
        let mut parts = Some(Parts {
            id: None,
            method: method.clone(),
            connection: peer.connection(),
            extensions: extensions.cloned(),
            memory: None,
        });
        let is_handled = |version| self.notifications.handles_notification(version, &method);
        let (effect, context) = peer.erased_protocol().classify(&received, &mut parts, &is_handled)?;
        let has_effect = match effect {
            Effect::None => false,
            Effect::Cancel(id) => {
                let open = self.shared.open_requests().get(&id).cloned();
                if let Some(cancelled) = open {
                    return self.cancel_request(&id, &cancelled);
                }
                false
            }
            Effect::Progress(id, report) => peer.report_progress(&id, report),
            Effect::Deliver(id) => peer.deliver(&id, &method, params.as_ref()),
            Effect::End(id) => peer.end_subscription(&id),
        };
        if let Some(context) = context.filter(|_| !has_effect) {
            self.notification_queue.push(AnyNotification { method, params, context });
        }
        None
    }

    /// Cancels a request that has no response yet. If it was still queued, returns the protocol's response to a
    /// cancelled request, if any; a running request sends its own.
    fn cancel_request(&mut self, id: &RequestId, context: &Context) -> Option<Outbound> {
        if !self.executor.remove_queued(context) {
            context.cancel();
            return None;
        }
        self.shared.open_requests().remove(id);
        let Some(error) = self.shared.rules.cancelled.clone() else {
            self.shared.peer.send_now(no_response(id));
            return None;
        };
        Some(rejection(id.clone(), error))
    }

    /// Sends a response now if the outbox has room, and otherwise queues it like a request. Waiting here would stop
    /// reading, and two peers that wait for each other to read would deadlock.
    async fn send(&mut self, response: Outbound) {
        if let Err(response) = self.shared.peer.try_send(response) {
            let memory = Memory { held: response.bytes.len(), decoded: 0 };
            self.executor.admit(Task::Response(response), memory).await;
        }
    }

    /// Starts the next queued request within the limits, or waits until a running one ends. Cancel safe.
    pub(super) async fn advance(&mut self) {
        self.executor.advance().await;
    }

    pub(super) async fn drain(&mut self, limit: Duration) {
        self.executor.drain(limit).await;
    }

    /// Cancels all unfinished requests and sends an error response to as many as the outbox has room for.
    pub(super) async fn abandon(&mut self) {
        self.executor.abandon().await;
    }
}

/// Splits a message into its head and its undecoded params or result. Shares the method name with the router.
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
