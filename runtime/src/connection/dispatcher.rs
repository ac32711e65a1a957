//! Dispatches incoming messages within the connection's limits. Sends exactly one response per request.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, MutexGuard};
use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, Instant};

use futures_util::{FutureExt, StreamExt, stream};
use mcpgen_types::codec::Cursor;
use mcpgen_types::{
    ErrorId, ErrorMessage, ErrorObject, JsonObject, Number, ProgressToken, RawJson, RequestId, ResponseMessage, Value,
};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::ReusableBoxFuture;
use tower::ServiceExt;
use tracing::Instrument;

use super::limits::Limits;
use crate::connection::queue::Queue;
use crate::jsonrpc::envelope::{Envelope, Frame, Invalid, batch, not_text, scan};
use crate::jsonrpc::errors;
use crate::peer::outbox::{Message, Outcome, Place};
use crate::peer::{CallError, Peer, Progress};
use crate::protocol::params::{ParamsInterner, ParamsView};
use crate::protocol::{Admission, IncomingRequest, Protocol, RequestScope};
use crate::service::context::{Carrier, Context};
use crate::service::router::{AnyNotification, AnyRequest, RequestService, Router};
use crate::transport::{Skipped, Undelivered};
use crate::util::lock::Mutex;

/// An incoming message or batch, and the data that the transport attached to it.
#[derive(Clone, Debug)]
pub(crate) struct Inbound {
    pub(crate) bytes: Vec<u8>,
    pub(crate) extensions: Option<Carrier>,
}

impl From<Vec<u8>> for Inbound {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, extensions: None }
    }
}

pub(crate) struct Dispatcher<S> {
    service: S,
    notifications: Router,
    common: Arc<Common>,
    notify: mpsc::Sender<Notified>,
    /// The room for queued notifications. One permit is one byte.
    notification_room: Arc<Semaphore>,
    /// Queued requests and responses with their sizes in bytes. Requests outside of batches are keyed by ID.
    waiting: Queue<RequestId, Task>,
    running: JoinSet<()>,
    /// Running requests whose method is in [`LASTING`].
    lasting: JoinSet<()>,
    /// The allocation of the last task that completed at its first poll, for reuse by the next task.
    at_once: Option<ReusableBoxFuture<'static, ()>>,
    /// How many of the next tasks to spawn without polling them here first.
    apart: usize,
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
type Body = Result<Option<RawJson>, mcpgen_types::Error>;

/// State that all requests of a connection share.
struct Common {
    protocol: Arc<dyn Protocol>,
    limits: Limits,
    peer: Peer,
    /// The incoming requests that have no response yet.
    open: Mutex<HashMap<RequestId, Context>>,
}

impl Common {
    fn open(&self) -> MutexGuard<'_, HashMap<RequestId, Context>> {
        self.open.lock()
    }
}

/// How long the first poll of a task may take. A slower one delays the connection's other messages, so the next tasks
/// are spawned.
const QUICK: Duration = Duration::from_millis(1);
/// How many tasks to spawn without a first poll after one that was slower than [`QUICK`].
const APART: usize = 64;

/// Methods whose response comes only when something else ends, such as a subscription or a task. They are limited by
/// [`Limits::lasting`] instead of [`Limits::in_flight`], and [`Limits::handler`] does not apply to them.
const LASTING: [&str; 2] = ["subscriptions/listen", "tasks/result"];

/// A notification that is queued for its handler, and the permits for its bytes.
pub(crate) struct Notified {
    pub(crate) message: AnyNotification,
    pub(crate) room: OwnedSemaphorePermit,
}

/// A task and its size.
struct Work {
    task: Task,
    /// The size of the incoming message in bytes, or of the response for [`Task::Reply`].
    size: usize,
}

enum Task {
    One(AnyRequest),
    /// The requests of a batch, and the responses to its messages that need no handler.
    Batch(Vec<AnyRequest>, Vec<Message>),
    /// A finished response for which the outbox had no room.
    Reply(Message),
}

impl<S: RequestService> Dispatcher<S> {
    pub(crate) fn new(
        service: S,
        notifications: Router,
        protocol: Arc<dyn Protocol>,
        limits: Limits,
        peer: Peer,
        notify: mpsc::Sender<Notified>,
    ) -> Self {
        let notification_bytes = limits.notification_bytes.clamp(1, u32::MAX as usize);
        Self {
            notification_room: Arc::new(Semaphore::new(notification_bytes)),
            service,
            notifications,
            common: Arc::new(Common { protocol, limits, peer, open: Mutex::default() }),
            notify,
            waiting: Queue::new(),
            running: JoinSet::new(),
            lasting: JoinSet::new(),
            at_once: None,
            apart: 0,
            interner: ParamsInterner::default(),
        }
    }

