//! The other side: calling it, telling it things, and what is known of it.

pub(crate) mod outbox;

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use mcpgen_types::codec::{Decode, Encode, Literal, Members, Node, Object};
use mcpgen_types::{ErrorObject, JsonObject, Notification, Params, RawJson, Request, RequestId, Revision};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tower::BoxError;

use crate::jsonrpc::json;
use crate::peer::outbox::{Closed, Message, Outbox, Place};
use crate::protocol::info::PeerInfo;
use crate::protocol::modern::SUBSCRIPTION_ID;
use crate::protocol::{Protocol, RequestScope};
use crate::transport::Undelivered;
use crate::util::lock::Mutex;

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The peer responded with an error.
    #[error(transparent)]
    Refused(ErrorObject),
    /// The params or the result are not valid.
    #[error(transparent)]
    Invalid(BoxError),
    /// Neither a response nor progress arrived within this time.
    #[error("no response within {0:?}")]
    Timeout(Duration),
    /// The connection's revision, or the capabilities that both sides have declared, do not allow the message.
    #[error("{0}")]
    NotAllowed(String),
    /// The server asks for input that this client does not provide.
    #[error("cannot provide what the server asks for by {method}")]
    Input {
        /// The method of the server's input request.
        method: String,
        /// Why the client does not provide it.
        #[source]
        error: ErrorObject,
    },
    /// The transport could not deliver the request or its response.
    #[error(transparent)]
    Undelivered(Undelivered),
    /// The server ended a subscription without a result.
    #[error("the server has ended the subscription")]
    Withdrawn,
    /// The connection closed before the response arrived.
    #[error(transparent)]
    Closed(#[from] Closed),
}

/// The other side of a connection. Clones are the same peer.
#[derive(Clone)]
pub struct Peer {
    shared: Arc<Shared>,
    /// Those of the request that this is for.
    scope: Option<RequestScope>,
    /// The request that this is for, while its answer is awaited.
    request: Option<RequestId>,
    task_scope: Option<Arc<dyn TaskScope>>,
}

/// What is done for the other side while it does not wait for an answer.
pub(crate) trait TaskScope: Send + Sync {
    /// A member of `_meta` that says so.
    fn meta(&self) -> (&'static str, String);
    /// Whether it has ended, and nothing more may be said of it.
    fn is_over(&self) -> bool;
    /// The other side is asked for something more, or something less, than before.
    fn asks(&self, more: bool);
    /// Lets it be seen whether something is asked for.
    fn settle(self: Arc<Self>) -> BoxFuture<'static, ()>;
}

struct Shared {
    outbox: Outbox,
    protocol: Arc<dyn Protocol>,
    next_id: AtomicI64,
    /// `None` once the connection is closed.
    pending: Mutex<Option<HashMap<RequestId, Pending>>>,
    idle: Option<Duration>,
    cap: Option<Duration>,
    /// How many calls want notifications of their own.
    streams: AtomicUsize,
    /// Nothing more is heard of the other side.
    deaf: CancellationToken,
    /// Hears of lists that have changed, before anybody else.
    on_list_changed: OnceLock<OnListChanged>,
}

/// Takes the method of a notification of a list that has changed.
type OnListChanged = Box<dyn Fn(&str) + Send + Sync>;

/// A call that waits for its answer.
struct Pending {
    method: String,
    answer: oneshot::Sender<Result<RawJson, CallError>>,
    progress: Option<mpsc::Sender<Progress>>,
    notices: Option<Notices>,
}

/// Takes the notifications that belong to a call: the method and the params.
pub(crate) type Notices = Box<dyn Fn(&str, Option<&RawJson>) + Send + Sync>;

/// Reports that wait to be told; more are dropped, for the next one says as much.
const REPORTS: usize = 64;

/// How far the other side has come with a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Increases from one report to the next.
    pub progress: f64,
    /// What `progress` will be in the end, if that is known.
    pub total: Option<f64>,
    /// For people.
    pub message: Option<String>,
}

