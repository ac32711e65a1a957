//! One connection: what arrives is told apart, handled within limits, and answered once.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{FutureExt, SinkExt, StreamExt, future::join_all};
use mcpgen_types::{ErrorId, ErrorMessage, ErrorObject, JsonObject, Number, ProgressToken, RawJson, RequestId};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tower::{BoxError, Service, ServiceExt};
use tracing::Instrument;

use crate::context::Context;
use crate::envelope::{Envelope, Frame, Invalid};
use crate::era::{Admission, Era};
use crate::errors;
use crate::outbox::{Line, Outbox};
use crate::peer::{Peer, Progress};
use crate::router::{AnyNotification, AnyRequest, Router};
use crate::transport::{Incoming, Outgoing, ReceiveError};

/// How much a connection takes on at a time. Whatever is beyond waits, or is refused with a clear error.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Requests whose handlers run.
    pub in_flight: usize,
    /// Requests that wait for others to end; more are refused.
    pub waiting: usize,
    /// Notifications that wait for their handlers; more are dropped, with a warning.
    pub notifications: usize,
    /// Bytes that wait to be written. Whoever sends more waits.
    pub outbox: u32,
    /// How long a handler may take; `None`: as long as it likes.
    pub handler: Option<Duration>,
    /// The same by method, before `handler`.
    pub handlers: HashMap<String, Duration>,
    /// How long a call waits for an answer or a report of progress.
    pub idle: Option<Duration>,
    /// How long a call waits whatever is reported.
    pub call: Option<Duration>,
    /// How long handlers may go on when nothing more arrives.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            in_flight: 256,
            waiting: 16_384,
            notifications: 1024,
            outbox: 4 << 20,
            handler: None,
            handlers: HashMap::new(),
            idle: Some(Duration::from_secs(60)),
            call: Some(Duration::from_secs(30 * 60)),
            drain: Duration::from_secs(10),
        }
    }
}

/// A connection that is not running yet.
pub struct Connection<S> {
    service: S,
    notifications: Router,
    era: Arc<dyn Era>,
    limits: Limits,
    peer: Peer,
    written: mpsc::UnboundedReceiver<Option<Line>>,
}

impl<S> Connection<S>
where
    S: Service<AnyRequest, Response = RawJson, Error: Into<BoxError>, Future: Send> + Clone + Send + Sync + 'static,
{
    /// A connection whose requests go to `service` and whose notifications go to `notifications`.
    pub fn new(service: S, notifications: Router, era: Arc<dyn Era>, limits: Limits) -> Self {
        let (outbox, written) = Outbox::new(limits.outbox);
        let peer = Peer::new(outbox, Arc::clone(&era), limits.idle, limits.call);
        Self { service, notifications, era, limits, peer, written }
    }

    /// The other side.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Runs until nothing more arrives and what has arrived is answered, or until nothing can be written.
    ///
    /// # Errors
    ///
    /// Reading or writing failed. That nothing more arrives is no error.
    pub async fn run(self, incoming: impl Incoming, outgoing: impl Outgoing) -> io::Result<()> {
        let Self { service, notifications, era, limits, peer, written } = self;
        let mut writer = tokio::spawn(write(written, outgoing));
        let (notify, notified) = mpsc::channel(limits.notifications.max(1));
        let listener = tokio::spawn(listen(notifications, notified));
        let drain = limits.drain;
        let mut desk = Desk {
            service,
            era,
            limits,
            peer: peer.clone(),
            notify,
            open: Arc::default(),
            waiting: VecDeque::new(),
            running: JoinSet::new(),
        };
        let mut incoming = std::pin::pin!(incoming);
        let read = loop {
            tokio::select! {
                frame = incoming.next() => match frame {
                    Some(Ok(bytes)) => desk.take(&bytes).await,
                    Some(Err(ReceiveError::TooLong(most))) => desk.refuse(too_long(most)).await,
                    Some(Err(ReceiveError::Io(error))) => break Err(error),
                    None => break Ok(()),
                },
                Some(_) = desk.running.join_next() => desk.start(),
                // The other side is gone, though it may still be heard.
                _ = &mut writer => break Ok(()),
            }
        };
        // Nobody answers any more; what was asked is still answered, for a while.
        let finished = tokio::time::timeout(drain, async {
            while desk.running.join_next().await.is_some() {
                desk.start();
            }
        });
        if finished.await.is_err() {
            tracing::warn!(requests = desk.running.len() + desk.waiting.len(), "given up when the connection ended");
        }
        desk.abandon().await;
        drop(desk);
        listener.abort();
        peer.disconnect();
        let written = match writer.is_finished() {
            true => Ok(()),
            false => match tokio::time::timeout(drain, &mut writer).await {
                Ok(written) => written.unwrap_or_else(|error| Err(io::Error::other(error))),
                Err(_) => {
                    writer.abort();
                    Err(io::ErrorKind::TimedOut.into())
                }
            },
        };
        read.and(written)
    }
}

