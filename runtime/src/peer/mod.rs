//! The peer: sends requests and notifications to it, and provides what is known about it.

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
use crate::peer::outbox::{Closed, Outbox};
use crate::protocol::info::PeerInfo;
use crate::protocol::modern::SUBSCRIPTION_ID;
use crate::protocol::{Protocol, RequestScope};
use crate::transport::{Metadata, Outbound, Route, Undelivered};
use crate::util::lock::Mutex;

/// The reason why a request or a notification failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The peer responded with an error.
    #[error(transparent)]
    Refused(ErrorObject),
    /// The params or the result are not valid.
    #[error(transparent)]
    Invalid(BoxError),
    /// The idle timeout or the total timeout of the call has passed without a response.
    #[error("no response within {0:?}")]
    Timeout(Duration),
    /// The connection's revision, or the capabilities that both sides have declared, do not allow the message now.
    #[error("{0}")]
    NotAllowed(String),
    /// The server requests input that this client does not provide.
    #[error("cannot provide the input that the server requests with {method}")]
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
    #[error("the server ended the subscription")]
    Withdrawn,
    /// The connection closed before the response arrived.
    #[error(transparent)]
    Closed(#[from] Closed),
}

/// The peer of a connection. Clones refer to the same peer.
#[derive(Clone)]
pub struct Peer {
    shared: Arc<Shared>,
    /// The scope of the request or notification on whose behalf messages are sent.
    scope: Option<RequestScope>,
    /// The ID of the request on whose behalf messages are sent.
    request: Option<RequestId>,
    /// The task on whose behalf messages are sent.
    task_scope: Option<Arc<dyn TaskScope>>,
}

/// A running task, which sends messages to the peer after the response to its request.
pub(crate) trait TaskScope: Send + Sync {
    /// Returns the member of `_meta` that names the task: its name, and its value as JSON text.
    fn meta(&self) -> (&'static str, String);
    /// Returns whether the task has ended. No messages may be sent for it then.
    fn is_over(&self) -> bool;
    /// Counts the task's calls to the peer that are in flight: one more if `more`, otherwise one less.
    fn asks(&self, more: bool);
    /// Updates the task's status, which shows whether the task waits for such a call.
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
    /// The number of pending calls with a [`Notices`] callback.
    streams: AtomicUsize,
    /// Cancelled when no more messages will be received.
    deaf: CancellationToken,
    /// Called before any other receiver of a `list_changed` notification.
    on_list_changed: OnceLock<OnListChanged>,
}

/// A callback that takes the method of a `list_changed` notification.
type OnListChanged = Box<dyn Fn(&str) + Send + Sync>;

/// A pending request.
struct Pending {
    method: String,
    answer: oneshot::Sender<Result<RawJson, CallError>>,
    progress: Option<mpsc::Sender<Progress>>,
    notices: Option<Notices>,
}

/// A callback for the notifications of a call. It takes the method and the params.
pub(crate) type Notices = Box<dyn Fn(&str, Option<&RawJson>) + Send + Sync>;

/// The maximum number of queued progress reports for a call. More are dropped; a later report replaces them.
const REPORTS: usize = 64;

/// A report of the peer's progress with a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The progress so far. It increases from one report to the next.
    pub progress: f64,
    /// The value of `progress` at the end, if known.
    pub total: Option<f64>,
    /// A message for people.
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

    /// Returns the peer for messages on behalf of a request, or of a notification, which has no ID.
    pub(crate) fn on_behalf(&self, scope: RequestScope, request: Option<RequestId>) -> Self {
        Self { shared: Arc::clone(&self.shared), scope: Some(scope), request, task_scope: None }
    }