impl Peer {
    pub(crate) fn new(
        outbox: Outbox,
        protocol: Arc<dyn Protocol>,
        idle: Option<Duration>,
        cap: Option<Duration>,
    ) -> Self {
        let shared = Shared {
            outbox,
            protocol,
            next_id: AtomicI64::new(1),
            pending: Mutex::new(Some(HashMap::new())),
            idle,
            cap,
            streams: AtomicUsize::new(0),
            deaf: CancellationToken::new(),
            on_list_changed: OnceLock::new(),
        };
        Self { shared: Arc::new(shared), scope: None, request: None, task_scope: None }
    }

    /// The same peer, on behalf of a request, or of a notification, which has no id.
    pub(crate) fn on_behalf(&self, scope: RequestScope, request: Option<RequestId>) -> Self {
        Self { shared: Arc::clone(&self.shared), scope: Some(scope), request, task_scope: None }
    }

    /// The same peer, whatever is going on.
    pub(crate) fn of_connection(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), scope: None, request: None, task_scope: None }
    }

    /// A key of the connection. No other connection has it as long as this peer exists.
    pub(crate) fn connection_key(&self) -> usize {
        Arc::as_ptr(&self.shared) as usize
    }

    /// The same peer, for something that lasts longer than the request.
    #[cfg(feature = "tasks")]
    pub(crate) fn on_task(&self, task_scope: Arc<dyn TaskScope>) -> Self {
        Self { task_scope: Some(task_scope), ..self.clone() }
    }

    /// What the other side has said of itself; `None` before it has.
    pub fn peer_info(&self) -> Option<Arc<PeerInfo>> {
        self.shared.protocol.peer_info()
    }

    /// Whether the other side may ask for this in an answer.
    pub(crate) fn may_be_asked(&self, method: &str, params: Option<&JsonObject>) -> Result<(), CallError> {
        let asked = self.shared.protocol.may_be_asked(method, params);
        asked.map_err(|error| CallError::Input { method: method.to_owned(), error })
    }

    pub(crate) fn protocol(&self) -> &dyn Protocol {
        &*self.shared.protocol
    }

    /// A request under an id of its own. Nothing is sent before the call is awaited or [sent](Call::send).
    pub fn call<R: Request>(&self, params: R::Params) -> Call<R::Result> {
        self.call_with::<R>(member(&params))
    }

    /// As [`call`](Self::call), with params that are JSON already.
    pub(crate) fn call_with<R: Request>(&self, params: Option<RawJson>) -> Call<R::Result> {
        self.call_as(R::METHOD, R::REVISION, params)
    }

    /// As [`call`](Self::call), of any method.
    pub(crate) fn call_as<T: Decode>(
        &self,
        method: &'static str,
        revision: Revision,
        params: Option<RawJson>,
    ) -> Call<T> {
        let decode = move |result: RawJson| {
            result.decode().map_err(|error| error.with_type_name(format!("{method} result")).into())
        };
        self.raw_call(method, Some(revision), params, Box::new(decode))
    }

    /// As [`call`](Self::call), of a method that no revision has. Params and result are types of serde's.
    ///
    /// # Errors
    ///
    /// The params cannot be JSON.
    pub fn custom_call<P: Serialize, T: DeserializeOwned + 'static>(
        &self,
        method: &str,
        params: &P,
    ) -> Result<Call<T>, serde_json::Error> {
        let decode = |result: RawJson| json::decode(Some(&result)).map_err(Into::into);
        Ok(self.raw_call(method, None, json::params(params)?, Box::new(decode)))
    }

    /// As [`call`](Self::call), of any method: params and result are JSON as it is.
    pub fn raw_request(&self, method: &str, params: Option<RawJson>) -> Call<RawJson> {
        self.raw_call(method, None, params, Box::new(Ok))
    }

    fn raw_call<T>(
        &self,
        method: &str,
        revision: Option<Revision>,
        params: Option<RawJson>,
        decode: Box<Decoder<T>>,
    ) -> Call<T> {
        let id = RequestId::Integer(self.shared.next_id.fetch_add(1, Ordering::Relaxed));
        let Shared { idle, cap, .. } = *self.shared;
        Call {
            peer: self.clone(),
            id,
            method: method.to_owned(),
            revision,
            params,
            decode,
            idle,
            cap,
            on_progress: None,
            notices: None,
        }
    }

    /// Tells the other side something. Done once there is room for the message.
    ///
    /// # Errors
    ///
    /// [`NotAllowed`](CallError::NotAllowed), [`Closed`](CallError::Closed)
    pub async fn notify<N: Notification>(&self, params: N::Params) -> Result<(), CallError> {
        self.tell(N::METHOD, Some(N::REVISION), member(&params)).await
    }

    /// As [`notify`](Self::notify), of a method that no revision has. Params are a type of serde's.
    ///
    /// # Errors
    ///
    /// [`NotAllowed`](CallError::NotAllowed), [`Closed`](CallError::Closed); [`Invalid`](CallError::Invalid) if the params
    /// are no object and no array.
    pub async fn custom_notify<P: Serialize>(&self, method: &str, params: &P) -> Result<(), CallError> {
        let params = json::params(params).map_err(|error| CallError::Invalid(error.into()))?;
        self.tell(method, None, params).await
    }

    /// As [`notify`](Self::notify), of any method: params are JSON as it is.
    ///
    /// # Errors
    ///
    /// [`NotAllowed`](CallError::NotAllowed), [`Closed`](CallError::Closed)
    pub async fn raw_notify(&self, method: &str, params: Option<RawJson>) -> Result<(), CallError> {
        self.tell(method, None, params).await
    }

    async fn tell(&self, method: &str, revision: Option<Revision>, params: Option<RawJson>) -> Result<(), CallError> {
        let scope = self.scope.as_ref();
        self.shared.protocol.may_send(scope, method, revision, params.as_ref()).map_err(CallError::NotAllowed)?;
        let params = self.with_task_scope(params)?;
        self.put(method, params).await
    }

    fn with_task_scope(&self, params: Option<RawJson>) -> Result<Option<RawJson>, CallError> {
        let Some(task_scope) = &self.task_scope else { return Ok(params) };
        if task_scope.is_over() {
            return Err(CallError::NotAllowed("what this is sent for has ended".to_owned()));
        }
        json::with_meta(params, &[task_scope.meta()], true).map_err(|why| CallError::Invalid(why.into()))
    }

    /// As [`raw_notify`](Self::raw_notify), by someone who knows that it may be sent.
    pub(crate) async fn put(&self, method: &str, params: Option<RawJson>) -> Result<(), CallError> {
        Ok(self.send(self.message(notification(method, params))).await?)
    }

    pub(crate) async fn send(&self, message: Message) -> Result<(), Closed> {
        self.shared.outbox.send(message).await
    }

    pub(crate) fn try_send(&self, message: Message) -> Result<(), Message> {
        self.shared.outbox.try_send(message)
    }

    /// The transport has a stream for each request.
    #[cfg(feature = "http-server")]
    pub(crate) fn set_has_streams(&self) {
        self.shared.outbox.set_has_streams();
    }

    /// Says something short at once. Whoever is gone needs no news.
    pub(crate) fn send_now(&self, message: Message) {
        let _ = self.shared.outbox.send_now(message);
    }

    /// What is sent on behalf of a request belongs to it.
    fn message(&self, bytes: Vec<u8>) -> Message {
        Message { place: self.request.clone().map_or(Place::Anywhere, Place::Within), bytes }
    }

    /// An answer arrived. One that nobody waits for any more is no news.
    pub(crate) fn answered(&self, id: &RequestId, answer: Result<RawJson, CallError>) {
        let pending = self.pending().as_mut().and_then(|pending| pending.remove(id));
        if let Some(pending) = pending {
            let read = |result| {
                self.shared.protocol.answered(&pending.method, result).map_err(|why| CallError::Invalid(why.into()))
            };
            // The caller may have gone in this moment.
            let _ = pending.answer.send(answer.and_then(read));
        }
    }

    /// The other side ends what it was asked for. There is one request of which it may say so.
    pub(crate) fn withdrawn(&self, id: &RequestId) {
        let listens =
            self.pending().as_ref().and_then(|pending| pending.get(id)).is_some_and(|it| it.notices.is_some());
        if listens {
            self.answered(id, Err(CallError::Withdrawn));
        }
    }

    /// Hears of lists that have changed, by the method of the notification. The first one stays.
    pub(crate) fn on_list_changed(&self, hear: impl Fn(&str) + Send + Sync + 'static) {
        let _ = self.shared.on_list_changed.set(Box::new(hear));
    }

    pub(crate) fn list_changed(&self, method: &str) {
        if let Some(hear) = self.shared.on_list_changed.get() {
            hear(method);
        }
    }

    /// Whether any call wants notifications of its own.
    pub(crate) fn awaits_notices(&self) -> bool {
        self.shared.streams.load(Ordering::Relaxed) > 0
    }

    /// Takes a notification to the call that it belongs to; `false` if it belongs to none.
    pub(crate) fn noticed(&self, method: &str, params: Option<&RawJson>, meta: &JsonObject) -> bool {
        let id = meta.get(SUBSCRIPTION_ID).cloned();
        let Some(id) = id.and_then(|id| mcpgen_types::from_value::<RequestId>(id).ok()) else { return false };
        let pending = self.pending();
        let notices = pending.as_ref().and_then(|pending| pending.get(&id)).and_then(|it| it.notices.as_ref());
        notices.is_some_and(|take| {
            take(method, params);
            true
        })
    }

    pub(crate) fn progressed(&self, token: &RequestId, progress: Progress) {
        if let Some(pending) = self.pending().as_ref().and_then(|pending| pending.get(token))
            && let Some(reports) = &pending.progress
        {
            let _ = reports.try_send(progress);
        }
    }

    /// Nothing is answered any more, though what is said is still sent.
    pub(crate) fn unanswered(&self) {
        self.shared.deaf.cancel();
        self.pending().take();
    }

    /// Ends when nothing more is heard of the other side.
    pub(crate) async fn unheard(&self) {
        self.shared.deaf.cancelled().await;
    }

    /// Ends when the connection is to end.
    pub(crate) async fn disconnected(&self) {
        self.shared.outbox.closed().await;
    }

    /// Whether the connection has ended, or is about to.
    pub fn is_closed(&self) -> bool {
        self.shared.outbox.is_closed()
    }

    /// Ends the connection: what was sent is still written, calls that wait end with an error.
    pub fn disconnect(&self) {
        self.shared.outbox.close();
        self.pending().take();
    }

    fn pending(&self) -> MutexGuard<'_, Option<HashMap<RequestId, Pending>>> {
        self.shared.pending.lock()
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").field("calls", &self.pending().as_ref().map(HashMap::len)).finish_non_exhaustive()
    }
}