    /// Dispatches an incoming message or batch.
    pub(crate) async fn take(&mut self, Inbound { bytes, extensions }: Inbound) {
        let (size, is_batch) = (bytes.len(), Frame::is_batch(&bytes));
        if is_batch && !self.common.protocol.batches() {
            return self.send(refusal(ErrorId::Null, errors::not_in_batches())).await;
        }
        let taken = match String::from_utf8(bytes) {
            Ok(text) if is_batch => self.take_batch(&text, extensions.as_ref()),
            Ok(text) => self.take_one(text, extensions.as_ref()),
            Err(error) => self.invalid(not_text(error.utf8_error())).map_or(Ok(None), Err),
        };
        match taken {
            Ok(None) => {}
            Ok(Some(task)) => self.admit(Work { task, size }).await,
            Err(reply) => self.send(reply).await,
        }
    }

    /// Processes a single message. Returns a request that needs a handler as a task, and an immediate response as an
    /// error.
    fn take_one(&mut self, text: String, extensions: Option<&Carrier>) -> Result<Option<Task>, Message> {
        let document = match scan(text) {
            Ok(document) => document,
            Err(invalid) => return self.invalid(invalid).map_or(Ok(None), Err),
        };
        let (head, place) = match Envelope::read(&document) {
            Ok(envelope) => {
                let (head, body) = parts(envelope, &self.notifications);
                (Ok(head), body.map(Cursor::place))
            }
            Err(invalid) => (Err(invalid), None),
        };
        let body = place.map(|place| RawJson::within(document, place)).transpose();
        Ok(self.receive(head, body, extensions)?.map(Task::One))
    }

    fn take_batch(&mut self, text: &str, extensions: Option<&Carrier>) -> Result<Option<Task>, Message> {
        let document = scan(text);
        let messages = match document.as_ref().map_err(Clone::clone).and_then(batch) {
            Ok(messages) => messages,
            Err(invalid) => return self.invalid(invalid).map_or(Ok(None), Err),
        };
        let depth = document.as_ref().map_or(Ok(()), |document| document.check_depth());
        let (mut requests, mut replies) = (Vec::new(), Vec::new());
        for message in messages {
            let (head, body) = match message {
                Ok(envelope) => {
                    let (head, body) = parts(envelope, &self.notifications);
                    (Ok(head), depth.clone().map(|()| body.map(Cursor::to_raw)))
                }
                Err(invalid) => (Err(invalid), Ok(None)),
            };
            match self.receive(head, body, extensions) {
                Ok(Some(request)) if !request.context.revision().is_legacy() => {
                    replies.extend(self.forget(&request, errors::not_in_batches()));
                }
                Ok(request) => requests.extend(request),
                Err(reply) => replies.push(reply),
            }
        }
        match (requests.is_empty(), replies.is_empty()) {
            (true, true) => Ok(None),
            (true, false) => Err(together(&replies)),
            (false, _) => Ok(Some(Task::Batch(requests, replies))),
        }
    }

    /// Handles a message that was skipped because it exceeds the limit of the transport.
    pub(crate) async fn too_long(&mut self, limit: usize, message: Skipped) {
        let invalid = |what: &str| errors::invalid_request(&format!("{what} is longer than {limit} bytes"));
        match message {
            Skipped::Request(id) => self.send(refused(id, invalid("the request"))).await,
            Skipped::Notification => tracing::warn!(limit, "dropping a notification that exceeds the line limit"),
            Skipped::Response(id) => {
                let why =
                    Undelivered::new(false, format!("the response is longer than {limit} bytes; raise the line limit"));
                self.common.peer.complete(&id, Err(CallError::Undelivered(why)));
            }
            Skipped::Unknown => self.send(refusal(ErrorId::Null, invalid("the message"))).await,
        }
    }

    /// Processes an invalid message. If it is a response, its call fails. Otherwise this returns an error response.
    fn invalid(&mut self, invalid: Invalid) -> Option<Message> {
        match invalid.answers {
            Some(id) => {
                self.common.peer.complete(&id, Err(CallError::Invalid(invalid.error.into())));
                None
            }
            None => Some(refusal(invalid.id, invalid.error)),
        }
    }

