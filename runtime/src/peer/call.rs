//! Requests to the peer and the calls that wait for their responses.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::OptionFuture;
use mcpgen_types::codec::Decode;
use mcpgen_types::{Json, Request, RequestId, Version};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tower::BoxError;

use super::handle::{Peer, Timeouts};
use super::pending::{OnNotification, PendingRequest, Report, ReportQueue, Response};
use crate::error::{CallError, Closed};
use crate::jsonrpc::json;
use crate::observer::{Observed, Outcome};
use crate::protocol::Sending;
use crate::transport::Outbound;

impl Peer {
    /// Sends a request at once and returns the call, a future for its result. Dropping the call cancels the request.
    ///
    /// Some work happens only while the call is awaited: waiting for room if the queue of outgoing messages is full,
    /// and whatever the protocol does [before the call](crate::protocol::Protocol::before_call), such as updating a
    /// task's status.
    ///
    /// To set timeouts or receive progress, use [`request`](Self::request).
    pub fn call<R: Request<Result: 'static>>(&self, params: R::Params) -> Call<R::Result> {
        self.request::<R>(params).send()
    }

    /// Creates a request, which [`send`](RequestBuilder::send) sends.
    pub fn request<R: Request>(&self, params: R::Params) -> RequestBuilder<R::Result> {
        self.request_as(R::METHOD, R::VERSION, json::member(&params))
    }

    /// Like [`request`](Self::request), but for a custom method. Params and result are serde types.
    ///
    /// # Errors
    ///
    /// Fails if the params cannot be encoded as a JSON object, array or null.
    pub fn custom_request<P: Serialize, T: DeserializeOwned + 'static>(
        &self,
        method: &str,
        params: &P,
    ) -> Result<RequestBuilder<T>, serde_json::Error> {
        let decode = |result: Json| json::decode(Some(&result)).map_err(Into::into);
        Ok(self.builder(method, None, json::params(params)?, Box::new(decode)))
    }

    /// Like [`request`](Self::request), but for any method, with params and result as raw JSON.
    pub fn raw_request(&self, method: &str, params: Option<Json>) -> RequestBuilder<Json> {
        self.builder(method, None, params, Box::new(Ok))
    }

    /// Receives progress reports for a request that already has its response, for as long as the returned value exists.
    pub fn progress_after_response(&self, id: RequestId, method: &str) -> Result<ProgressReports, CallError> {
        let (progress, reports) = ReportQueue::new();
        // Nobody waits for a second response.
        let (response, _) = oneshot::channel();
        let method = method.to_owned();
        let pending = PendingRequest {
            method,
            response,
            progress: Some(progress),
            on_notification: None,
            takes_unmatched_errors: false,
        };
        self.shared.pending.insert(id.clone(), pending)?;
        Ok(ProgressReports { reports, _guard: CancelOnDrop { peer: self.clone(), id, notify: false } })
    }

    /// Like [`request`](Self::request), but takes a method, a version and encoded params.
    pub fn request_as<T: Decode>(
        &self,
        method: &'static str,
        version: Version,
        params: Option<Json>,
    ) -> RequestBuilder<T> {
        let decode = move |result: Json| {
            result.decode().map_err(|error| error.with_type_name(format!("{method} result")).into())
        };
        self.builder(method, Some(version), params, Box::new(decode))
    }

    fn builder<T>(
        &self,
        method: &str,
        version: Option<Version>,
        params: Option<Json>,
        decode: Box<Decoder<T>>,
    ) -> RequestBuilder<T> {
        let Timeouts { idle, total, notifications } = self.shared.timeouts;
        RequestBuilder {
            id: RequestId::Integer(self.shared.next_id.fetch_add(1, Ordering::Relaxed)),
            peer: self.clone(),
            method: method.to_owned(),
            version,
            params,
            decode,
            idle_timeout: idle,
            timeout: total,
            notification_wait: notifications,
            on_progress: None,
            on_notification: None,
            takes_unmatched_errors: false,
        }
    }
}

type Decoder<T> = dyn FnOnce(Json) -> Result<T, BoxError> + Send;
/// Handles a progress report, and returns whether it is valid.
type OnProgress = Box<dyn FnMut(&Json) -> bool + Send>;

/// A request that is not sent yet. Call [`send`](Self::send) or `.await` it.
#[must_use = "a request is not sent before `send` is called or it is awaited"]
pub struct RequestBuilder<T> {
    peer: Peer,
    id: RequestId,
    method: String,
    version: Option<Version>,
    params: Option<Json>,
    decode: Box<Decoder<T>>,
    idle_timeout: Option<Duration>,
    timeout: Option<Duration>,
    notification_wait: Option<Duration>,
    on_progress: Option<OnProgress>,
    on_notification: Option<OnNotification>,
    takes_unmatched_errors: bool,
}