type Decoder<T> = dyn FnOnce(RawJson) -> Result<T, BoxError> + Send;
type OnProgress = Box<dyn FnMut(Progress) + Send>;

/// A call that is not sent yet. Awaiting it sends it.
#[must_use = "nothing is sent before the call is awaited"]
pub struct Call<T> {
    peer: Peer,
    id: RequestId,
    method: String,
    revision: Option<Revision>,
    params: Option<RawJson>,
    decode: Box<Decoder<T>>,
    idle: Option<Duration>,
    cap: Option<Duration>,
    on_progress: Option<OnProgress>,
    notices: Option<Notices>,
}

impl<T: 'static> Call<T> {
    /// What the answer will be known by.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Gives up after so long without an answer or a report of progress; `None`: never.
    pub fn idle_timeout(mut self, idle: impl Into<Option<Duration>>) -> Self {
        self.idle = idle.into();
        self
    }

    /// Gives up after so long, whatever is reported; `None`: never.
    pub fn timeout(mut self, cap: impl Into<Option<Duration>>) -> Self {
        self.cap = cap.into();
        self
    }

    /// Asks for reports of progress.
    pub fn on_progress(mut self, report: impl FnMut(Progress) + Send + 'static) -> Self {
        self.on_progress = Some(Box::new(report));
        self
    }

    /// How long it waits for something to happen.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.idle.or(self.cap)
    }

    /// Takes the notifications that have its id.
    pub(crate) fn on_notice(mut self, take: Notices) -> Self {
        self.notices = Some(take);
        self
    }

    /// The call in flight. It is sent when it is first polled.
    pub fn send(self) -> InFlight<T> {
        let id = self.id.clone();
        InFlight { id, answer: Box::pin(self.run()) }
    }

    async fn run(mut self) -> Result<T, CallError> {
        let protocol = Arc::clone(&self.peer.shared.protocol);
        let (scope, params) = (self.peer.scope.as_ref(), self.params.as_ref());
        protocol.may_send(scope, &self.method, self.revision, params).map_err(CallError::NotAllowed)?;
        self.params = protocol.params(&self.method, self.params).map_err(|why| CallError::Invalid(why.into()))?;
        self.params = self.peer.with_task_scope(self.params)?;
        let asking = Asking::for_task_scope(self.peer.task_scope.clone());
        asking.is_seen().await;
        let (answer, mut answered) = oneshot::channel();
        let (progress, mut reports) = match self.on_progress {
            None => (None, None),
            Some(_) => {
                let (progress, reports) = mpsc::channel(REPORTS);
                self.ask_for_progress()?;
                (Some(progress), Some(reports))
            }
        };
        let mut guard = Guard { peer: self.peer.clone(), id: self.id.clone(), cancel: false, stream: false };
        guard.count(self.notices.is_some());
        match self.peer.pending().as_mut() {
            Some(pending) => {
                let notices = self.notices.take();
                pending.insert(self.id.clone(), Pending { method: self.method.clone(), answer, progress, notices });
            }
            None => return Err(Closed.into()),
        }
        let request = Outgoing { id: Some(&self.id), method: &self.method, params: self.params.as_ref() };
        let bytes = mcpgen_types::to_vec(&request);
        let started = Instant::now();
        let end = self.cap.and_then(|cap| started.checked_add(cap));
        let mut quiet = self.idle.and_then(|idle| started.checked_add(idle));
        let mut sending = Box::pin(self.peer.shared.outbox.send(self.peer.message(bytes)));
        let mut sent = false;
        loop {
            tokio::select! {
                biased;
                answer = &mut answered => {
                    guard.cancel = false;
                    // What was reported before the answer is told before it.
                    while let Some(report) = reports.as_mut().and_then(|reports| reports.try_recv().ok()) {
                        if let Some(on_progress) = &mut self.on_progress {
                            on_progress(report);
                        }
                    }
                    let result = answer.map_err(|_| Closed)??;
                    return (self.decode)(result).map_err(CallError::Invalid);
                }
                done = &mut sending, if !sent => {
                    done?;
                    sent = true;
                    guard.cancel = self.peer.shared.protocol.may_cancel(&self.method, self.params.as_ref());
                }
                // Before the reports, which may be without end.
                () = at(end) => return Err(CallError::Timeout(self.cap.unwrap_or_default())),
                Some(report) = next(&mut reports) => {
                    quiet = self.idle.and_then(|idle| Instant::now().checked_add(idle));
                    if let Some(on_progress) = &mut self.on_progress {
                        on_progress(report);
                    }
                }
                () = at(quiet) => return Err(CallError::Timeout(self.idle.unwrap_or_default())),
            }
        }
    }

    /// The id is the token: it is as unique as a token must be.
    fn ask_for_progress(&mut self) -> Result<(), CallError> {
        let token = mcpgen_types::to_string(&self.id);
        let params = json::with_meta(self.params.take(), &[("progressToken", token)], true);
        self.params = params.map_err(|why| CallError::Invalid(why.into()))?;
        Ok(())
    }
}