fn too_long(most: usize) -> Invalid {
    let error = errors::invalid_request(&format!("a message of more than {most} bytes"));
    Invalid { id: ErrorId::Null, error }
}

/// Requests that are not answered yet.
type Open = Arc<Mutex<HashMap<RequestId, Context>>>;

/// Where messages are received.
struct Desk<S> {
    service: S,
    era: Arc<dyn Era>,
    limits: Limits,
    peer: Peer,
    notify: mpsc::Sender<AnyNotification>,
    open: Open,
    waiting: VecDeque<Work>,
    running: JoinSet<()>,
}

/// What is to be done, and how it is answered.
enum Work {
    One(AnyRequest),
    /// An answer that is known, though there was no room to send it.
    Reply(Reply),
    /// With what is answered already.
    Batch(Vec<AnyRequest>, Vec<Reply>),
}

/// A result or an error, as text.
type Reply = Vec<u8>;

impl<S> Desk<S>
where
    S: Service<AnyRequest, Response = RawJson, Error: Into<BoxError>, Future: Send> + Clone + Send + Sync + 'static,
{
    async fn take(&mut self, bytes: &[u8]) {
        match Frame::read(bytes) {
            Ok(Frame::One(envelope)) => match self.receive(envelope) {
                Ok(None) => {}
                Ok(Some(request)) => self.admit(Work::One(request)).await,
                Err(reply) => self.send(reply).await,
            },
            Ok(Frame::Batch(messages)) if self.era.batches() => {
                let (mut requests, mut replies) = (Vec::new(), Vec::new());
                for message in messages {
                    match message.map_err(refusal).and_then(|envelope| self.receive(envelope)) {
                        Ok(request) => requests.extend(request),
                        Err(reply) => replies.push(reply),
                    }
                }
                if !requests.is_empty() || !replies.is_empty() {
                    self.admit(Work::Batch(requests, replies)).await;
                }
            }
            Ok(Frame::Batch(_)) => {
                let error = errors::invalid_request("several messages at once are a thing of revision 2025-03-26 only");
                self.refuse(Invalid { id: ErrorId::Null, error }).await;
            }
            Err(invalid) => self.refuse(invalid).await,
        }
    }

    /// Does what can be done at once. A request that is to be handled is given back, what can be answered is an error.
    fn receive(&mut self, envelope: Envelope<'_>) -> Result<Option<AnyRequest>, Reply> {
        match envelope {
            Envelope::Request { id, method, params } => {
                let answer = |id: &RequestId, error| Err(reply(id.clone(), Err(error)));
                let params = match owned(params) {
                    Ok(params) => params,
                    Err(error) => return answer(&id, errors::invalid_params(&error)),
                };
                if open(&self.open).contains_key(&id) {
                    return answer(&id, errors::invalid_request("a request of this id is not answered yet"));
                }
                match self.era.request(&method, params.as_ref()) {
                    Err(error) => answer(&id, error),
                    Ok(Admission::Answer(result)) => Err(reply(id, Ok(result))),
                    Ok(Admission::Handle(revision)) => {
                        let context = Context::new(Some(id.clone()), revision, self.peer.clone(), params.as_ref());
                        open(&self.open).insert(id, context.clone());
                        Ok(Some(AnyRequest { method: method.into_owned(), params, context }))
                    }
                }
            }
            Envelope::Notification { method, params } => {
                match owned(params) {
                    Ok(params) => self.notified(&method, params),
                    Err(error) => tracing::warn!(%method, %error, "a notification that is not valid"),
                }
                Ok(None)
            }
            Envelope::Response { id, result } => {
                let result = RawJson::try_from(result.to_owned())
                    .map_err(|error| errors::invalid_request(&format!("the result cannot be read: {error}")));
                self.peer.answered(&id, result);
                Ok(None)
            }
            Envelope::Error { id: ErrorId::Id(id), error } => {
                self.peer.answered(&id, Err(error));
                Ok(None)
            }
            Envelope::Error { error, .. } => {
                tracing::warn!(%error, "the other side could not read a message");
                Ok(None)
            }
        }
    }

    fn notified(&mut self, method: &str, params: Option<RawJson>) {
        let members = params.as_ref().and_then(|params| params.decode::<JsonObject>().ok()).unwrap_or_default();
        match method {
            "notifications/cancelled" => {
                let id = members.get("requestId").and_then(|id| mcpgen_types::from_value(id.clone()).ok());
                if let Some(context) = id.and_then(|id: RequestId| open(&self.open).get(&id).cloned()) {
                    context.cancelled().cancel();
                }
            }
            "notifications/progress" => {
                let number = |name: &str| -> Option<f64> {
                    mcpgen_types::from_value::<Number>(members.get(name)?.clone()).ok().map(|it| it.as_f64())
                };
                let token = members.get("progressToken").and_then(|id| mcpgen_types::from_value(id.clone()).ok());
                if let (Some(token), Some(progress)) = (token, number("progress")) {
                    let message = members.get("message").and_then(|it| it.as_str()).map(str::to_owned);
                    let id = match token {
                        ProgressToken::Integer(id) => RequestId::Integer(id),
                        ProgressToken::String(id) => RequestId::String(id),
                    };
                    self.peer.progressed(&id, Progress { progress, total: number("total"), message });
                }
            }
            _ => {}
        }
        let Some(revision) = self.era.notification(method, params.as_ref()) else { return };
        let context = Context::new(None, revision, self.peer.clone(), params.as_ref());
        let message = AnyNotification { method: method.to_owned(), params, context };
        if let Err(error) = self.notify.try_send(message) {
            tracing::warn!(method, %error, "a notification is dropped");
        }
    }

    async fn admit(&mut self, work: Work) {
        if self.running.len() < self.limits.in_flight.max(1) {
            self.begin(work);
        } else if self.waiting.len() < self.limits.waiting {
            self.waiting.push_back(work);
        } else {
            for reply in self.refused(work) {
                // There is no more room for anything: now the other side has to wait.
                let _ = self.peer.send(reply).await;
            }
        }
    }

    /// What is answered instead of doing the work.
    fn refused(&self, work: Work) -> Vec<Reply> {
        let busy = |request: &AnyRequest| {
            let id = request.context.id()?.clone();
            open(&self.open).remove(&id);
            Some(reply(id, Err(errors::busy())))
        };
        match work {
            Work::One(request) => busy(&request).into_iter().collect(),
            Work::Reply(reply) => vec![reply],
            Work::Batch(requests, replies) => {
                let refused = requests.iter().filter_map(busy);
                vec![batch(replies.into_iter().chain(refused).collect())]
            }
        }
    }

    /// Begins what waits, as far as there is room.
    fn start(&mut self) {
        while self.running.len() < self.limits.in_flight.max(1) {
            let Some(work) = self.waiting.pop_front() else { return };
            self.begin(work);
        }
    }

    fn begin(&mut self, work: Work) {
        let (peer, handle) = (self.peer.clone(), self.handler());
        self.running.spawn(async move {
            let bytes = match work {
                Work::One(request) => handle(request).await,
                Work::Reply(reply) => Some(reply),
                Work::Batch(requests, replies) => {
                    let answers = join_all(requests.into_iter().map(handle)).await;
                    let all: Vec<Reply> = replies.into_iter().chain(answers.into_iter().flatten()).collect();
                    (!all.is_empty()).then(|| batch(all))
                }
            };
            if let Some(bytes) = bytes {
                // Nobody is there to be told.
                let _ = peer.send(bytes).await;
            }
        });
    }

    /// What becomes of a request: an answer, unless it was taken back.
    fn handler(&self) -> impl Fn(AnyRequest) -> futures_util::future::BoxFuture<'static, Option<Reply>> + use<S> {
        let (service, open_requests) = (self.service.clone(), Arc::clone(&self.open));
        let (limit, limits) = (self.limits.handler, self.limits.handlers.clone());
        move |request: AnyRequest| {
            let (service, open_requests, context) = (service.clone(), open_requests.clone(), request.context.clone());
            let limit = limits.get(&request.method).copied().or(limit);
            let span = tracing::info_span!("request", method = %request.method, id = ?context.id());
            let work = async move {
                let handled = AssertUnwindSafe(async move {
                    service.oneshot(request).await.map_err(|error| errors::of(error.into()))
                })
                .catch_unwind();
                let answer = tokio::select! {
                    biased;
                    () = context.cancelled().cancelled() => None,
                    answer = handled => Some(answer.unwrap_or_else(|_| {
                        tracing::error!("a handler panicked");
                        Err(errors::internal())
                    })),
                    limit = expired(limit) => Some(Err(errors::timed_out(limit))),
                };
                context.finish();
                context.cancelled().cancel();
                let id = context.id()?.clone();
                open(&open_requests).remove(&id);
                Some(reply(id, answer?))
            };
            work.instrument(span).boxed()
        }
    }

    async fn refuse(&mut self, invalid: Invalid) {
        self.send(refusal(invalid)).await;
    }

    /// Sends an answer at once if there is room. If not, it waits like a request does, so that messages are still read:
    /// two sides that both waited for the other to read would wait for ever.
    async fn send(&mut self, reply: Reply) {
        if let Err(reply) = self.peer.try_send(reply) {
            self.admit(Work::Reply(reply)).await;
        }
    }

    /// What is not finished is taken back.
    async fn abandon(&mut self) {
        for context in open(&self.open).values() {
            context.cancelled().cancel();
        }
        self.waiting.clear();
        self.running.shutdown().await;
    }
}