impl<T: 'static> RequestBuilder<T> {
    /// Returns the request's ID, which the response repeats.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Sets how long to wait for the response or the next progress report. `None` means no limit. With
    /// `Rules::pauses_timeouts`, the clock stops while this side handles a request, such as a question to the user.
    pub fn idle_timeout(mut self, idle_timeout: impl Into<Option<Duration>>) -> Self {
        self.idle_timeout = idle_timeout.into();
        self
    }

    /// Sets the total time limit, which progress reports do not extend. `None` means no limit.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeout = timeout.into();
        self
    }

    /// Sets how long the call, once it has its response, waits for the handlers of earlier notifications. Zero means
    /// not at all. Defaults to [`Limits::notification_wait`](crate::Limits::notification_wait).
    pub fn notification_wait(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.notification_wait = limit.into();
        self
    }

    /// Requests progress reports and passes them to `report`. Reports that do not decode are logged and ignored.
    pub fn on_progress<U: Decode>(mut self, mut report: impl FnMut(U) + Send + 'static) -> Self {
        self.on_progress = Some(Box::new(move |received| match received.decode() {
            Ok(received) => {
                report(received);
                true
            }
            Err(error) => {
                tracing::warn!(%error, "ignoring an invalid progress report");
                false
            }
        }));
        self
    }

    /// Returns the idle timeout, or the total timeout if there is no idle timeout.
    #[must_use]
    pub fn shortest_timeout(&self) -> Option<Duration> {
        self.idle_timeout.or(self.timeout)
    }

    /// Sets a callback for notifications whose subscription ID is this request's ID.
    pub fn on_notification(mut self, callback: OnNotification) -> Self {
        self.on_notification = Some(callback);
        self
    }

    /// Treats an error response without a matching request as the response to this one. Some servers do not repeat the
    /// ID of a request whose method they do not know.
    pub fn takes_unmatched_errors(mut self) -> Self {
        self.takes_unmatched_errors = true;
        self
    }

    /// Sends the request at once, like [`Peer::call`].
    pub fn send(self) -> Call<T> {
        let id = self.id.clone();
        let before = self.peer.context.as_ref().and_then(|context| self.peer.erased_protocol().before_call(context));
        let Some(before) = before else {
            let sent = self.start();
            return Call { id, result: Box::pin(async move { sent?.result().await }) };
        };
        let result = async move {
            // A call that is not allowed must fail before `before` has any effect.
            self.sending(self.params.clone(), false)?;
            let _during = before.await;
            self.start()?.result().await
        };
        Call { id, result: Box::pin(result) }
    }

    fn sending(&self, params: Option<Json>, wants_progress: bool) -> Result<Sending<'_>, CallError> {
        let mut sending = Sending {
            id: Some(&self.id),
            method: &self.method,
            version: self.version,
            params,
            on_behalf_of: self.peer.context.as_ref(),
            wants_progress,
            can_cancel: true,
        };
        self.peer.erased_protocol().before_send(&mut sending)?;
        Ok(sending)
    }

    fn start(mut self) -> Result<SentRequest<T>, CallError> {
        let params = self.params.take();
        let mut sending = self.sending(params, self.on_progress.is_some())?;
        let operation = Observed::sending(self.peer.observer(), &mut sending);
        let Sending { params, can_cancel, .. } = sending;
        let message = self.peer.message(Some(&self.id), &self.method, params.as_ref());
        let (progress, reports) = self.on_progress.is_some().then(ReportQueue::new).unzip();
        let (sender, response) = oneshot::channel();
        let pending = PendingRequest {
            method: self.method,
            response: sender,
            progress,
            on_notification: self.on_notification,
            takes_unmatched_errors: self.takes_unmatched_errors,
        };
        self.peer.shared.pending.insert(self.id.clone(), pending)?;
        // From here on, dropping the guard removes the pending request.
        let mut guard = CancelOnDrop { peer: self.peer, id: self.id, notify: false };
        let unsent = guard.peer.try_send(message).err();
        guard.notify = unsent.is_none() && can_cancel;
        Ok(SentRequest {
            guard,
            operation,
            unsent,
            can_cancel,
            response,
            reports,
            on_progress: self.on_progress,
            decode: self.decode,
            started: Instant::now(),
            idle_timeout: self.idle_timeout,
            timeout: self.timeout,
            notification_wait: self.notification_wait,
        })
    }
}

impl<T: Send + 'static> IntoFuture for RequestBuilder<T> {
    type Output = Result<T, CallError>;
    type IntoFuture = Call<T>;

    fn into_future(self) -> Call<T> {
        self.send()
    }
}

/// A request in flight, and a future for its result. Dropping it before the response arrives cancels the request, and
/// notifies the peer if the protocol allows that.
#[must_use = "dropping a call cancels it"]
pub struct Call<T> {
    id: RequestId,
    result: Pin<Box<dyn Future<Output = Result<T, CallError>> + Send>>,
}