    /// Processes a message. Returns a request that needs a handler, and an immediate response as an error.
    fn receive(
        &mut self,
        head: Result<Head, Invalid>,
        body: Body,
        extensions: Option<&Carrier>,
    ) -> Result<Option<AnyRequest>, Message> {
        match head {
            Ok(Head::Request { id, method }) => match body {
                Ok(params) => return self.requested(id, method, params, extensions),
                Err(error) => return Err(refused(id, errors::invalid_params(&error.at_key("params")))),
            },
            Ok(Head::Notification { method }) => match body {
                Ok(params) => self.notified(method, params, extensions),
                Err(error) => {
                    let error = error.at_key("params");
                    tracing::warn!(method = &*method, %error, "ignoring an invalid notification");
                }
            },
            Ok(Head::Response { id }) => {
                if let Some(result) = body.transpose() {
                    self.common.peer.complete(&id, result.map_err(|error| CallError::Invalid(error.into())));
                }
            }
            Ok(Head::Error { id: ErrorId::Id(id), error }) => {
                self.common.peer.complete(&id, Err(CallError::Refused(error)));
            }
            Ok(Head::Error { error, .. }) => tracing::warn!(%error, "the peer could not read a message"),
            Err(invalid) => return self.invalid(invalid).map_or(Ok(None), Err),
        }
        Ok(None)
    }

    fn requested(
        &mut self,
        id: RequestId,
        method: Cow<'static, str>,
        params: Option<RawJson>,
        extensions: Option<&Carrier>,
    ) -> Result<Option<AnyRequest>, Message> {
        let mut open = self.common.open();
        let open = match open.entry(id.clone()) {
            Entry::Occupied(_) => {
                return Err(refused(id, errors::invalid_request("a request with this ID is still pending")));
            }
            Entry::Vacant(open) => open,
        };
        let params_view = ParamsView::at(&method, params.as_ref(), &mut self.interner);
        match self.common.protocol.request(&IncomingRequest {
            method: &method,
            params: params.as_ref(),
            meta: &params_view.meta,
        }) {
            Err(error) => Err(refused(id, error)),
            Ok(Admission::Answer(result)) => Err(reply(id, Ok(result))),
            Ok(Admission::Handle(scope)) => {
                let context = Context::new(Some(id), method.clone(), scope, &self.common.peer, params_view)
                    .with_extensions(extensions);
                open.insert(context.clone());
                Ok(Some(AnyRequest { method, params, context }))
            }
            Ok(Admission::Drop(why)) => {
                tracing::warn!(method = &*method, why, "dropping a request");
                self.common.peer.send_now(unanswered(&id));
                Ok(None)
            }
        }
    }

    fn notified(&mut self, method: Cow<'static, str>, params: Option<RawJson>, extensions: Option<&Carrier>) {
        match &*method {
            "notifications/cancelled" => self.cancelled(&members(params.as_ref())),
            "notifications/progress" => self.progressed(&members(params.as_ref())),
            method if method.ends_with("/list_changed") => self.common.peer.list_changed(method),
            _ => {}
        }
        let Some(revision) = self.common.protocol.notification(&method, params.as_ref()) else { return };
        let is_heard = self.notifications.handles_notification(revision, &method);
        if !is_heard && !self.common.peer.has_subscriptions() {
            return;
        }
        let params_view = ParamsView::at(&method, params.as_ref(), &mut self.interner);
        let context = Context::new(None, method.clone(), RequestScope::of(revision), &self.common.peer, params_view)
            .with_extensions(extensions);
        let message = AnyNotification { method, params, context };
        if self.common.peer.notify_subscription(&message.method, message.params.as_ref(), message.context.meta())
            || !is_heard
        {
            return;
        }
        let most = self.common.limits.notification_bytes.clamp(1, u32::MAX as usize);
        let size = message.params.as_ref().map_or(0, |params| params.text().len()).clamp(1, most);
        let room = u32::try_from(size).ok();
        let room = room.and_then(|size| Arc::clone(&self.notification_room).try_acquire_many_owned(size).ok());
        let Some(room) = room else {
            return tracing::warn!(
                method = &*message.method,
                size,
                "dropping a notification: the queue would exceed `Limits::notification_bytes`"
            );
        };
        if let Err(error) = self.notify.try_send(Notified { message, room }) {
            let (TrySendError::Full(Notified { message, .. }) | TrySendError::Closed(Notified { message, .. })) =
                &error;
            tracing::warn!(method = &*message.method, "dropping a notification: its queue is full");
        }
    }