/// Several answers in one message.
fn batch(replies: Vec<Reply>) -> Reply {
    [b"[", replies.join(&b',').as_slice(), b"]"].concat()
}

async fn expired(limit: Option<Duration>) -> Duration {
    match limit {
        Some(limit) => {
            tokio::time::sleep(limit).await;
            limit
        }
        None => std::future::pending().await,
    }
}

fn open(open: &Open) -> MutexGuard<'_, HashMap<RequestId, Context>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

fn owned(params: Option<&RawValue>) -> Result<Option<RawJson>, mcpgen_types::Error> {
    params.map(|params| RawJson::try_from(params.to_owned()).map_err(|error| error.at_key("params"))).transpose()
}

fn reply(id: RequestId, answer: Result<RawJson, ErrorObject>) -> Reply {
    match answer {
        Ok(result) => mcpgen_types::to_vec(&mcpgen_types::ResponseMessage::new(id, result)),
        Err(error) => mcpgen_types::to_vec(&ErrorMessage::new(id, error)),
    }
}

fn refusal(invalid: Invalid) -> Reply {
    mcpgen_types::to_vec(&ErrorMessage::new(invalid.id, invalid.error))
}

/// Writes in order, and flushes whenever nothing more is there to be written.
async fn write(mut lines: mpsc::UnboundedReceiver<Option<Line>>, outgoing: impl Outgoing) -> io::Result<()> {
    let mut outgoing = std::pin::pin!(outgoing);
    while let Some(Some(line)) = lines.recv().await {
        let Line { bytes, room } = line;
        outgoing.feed(bytes).await?;
        drop(room);
        if lines.is_empty() {
            outgoing.flush().await?;
        }
    }
    outgoing.close().await
}

/// Hands notifications to their handlers, one after the other: their order may mean something.
async fn listen(router: Router, mut notified: mpsc::Receiver<AnyNotification>) {
    while let Some(message) = notified.recv().await {
        let method = message.method.clone();
        let handled = AssertUnwindSafe(async { router.notify(message).await }).catch_unwind();
        if handled.await.is_err() {
            tracing::error!(method, "a handler of notifications panicked");
        }
    }
}