impl<T> Call<T> {
    /// Returns the request's ID, which the response repeats.
    pub fn id(&self) -> &RequestId {
        &self.id
    }
}

impl<T> Future for Call<T> {
    type Output = Result<T, CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.result.as_mut().poll(context)
    }
}

impl<T> fmt::Debug for RequestBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBuilder").field("id", &self.id).field("method", &self.method).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("id", &self.id).finish_non_exhaustive()
    }
}

struct SentRequest<T> {
    guard: CancelOnDrop,
    /// Observes the request until its outcome is known.
    operation: Observed,
    /// The request, while the outbox has no room for it.
    unsent: Option<Outbound>,
    can_cancel: bool,
    response: oneshot::Receiver<Response>,
    reports: Option<mpsc::Receiver<Report>>,
    on_progress: Option<OnProgress>,
    decode: Box<Decoder<T>>,
    started: Instant,
    idle_timeout: Option<Duration>,
    timeout: Option<Duration>,
    notification_wait: Option<Duration>,
}

impl<T> SentRequest<T> {
    async fn result(mut self) -> Result<T, CallError> {
        let response = self.response().await;
        self.operation.end(response.as_ref().map_or_else(Outcome::from, Outcome::Result));
        (self.decode)(response?).map_err(CallError::Invalid)
    }

    fn timed_out(&self, limit: Option<Duration>) -> CallError {
        let request = self.guard.peer.shared.pending.method(&self.guard.id).unwrap_or_default();
        CallError::Timeout { request, limit: limit.unwrap_or_default() }
    }

    /// Handles progress reports until the response arrives.
    async fn response(&mut self) -> Result<Json, CallError> {
        let after = |start: Instant, limit: Option<Duration>| limit.and_then(|limit| start.checked_add(limit));
        let end = after(self.started, self.timeout);
        let mut idle_end = after(self.started, self.idle_timeout);
        let peer = self.unsent.is_some().then(|| self.guard.peer.clone());
        let sending = self.unsent.take().zip(peer.as_ref()).map(|(message, peer)| Box::pin(peer.send(message)));
        let mut sending = OptionFuture::from(sending);
        loop {
            tokio::select! {
                biased;
                response = &mut self.response => {
                    // Deliver reports that arrived before the response.
                    while let Some((report, _)) = self.reports.as_mut().and_then(|reports| reports.try_recv().ok()) {
                        self.report(&report);
                    }
                    let (response, received) = response.map_err(|_| Closed)?;
                    if let Some(earlier) = self.guard.peer.wait_for_notifications(received, self.notification_wait) {
                        tokio::select! {
                            () = earlier => {}
                            () = at(end) => {}
                        }
                    }
                    return response;
                }
                Some(sent) = &mut sending => {
                    sent?;
                    sending = OptionFuture::default();
                    self.guard.notify = self.can_cancel;
                }
                // Polled before the reports, so that an endless series of them cannot delay the timeout.
                () = at(end) => return Err(self.timed_out(self.timeout)),
                Some((report, _room)) = next(&mut self.reports) => {
                    if self.report(&report) {
                        idle_end = after(Instant::now(), self.idle_timeout);
                    }
                }
                () = at(idle_end) => {
                    let idle_timeout = self.idle_timeout.unwrap_or_default();
                    let input_requests = &self.guard.peer.shared.input_requests;
                    match input_requests.postponed(Instant::now(), idle_timeout) {
                        None => return Err(self.timed_out(Some(idle_timeout))),
                        postponed => idle_end = postponed,
                    }
                }
            }
        }
    }

    fn report(&mut self, report: &Json) -> bool {
        self.on_progress.as_mut().is_some_and(|on_progress| on_progress(report))
    }
}

/// The progress reports for a request that already has its response.
pub struct ProgressReports {
    reports: mpsc::Receiver<Report>,
    _guard: CancelOnDrop,
}

impl fmt::Debug for ProgressReports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressReports").finish_non_exhaustive()
    }
}

impl ProgressReports {
    /// Waits for the next report. Returns `None` once the connection is closed.
    pub async fn next(&mut self) -> Option<Json> {
        self.reports.recv().await.map(|(report, _)| report)
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

/// Cancels a request when dropped, unless its response has arrived.
struct CancelOnDrop {
    peer: Peer,
    id: RequestId,
    /// Whether to notify the peer: the request was sent, and the protocol lets it be cancelled.
    notify: bool,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let was_pending = self.peer.shared.pending.remove(&self.id).is_some();
        if !(self.notify && was_pending) {
            return;
        }
        let Some(cancellation) = self.peer.erased_protocol().cancellation(&self.id, self.peer.context.as_ref()) else {
            return;
        };
        self.peer.send_now(self.peer.message(None, &cancellation.method, cancellation.params.as_ref()));
    }
}
