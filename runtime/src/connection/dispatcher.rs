//! Where messages are received: what becomes of each, within limits, and one answer for every request.

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

/// Something that has arrived, and what it came with.
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
    /// A permit is a byte of a notification that waits.
    notification_room: Arc<Semaphore>,
    /// Requests and answers that wait for room, with their sizes in bytes; single requests are found by id.
    waiting: Queue<RequestId, Task>,
    running: JoinSet<()>,
    /// Requests that are answered only when something else ends.
    lasting: JoinSet<()>,
    /// Where the last one was that was done at once, for the next one.
    at_once: Option<ReusableBoxFuture<'static, ()>>,
    /// How many of the next ones are not tried at once.
    apart: usize,
    interner: ParamsInterner,
}

/// What a message is, without the JSON inside that is not decoded yet.
enum Head {
    Request { id: RequestId, method: Cow<'static, str> },
    Notification { method: Cow<'static, str> },
    Response { id: RequestId },
    Error { id: ErrorId, error: ErrorObject },
}

/// The JSON inside: params, or a result.
type Body = Result<Option<RawJson>, mcpgen_types::Error>;

/// What all requests of a connection have in common.
struct Common {
    protocol: Arc<dyn Protocol>,
    limits: Limits,
    peer: Peer,
    /// Those that are not answered yet.
    open: Mutex<HashMap<RequestId, Context>>,
}

impl Common {
    fn open(&self) -> MutexGuard<'_, HashMap<RequestId, Context>> {
        self.open.lock()
    }
}

/// A handler that computes for longer than this before it awaits anything holds up all others of the connection.
const QUICK: Duration = Duration::from_millis(1);
/// How many requests get tasks of their own at once after such a handler.
const APART: usize = 64;

/// Requests that are answered only when something else ends. They are counted by themselves, and no handler's time limit is
/// theirs.
const LASTING: [&str; 2] = ["subscriptions/listen", "tasks/result"];

/// A notification that waits for its handler, and its room.
pub(crate) struct Notified {
    pub(crate) message: AnyNotification,
    pub(crate) room: OwnedSemaphorePermit,
}

/// What is to be done.
struct Work {
    task: Task,
    /// How many bytes it came in.
    size: usize,
}

enum Task {
    One(AnyRequest),
    /// With what is answered already.
    Batch(Vec<AnyRequest>, Vec<Message>),
    /// An answer that is known, though there was no room to send it.
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

    /// Does what a frame asks for, or sees to it that it is done.
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