    /// Cancels a request that has no response yet.
    fn cancelled(&mut self, params: &JsonObject) {
        let id = params.get("requestId").and_then(|id| mcpgen_types::from_value::<RequestId>(id.clone()).ok());
        let Some(id) = id else { return };
        self.common.peer.end_subscription(&id);
        if self.waiting.remove(&id).is_some() {
            self.common.open().remove(&id);
            self.common.peer.send_now(unanswered(&id));
        } else if let Some(context) = self.common.open().get(&id) {
            context.end();
        }
    }

    fn progressed(&self, params: &JsonObject) {
        let number = |name: &str| -> Option<f64> {
            mcpgen_types::from_value::<Number>(params.get(name)?.clone()).ok().map(|it| it.as_f64())
        };
        let token = params.get("progressToken").and_then(|id| mcpgen_types::from_value(id.clone()).ok());
        let (Some(token), Some(progress)) = (token, number("progress")) else { return };
        let id = match token {
            ProgressToken::Integer(id) => RequestId::Integer(id),
            ProgressToken::String(id) => RequestId::String(id),
        };
        let message = params.get("message").and_then(Value::as_str).map(str::to_owned);
        self.common.peer.report_progress(&id, Progress { progress, total: number("total"), message });
    }

    /// Starts the work if the limits allow it. Otherwise queues it, or rejects it if the queue is full.
    async fn admit(&mut self, work: Work) {
        let lasts = matches!(&work.task, Task::One(request) if LASTING.contains(&&*request.method));
        if lasts && self.lasting.len() < self.common.limits.lasting {
            self.lasting.spawn(self.done(work.task));
            return;
        }
        if !lasts && self.waiting.is_empty() && self.has_room() {
            return self.begin(work.task).await;
        }
        let room = self.common.limits.waiting_bytes.saturating_sub(self.waiting.size());
        if !lasts && self.waiting.len() < self.common.limits.waiting && work.size <= room {
            let id = match &work.task {
                Task::One(request) => request.context.id().cloned(),
                Task::Batch(..) | Task::Reply(_) => None,
            };
            return self.waiting.push(id, work.size, work.task);
        }
        // If the outbox is full too, stop reading until the peer reads.
        if let Some(reply) = self.refused(work.task) {
            let _ = self.common.peer.send(reply).await;
        }
    }

    /// Rejects a task and returns the response to send instead.
    fn refused(&self, task: Task) -> Option<Message> {
        let busy = |request: &AnyRequest| self.forget(request, errors::busy());
        match task {
            Task::One(request) => busy(&request),
            Task::Reply(reply) => Some(reply),
            Task::Batch(requests, mut replies) => {
                replies.extend(requests.iter().filter_map(busy));
                Some(together(&replies))
            }
        }
    }

    /// Removes a request without handling it and returns its error response.
    fn forget(&self, request: &AnyRequest, why: ErrorObject) -> Option<Message> {
        let id = request.context.id().cloned()?;
        self.common.open().remove(&id);
        Some(refused(id, why))
    }

    fn has_room(&self) -> bool {
        self.running.len() < self.common.limits.in_flight.max(1)
    }

    /// Starts a queued task if the limits allow it, or waits until a running one ends. Cancel safe.
    pub(crate) async fn finished(&mut self) {
        if self.has_room() && !self.waiting.is_empty() {
            // Tasks may complete at their first poll, so this must yield to other tasks.
            tokio::task::coop::consume_budget().await;
            if let Some(task) = self.waiting.pop() {
                self.begin(task).await;
            }
            return;
        }
        let ended = tokio::select! {
            Some(ended) = self.running.join_next() => ended,
            Some(ended) = self.lasting.join_next() => ended,
            else => std::future::pending().await,
        };
        if let Err(error) = ended {
            tracing::error!(%error, "a response was lost: its task failed");
        }
    }

    /// Starts a task. Spawns it only if it does not complete at its first poll.
    async fn begin(&mut self, task: Task) {
        let mut task = Some(task);
        poll_fn(|cx| {
            if let Some(task) = task.take() {
                self.attempt(task, cx);
            }
            Poll::Ready(())
        })
        .await;
    }