    /// Returns the peer for messages that do not belong to a request or a task.
    pub(crate) fn of_connection(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), scope: None, request: None, task_scope: None }
    }

    /// Returns a key that identifies the connection. It is unique as long as this peer exists.
    pub(crate) fn connection_key(&self) -> usize {
        Arc::as_ptr(&self.shared) as usize
    }

    /// Returns the peer for messages on behalf of a task, which may outlive its request.
    #[cfg(feature = "tasks")]
    pub(crate) fn on_task(&self, task_scope: Arc<dyn TaskScope>) -> Self {
        Self { task_scope: Some(task_scope), ..self.clone() }
    }

    /// Returns what the peer has declared about itself. Returns `None` if it is not known yet, or if the peer declares
    /// it with each request.
    pub fn peer_info(&self) -> Option<Arc<PeerInfo>> {
        self.shared.protocol.peer_info()
    }

    /// Checks whether the peer may request this input in its result.
    pub(crate) fn may_be_asked(&self, method: &str, params: Option<&JsonObject>) -> Result<(), CallError> {
        let asked = self.shared.protocol.may_be_asked(method, params);
        asked.map_err(|error| CallError::Input { method: method.to_owned(), error })
    }

    pub(crate) fn protocol(&self) -> &dyn Protocol {
        &*self.shared.protocol
    }

    /// Creates a request with a new ID. Nothing is sent before the call is awaited, or the future that
    /// [`send`](Call::send) returns is polled.
    pub fn call<R: Request>(&self, params: R::Params) -> Call<R::Result> {
        self.call_with::<R>(member(&params))
    }

    /// Like [`call`](Self::call), but takes encoded params.
    pub(crate) fn call_with<R: Request>(&self, params: Option<RawJson>) -> Call<R::Result> {
        self.call_as(R::METHOD, R::REVISION, params)
    }

    /// Like [`call`](Self::call), but takes a method, a revision and encoded params.
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

    /// Like [`call`](Self::call), but for a custom method. Params and result are serde types.
    ///
    /// # Errors
    ///
    /// Fails if the params cannot be encoded as a JSON object, array or null.
    pub fn custom_call<P: Serialize, T: DeserializeOwned + 'static>(
        &self,
        method: &str,
        params: &P,
    ) -> Result<Call<T>, serde_json::Error> {
        let decode = |result: RawJson| json::decode(Some(&result)).map_err(Into::into);
        Ok(self.raw_call(method, None, json::params(params)?, Box::new(decode)))
    }

    /// Like [`call`](Self::call), but for any method, with params and result as raw JSON.
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

    /// Sends a notification. Waits until the queue has room for it.
    ///
    /// # Errors
    ///
    /// Returns [`NotAllowed`](CallError::NotAllowed) if the notification is not allowed now, and
    /// [`Closed`](CallError::Closed) if the connection is closed.
    pub async fn notify<N: Notification>(&self, params: N::Params) -> Result<(), CallError> {
        self.tell(N::METHOD, Some(N::REVISION), member(&params)).await
    }

    /// Like [`notify`](Self::notify), but for a custom method. The params are a serde type.
    ///
    /// # Errors
    ///
    /// Fails like [`notify`](Self::notify), and with [`Invalid`](CallError::Invalid) if the params cannot be encoded as
    /// a JSON object, array or null.
    pub async fn custom_notify<P: Serialize>(&self, method: &str, params: &P) -> Result<(), CallError> {
        let params = json::params(params).map_err(|error| CallError::Invalid(error.into()))?;
        self.tell(method, None, params).await
    }

    /// Like [`notify`](Self::notify), but for any method, with params as raw JSON.
    ///
    /// # Errors
    ///
    /// Fails like [`notify`](Self::notify).
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
            return Err(CallError::NotAllowed("the task that sends this message has ended".to_owned()));
        }
        json::with_meta(params, &[task_scope.meta()], true).map_err(|why| CallError::Invalid(why.into()))
    }

    /// Like [`raw_notify`](Self::raw_notify), but does not check whether the notification is allowed.
    pub(crate) async fn put(&self, method: &str, params: Option<RawJson>) -> Result<(), CallError> {
        Ok(self.send(self.message(None, method, params.as_ref())).await?)
    }

    pub(crate) async fn send(&self, message: Outbound) -> Result<(), Closed> {
        self.shared.outbox.send(message).await
    }

    pub(crate) fn try_send(&self, message: Outbound) -> Result<(), Outbound> {
        self.shared.outbox.try_send(message)
    }

    /// Records what the transport needs besides the bytes of messages.
    pub(crate) fn set_transport_needs(&self, has_request_streams: bool, metadata: bool) {
        self.shared.outbox.set_needs(has_request_streams, metadata);
    }

    /// Queues a short message without waiting for room. Does nothing if the connection is closed.
    pub(crate) fn send_now(&self, message: Outbound) {
        let _ = self.shared.outbox.send_now(message);
    }

    /// Encodes a request, or a notification if `id` is `None`. It belongs to the request on whose behalf it is sent, if
    /// any.
    fn message(&self, id: Option<&RequestId>, method: &str, params: Option<&RawJson>) -> Outbound {
        let metadata = self.shared.outbox.needs_metadata().then(|| Metadata {
            id: id.cloned(),
            method: method.to_owned(),
            params: params.cloned(),
        });
        let route = self.request.clone().map_or(Route::Connection, Route::Request);
        Outbound::new(route, mcpgen_types::to_vec(&Outgoing { id, method, params })).with_metadata(metadata)
    }

    /// Completes a pending request with its response. Ignores a response without a pending request.
    pub(crate) fn answered(&self, id: &RequestId, answer: Result<RawJson, CallError>) {
        let pending = self.pending().as_mut().and_then(|pending| pending.remove(id));
        if let Some(pending) = pending {
            let read = |result| {
                self.shared.protocol.answered(&pending.method, result).map_err(|why| CallError::Invalid(why.into()))
            };
            // The caller may just have dropped the call.
            let _ = pending.answer.send(answer.and_then(read));
        }
    }

    /// Ends a subscription that the server has cancelled. Ignores other requests, which a server cannot cancel.
    pub(crate) fn withdrawn(&self, id: &RequestId) {
        let listens =
            self.pending().as_ref().and_then(|pending| pending.get(id)).is_some_and(|it| it.notices.is_some());
        if listens {
            self.answered(id, Err(CallError::Withdrawn));
        }
    }

    /// Sets the callback for `list_changed` notifications. Only the first call has an effect.
    pub(crate) fn on_list_changed(&self, hear: impl Fn(&str) + Send + Sync + 'static) {
        let _ = self.shared.on_list_changed.set(Box::new(hear));
    }

    pub(crate) fn list_changed(&self, method: &str) {
        if let Some(hear) = self.shared.on_list_changed.get() {
            hear(method);
        }
    }

    /// Returns whether any pending call has a callback for its notifications.
    pub(crate) fn awaits_notices(&self) -> bool {
        self.shared.streams.load(Ordering::Relaxed) > 0
    }

    /// Passes a notification to the call that it belongs to. Returns false if it belongs to no such call.
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

    /// Fails all pending requests, because no more messages will be received. Messages can still be sent.
    pub(crate) fn unanswered(&self) {
        self.shared.deaf.cancel();
        self.pending().take();
    }

    /// Waits until no more messages will be received.
    pub(crate) async fn unheard(&self) {
        self.shared.deaf.cancelled().await;
    }

    /// Waits until the connection is closed for sending.
    pub(crate) async fn disconnected(&self) {
        self.shared.outbox.closed().await;
    }

    /// Returns whether the connection is closed or closing.
    pub fn is_closed(&self) -> bool {
        self.shared.outbox.is_closed()
    }

    /// Closes the connection. Queued messages are still written. Pending calls fail with
    /// [`Closed`](CallError::Closed).
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