async fn next<T>(from: &mut Option<mpsc::Receiver<T>>) -> Option<T> {
    match from {
        Some(from) => from.recv().await,
        None => None,
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

impl<T: Send + 'static> IntoFuture for Call<T> {
    type Output = Result<T, CallError>;
    type IntoFuture = InFlight<T>;

    fn into_future(self) -> InFlight<T> {
        self.send()
    }
}

/// A call in flight. Dropping it before the answer is there tells the other side that nobody waits any more.
#[must_use = "a call that is dropped is cancelled"]
pub struct InFlight<T> {
    id: RequestId,
    answer: Pin<Box<dyn Future<Output = Result<T, CallError>> + Send>>,
}

impl<T> InFlight<T> {
    /// What the answer is known by.
    pub fn id(&self) -> &RequestId {
        &self.id
    }
}

impl<T> Future for InFlight<T> {
    type Output = Result<T, CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Self::Output> {
        self.answer.as_mut().poll(context)
    }
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("id", &self.id).field("method", &self.method).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for InFlight<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight").field("id", &self.id).finish_non_exhaustive()
    }
}

/// While an errand waits for an answer.
struct Asking(Option<Arc<dyn TaskScope>>);

impl Asking {
    fn for_task_scope(task_scope: Option<Arc<dyn TaskScope>>) -> Self {
        task_scope.iter().for_each(|task_scope| task_scope.asks(true));
        Self(task_scope)
    }