    fn attempt(&mut self, task: Task, cx: &mut TaskContext<'_>) {
        // Earlier notifications are still queued. Their handlers should get a chance to run before this request.
        let notified = self.notify.capacity() < self.notify.max_capacity();
        if self.apart > 0 || notified {
            self.apart = self.apart.saturating_sub(1);
            self.running.spawn(self.done(task));
            return;
        }
        let work = self.done(task);
        let mut here = match self.at_once.take() {
            Some(mut here) => {
                here.set(work);
                here
            }
            None => ReusableBoxFuture::new(work),
        };
        let began = Instant::now();
        let attempted = catch_unwind(AssertUnwindSafe(|| here.poll(cx)));
        if began.elapsed() > QUICK {
            self.apart = APART;
        }
        match attempted {
            Ok(Poll::Ready(())) => self.at_once = Some(here),
            Ok(Poll::Pending) => drop(self.running.spawn(here)),
            Err(_) => tracing::error!("a response was lost: its task panicked"),
        }
    }

    /// Returns a future that executes the task and sends the response.
    fn done(&self, task: Task) -> impl Future<Output = ()> + Send + use<S> {
        let handler = Handler { service: self.service.clone(), common: Arc::clone(&self.common) };
        async move {
            let common = Arc::clone(&handler.common);
            match task {
                Task::One(request) => {
                    let context = request.context.clone();
                    let reply = handler.handle(request).await;
                    answer(&common.peer, reply, context.id()).await;
                    context.is_sent();
                }
                // A disconnected peer needs no response.
                Task::Reply(reply) => drop(common.peer.send(reply).await),
                Task::Batch(requests, mut replies) => {
                    let contexts: Vec<Context> = requests.iter().map(|request| request.context.clone()).collect();
                    let most = common.limits.in_flight.max(1);
                    let answers = requests.into_iter().map(|request| handler.clone().handle(request).boxed());
                    let answers = stream::iter(answers.collect::<Vec<_>>()).buffer_unordered(most);
                    replies.extend(answers.filter_map(std::future::ready).collect::<Vec<_>>().await);
                    let reply = (!replies.is_empty()).then(|| together(&replies));
                    answer(&common.peer, reply, contexts.first().and_then(Context::id)).await;
                    contexts.iter().for_each(Context::is_sent);
                }
            }
        }
    }

    /// Sends a response now if the outbox has room. Otherwise queues it like a request, so that the connection keeps
    /// reading. If both peers stopped reading until the other one reads, they would deadlock.
    async fn send(&mut self, reply: Message) {
        if let Err(reply) = self.common.peer.try_send(reply) {
            let size = reply.bytes.len();
            self.admit(Work { task: Task::Reply(reply), size }).await;
        }
    }

    /// Finishes running and queued requests, for at most `patience`.
    pub(crate) async fn drain(&mut self, patience: Duration) {
        let finished = tokio::time::timeout(patience, async {
            while !(self.waiting.is_empty() && self.running.is_empty() && self.lasting.is_empty()) {
                self.finished().await;
            }
        });
        if finished.await.is_err() {
            tracing::warn!(requests = self.common.open().len(), "abandoning unfinished requests");
        }
    }

    /// Cancels all unfinished requests. Sends an error response for each, as far as the outbox has room.
    pub(crate) async fn abandon(&mut self) {
        let left: Vec<RequestId> = self.common.open().keys().cloned().collect();
        self.waiting.clear();
        self.running.shutdown().await;
        self.lasting.shutdown().await;
        for id in left {
            let _ = self.common.peer.try_send(reply(id, Err(errors::ended())));
        }
    }
}

/// Handles requests with the service, under the connection's limits.
#[derive(Clone)]
struct Handler<S> {
    service: S,
    common: Arc<Common>,
}