    /// Does what can be done at once. What is to be handled is given back, what can be answered is an error.
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
            Skipped::Notification => tracing::warn!(limit, "a notification exceeds the line limit and is dropped"),
            Skipped::Response(id) => {
                let why =
                    Undelivered::new(false, format!("the response is longer than {limit} bytes; raise the line limit"));
                self.common.peer.answered(&id, Err(CallError::Undelivered(why)));
            }
            Skipped::Unknown => self.send(refusal(ErrorId::Null, invalid("the message"))).await,
        }
    }

    /// What is said of something that is no message. An answer that is none ends the call that it was meant for.
    fn invalid(&mut self, invalid: Invalid) -> Option<Message> {
        match invalid.answers {
            Some(id) => {
                self.common.peer.answered(&id, Err(CallError::Invalid(invalid.error.into())));
                None
            }
            None => Some(refusal(invalid.id, invalid.error)),
        }
    }

    /// Does what can be done at once. A request that is to be handled is given back, what can be answered is an error.
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
                    tracing::warn!(method = &*method, %error, "a notification that is not valid");
                }
            },
            Ok(Head::Response { id }) => {
                if let Some(result) = body.transpose() {
                    self.common.peer.answered(&id, result.map_err(|error| CallError::Invalid(error.into())));
                }
            }
            Ok(Head::Error { id: ErrorId::Id(id), error }) => {
                self.common.peer.answered(&id, Err(CallError::Refused(error)));
            }
            Ok(Head::Error { error, .. }) => tracing::warn!(%error, "the other side could not read a message"),
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
                return Err(refused(id, errors::invalid_request("a request of this id is not answered yet")));
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
                tracing::warn!(method = &*method, why, "a request is dropped");
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
        if !is_heard && !self.common.peer.awaits_notices() {
            return;
        }
        let params_view = ParamsView::at(&method, params.as_ref(), &mut self.interner);
        let context = Context::new(None, method.clone(), RequestScope::of(revision), &self.common.peer, params_view)
            .with_extensions(extensions);
        let message = AnyNotification { method, params, context };
        if self.common.peer.noticed(&message.method, message.params.as_ref(), message.context.meta()) || !is_heard {
            return;
        }
        let most = self.common.limits.notification_bytes.clamp(1, u32::MAX as usize);
        let size = message.params.as_ref().map_or(0, |params| params.text().len()).clamp(1, most);
        let room = u32::try_from(size).ok();
        let room = room.and_then(|size| Arc::clone(&self.notification_room).try_acquire_many_owned(size).ok());
        let Some(room) = room else {
            return tracing::warn!(method = &*message.method, size, "a notification is dropped: too many bytes wait");
        };
        if let Err(error) = self.notify.try_send(Notified { message, room }) {
            let (TrySendError::Full(Notified { message, .. }) | TrySendError::Closed(Notified { message, .. })) =
                &error;
            tracing::warn!(method = &*message.method, "a notification is dropped: too many wait");
        }
    }

    /// A request is taken back, if it is not answered yet.
    fn cancelled(&mut self, params: &JsonObject) {
        let id = params.get("requestId").and_then(|id| mcpgen_types::from_value::<RequestId>(id.clone()).ok());
        let Some(id) = id else { return };
        self.common.peer.withdrawn(&id);
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
        self.common.peer.progressed(&id, Progress { progress, total: number("total"), message });
    }

    /// Begins what there is room for; the rest waits, or is refused.
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
        // There may be no room for anything any more: now the other side has to wait.
        if let Some(reply) = self.refused(work.task) {
            let _ = self.common.peer.send(reply).await;
        }
    }

    /// What is answered instead of doing the work.
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

    /// What a request is answered with that is not handled.
    fn forget(&self, request: &AnyRequest, why: ErrorObject) -> Option<Message> {
        let id = request.context.id().cloned()?;
        self.common.open().remove(&id);
        Some(refused(id, why))
    }

    fn has_room(&self) -> bool {
        self.running.len() < self.common.limits.in_flight.max(1)
    }

    /// Begins one of those that wait, or waits until something that runs has ended. Nothing is lost if it is dropped.
    pub(crate) async fn finished(&mut self) {
        if self.has_room() && !self.waiting.is_empty() {
            // Each of them may be done at once.
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
            tracing::error!(%error, "an answer is lost");
        }
    }

    /// What can be done at once is done here, and needs no task of its own.
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
        // Notifications that came before are on their way to their handlers, and may mean something to this one.
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
            Err(_) => tracing::error!("an answer is lost: its task panicked"),
        }
    }

    /// What does the work, and sends the answer.
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
                // Whoever is gone needs no answer.
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

    /// Sends an answer at once if there is room. If not, it waits like a request does, so that messages are still read:
    /// two sides that both waited for the other to read would wait for ever.
    async fn send(&mut self, reply: Message) {
        if let Err(reply) = self.common.peer.try_send(reply) {
            let size = reply.bytes.len();
            self.admit(Work { task: Task::Reply(reply), size }).await;
        }
    }

    /// Finishes what was asked, for so long.
    pub(crate) async fn drain(&mut self, patience: Duration) {
        let finished = tokio::time::timeout(patience, async {
            while !(self.waiting.is_empty() && self.running.is_empty() && self.lasting.is_empty()) {
                self.finished().await;
            }
        });
        if finished.await.is_err() {
            tracing::warn!(requests = self.common.open().len(), "given up when the connection ended");
        }
    }

    /// What is not finished is taken back; whoever asked is told so, if there is room for it.
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

/// What requests are handled with.
#[derive(Clone)]
struct Handler<S> {
    service: S,
    common: Arc<Common>,
}

impl<S: RequestService> Handler<S> {
    /// What becomes of a request: an answer, unless it was taken back.
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
                // Most handlers answer at once, and nothing is waited for beside them.
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

/// Sends what there is to say; that there is nothing is for transports to know.
async fn answer(peer: &Peer, reply: Option<Message>, id: Option<&RequestId>) {
    match (reply, id) {
        // Whoever is gone needs no answer.
        (Some(reply), _) => drop(peer.send(reply).await),
        (None, Some(id)) => peer.send_now(unanswered(id)),
        (None, None) => {}
    }
}

/// However a request ends, it is over.
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

/// What a message is, and the JSON inside. A method that there are handlers for is no copy.
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

/// The members of some params, if they are an object.
fn members(params: Option<&RawJson>) -> JsonObject {
    params.and_then(|params| params.decode().ok()).unwrap_or_default()
}

/// Several answers in one message.
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

/// The answer to a request that nobody is asked to handle.
fn refused(id: RequestId, error: ErrorObject) -> Message {
    let place = Place::Answer(id.clone(), Outcome::Refused(error.code.0));
    Message { place, bytes: mcpgen_types::to_vec(&ErrorMessage::new(id, error)) }
}

/// What is said of something that is no message, or of none that could be told from another.
fn refusal(id: ErrorId, error: ErrorObject) -> Message {
    match id {
        ErrorId::Id(id) => refused(id, error),
        id => Message { place: Place::Anywhere, bytes: mcpgen_types::to_vec(&ErrorMessage::new(id, error)) },
    }
}

/// That a request will have no answer.
fn unanswered(id: &RequestId) -> Message {
    Message { place: Place::Unanswered(id.clone()), bytes: Vec::new() }
}