/// A request that is not sent yet. Awaiting it sends it.
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
    /// Returns the request's ID, which its response repeats.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Sets the time limit without a response or a progress report. `None` means no limit.
    pub fn idle_timeout(mut self, idle: impl Into<Option<Duration>>) -> Self {
        self.idle = idle.into();
        self
    }

    /// Sets the total time limit, which progress reports do not extend. `None` means no limit.
    pub fn timeout(mut self, cap: impl Into<Option<Duration>>) -> Self {
        self.cap = cap.into();
        self
    }

    /// Requests progress reports, and passes each of them to `report`.
    pub fn on_progress(mut self, report: impl FnMut(Progress) + Send + 'static) -> Self {
        self.on_progress = Some(Box::new(report));
        self
    }

    /// Returns the idle timeout or, without one, the total timeout.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.idle.or(self.cap)
    }

    /// Sets a callback for notifications with this request's ID as subscription ID.
    pub(crate) fn on_notice(mut self, take: Notices) -> Self {
        self.notices = Some(take);
        self
    }

    /// Returns the call as a future, which sends the request when it is first polled.
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
        let request = self.peer.message(Some(&self.id), &self.method, self.params.as_ref());
        let started = Instant::now();
        let end = self.cap.and_then(|cap| started.checked_add(cap));
        let mut quiet = self.idle.and_then(|idle| started.checked_add(idle));
        let mut sending = Box::pin(self.peer.shared.outbox.send(request));
        let mut sent = false;
        loop {
            tokio::select! {
                biased;
                answer = &mut answered => {
                    guard.cancel = false;
                    // Deliver the reports that arrived before the response.
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
                // Before the reports: an endless series of them must not delay the timeout.
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

    /// Adds a progress token. It is the request's ID, which is unique on the connection.
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

/// A call in flight. Dropping it before the response arrives cancels the request, and notifies the peer if the protocol
/// allows it.
#[must_use = "dropping a call cancels it"]
pub struct InFlight<T> {
    id: RequestId,
    answer: Pin<Box<dyn Future<Output = Result<T, CallError>> + Send>>,
}

impl<T> InFlight<T> {
    /// Returns the request's ID, which its response repeats.
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

/// Counts a call of a task as in flight, until it is dropped.
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
        // Without a runtime, no task is left whose status could matter.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(task_scope.settle());
        }
    }
}

/// Cancels a call when its future is dropped.
struct Guard {
    peer: Peer,
    id: RequestId,
    /// Whether to notify the peer: the request was sent and may be cancelled.
    cancel: bool,
    /// Whether the call has a callback for its notifications.
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
            self.peer.send_now(self.peer.message(None, "notifications/cancelled", Some(&params)));
        }
    }
}

/// Encodes the member `params`, or returns `None` if it is absent.
pub(crate) fn member(params: &impl Params) -> Option<RawJson> {
    params.to_member().is_some().then(|| RawJson::from(params))
}

/// An outgoing request, or a notification if `id` is `None`.
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