    async fn is_seen(&self) {
        if let Some(task_scope) = &self.0 {
            Arc::clone(task_scope).settle().await;
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let Some(task_scope) = self.0.take() else { return };
        task_scope.asks(false);
        // Outside of a runtime nothing runs any more that it could matter to.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(task_scope.settle());
        }
    }
}

/// Takes a call back when its future goes.
struct Guard {
    peer: Peer,
    id: RequestId,
    /// Whether the other side works on it.
    cancel: bool,
    /// Whether it wants notifications of its own.
    stream: bool,
}

impl Guard {
    fn count(&mut self, stream: bool) {
        self.stream = stream;
        self.peer.shared.streams.fetch_add(usize::from(stream), Ordering::Relaxed);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.peer.shared.streams.fetch_sub(usize::from(self.stream), Ordering::Relaxed);
        let waiting = self.peer.pending().as_mut().is_some_and(|pending| pending.remove(&self.id).is_some());
        if self.cancel && waiting {
            let id = mcpgen_types::to_value(&self.id).unwrap_or_default();
            let mut params = json!({ "requestId": id });
            if let Some((name, value)) = self.peer.task_scope.as_ref().map(|task_scope| task_scope.meta()) {
                params["_meta"] =
                    json!({ name: serde_json::from_str::<serde_json::Value>(&value).unwrap_or_default() });
            }
            let params = RawJson::from(&params);
            self.peer.send_now(self.peer.message(notification("notifications/cancelled", Some(params))));
        }
    }
}

fn notification(method: &str, params: Option<RawJson>) -> Vec<u8> {
    mcpgen_types::to_vec(&Outgoing { id: None, method, params: params.as_ref() })
}

/// The member `params`, unless it is absent.
pub(crate) fn member(params: &impl Params) -> Option<RawJson> {
    params.to_member().is_some().then(|| RawJson::from(params))
}

/// A request or a notification of any method.
struct Outgoing<'a> {
    id: Option<&'a RequestId>,
    method: &'a str,
    params: Option<&'a RawJson>,
}

impl Encode for Outgoing<'_> {
    fn encode(&self) -> Node<'_> {
        Node::Object(self)
    }
}

impl Object for Outgoing<'_> {
    fn members(&self, out: &mut Members<'_>) {
        out.constant("jsonrpc", Literal::Str("2.0"));
        if let Some(id) = self.id {
            out.member("id", id);
        }
        out.member("method", self.method);
        if let Some(params) = self.params {
            out.member("params", params);
        }
    }
}