impl<S: RequestService> Handler<S> {
    /// Handles a request. Returns its response, or `None` if the request was cancelled.
    fn handle(self, request: AnyRequest) -> impl Future<Output = Option<Message>> + Send {
        let Self { service, common } = self;
        let over = RequestGuard { common, context: request.context.clone() };
        let Limits { handler, handlers, .. } = &over.common.limits;
        let general = handler.filter(|_| !LASTING.contains(&&*request.method));
        let limit = handlers.get(&*request.method).copied().or(general);
        let span = tracing::info_span!("request", method = &*request.method, id = ?request.context.id());
        let work = async move {
            let RequestGuard { common, context } = &over;
            let handled = async move {
                let mut handling = pin!(service.oneshot(request));
                let wanted = poll_fn(|cx| match context.is_over() {
                    true => Poll::Ready(None),
                    false => handling.as_mut().poll(cx).map(Some),
                });
                // Poll the handler first: most complete at once, and then the other branches cost nothing.
                tokio::select! {
                    biased;
                    answer = wanted => answer.map(|answer| answer.map_err(|error| errors::of(error.into()))),
                    () = context.over() => None,
                    limit = crate::util::time::expired(limit) => Some(Err(errors::timed_out(limit))),
                }
                // The handler is dropped here: it may hold what `finish` waits for, and it may panic.
            };
            let handled = AssertUnwindSafe(handled).catch_unwind().await;
            context.finish().await;
            let answer = handled.unwrap_or_else(|_| {
                tracing::error!("a handler panicked");
                (!context.is_over()).then(|| Err(errors::internal()))
            })?;
            let answer = common.protocol.answer(&context.info(), answer);
            Some(reply(context.id()?.clone(), answer))
        };
        work.instrument(span)
    }
}

/// Sends the response. If there is none, tells the transport that the request will get no response.
async fn answer(peer: &Peer, reply: Option<Message>, id: Option<&RequestId>) {
    match (reply, id) {
        // A disconnected peer needs no response.
        (Some(reply), _) => drop(peer.send(reply).await),
        (None, Some(id)) => peer.send_now(unanswered(id)),
        (None, None) => {}
    }
}

/// Marks the request as over and removes it from the open requests when dropped.
struct RequestGuard {
    common: Arc<Common>,
    context: Context,
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        if let Some(id) = self.context.id() {
            self.common.open().remove(id);
        }
        self.context.end();
    }
}

/// Splits a message into its head and its params or result. Shares the method's name with the router where it can.
fn parts<'m>(envelope: Envelope<'m>, spelling: &Router) -> (Head, Option<Cursor<'m>>) {
    match envelope {
        Envelope::Request { id, method, params } => {
            (Head::Request { id, method: spelling.intern_method(&method) }, params)
        }
        Envelope::Notification { method, params } => {
            (Head::Notification { method: spelling.intern_method(&method) }, params)
        }
        Envelope::Response { id, result } => (Head::Response { id }, Some(result)),
        Envelope::Error { id, error } => (Head::Error { id, error }, None),
    }
}

/// Decodes params that are an object. Returns an empty object for all others.
fn members(params: Option<&RawJson>) -> JsonObject {
    params.and_then(|params| params.decode().ok()).unwrap_or_default()
}

/// Joins responses into one batch.
fn together(replies: &[Message]) -> Message {
    let first = replies.iter().find_map(|reply| match &reply.place {
        Place::Answer(id, _) => Some(Place::Answer(id.clone(), Outcome::Result)),
        _ => None,
    });
    let texts: Vec<&[u8]> = replies.iter().map(|reply| reply.bytes.as_slice()).collect();
    Message { place: first.unwrap_or(Place::Anywhere), bytes: [b"[", texts.join(&b',').as_slice(), b"]"].concat() }
}

fn reply(id: RequestId, answer: Result<RawJson, ErrorObject>) -> Message {
    let outcome = answer.as_ref().map_or_else(|error| Outcome::Failed(error.code.0), |_| Outcome::Result);
    let place = Place::Answer(id.clone(), outcome);
    let bytes = match answer {
        Ok(result) => ResponseMessage::new(id, result).into_vec(),
        Err(error) => mcpgen_types::to_vec(&ErrorMessage::new(id, error)),
    };
    Message { place, bytes }
}

/// Creates the error response to a request that is rejected before it reaches a handler.
fn refused(id: RequestId, error: ErrorObject) -> Message {
    let place = Place::Answer(id.clone(), Outcome::Refused(error.code.0));
    Message { place, bytes: mcpgen_types::to_vec(&ErrorMessage::new(id, error)) }
}

/// Creates the error response to an invalid message, whose ID may be unknown.
fn refusal(id: ErrorId, error: ErrorObject) -> Message {
    match id {
        ErrorId::Id(id) => refused(id, error),
        id => Message { place: Place::Anywhere, bytes: mcpgen_types::to_vec(&ErrorMessage::new(id, error)) },
    }
}

/// Creates the message that tells the transport that a request will get no response.
fn unanswered(id: &RequestId) -> Message {
    Message { place: Place::Unanswered(id.clone()), bytes: Vec::new() }
}
