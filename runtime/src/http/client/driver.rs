//! Sends the client's messages: requests, notifications, responses and cancellations.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use mcpgen_types::codec::{Cursor, Decode};
use mcpgen_types::{ErrorId, ErrorMessage, JsonObject, RequestId, Value};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::reply::{Reply, whole};
use super::session::Restarts;
use super::unsent::{Notifications, Room, Unsent};
use super::{Challenge, HttpError, Options};
use crate::http::headers::{self, METHOD, NAME, PROTOCOL_VERSION, SESSION};
use crate::jsonrpc::envelope::{Envelope, scan, scan_bytes};
use crate::jsonrpc::json::Picked;
use crate::protocol::header_params::{self, Header};
use crate::protocol::modern::PROTOCOL_VERSION as VERSION_KEY;
use crate::transport::{ReceiveError, Undelivered};
use crate::util::lock::Mutex;

/// Passes received messages to the connection.
type Arrive = mpsc::Sender<Result<Vec<u8>, ReceiveError>>;

/// How long a cancellation waits for the response headers of the request that it cancels.
const RECEIPT: Duration = Duration::from_secs(1);

/// The maximum number of times that a request is repeated after a 401 or 403.
const MOST_CHALLENGES: usize = 3;

/// The maximum bytes of queued notifications.
const NOTIFICATIONS: u32 = 8 << 20;

/// The maximum bytes of responses and cancellations that the server has not accepted yet.
const ANSWERS: u32 = 64 << 20;

pub(super) struct Driver(Arc<Shared>);

pub(super) struct Shared {
    url: reqwest::Url,
    client: reqwest::Client,
    pub(super) options: Options,
    arrive: Arrive,
    state: Mutex<State>,
    /// Held while a session is being replaced.
    pub(super) beginning: tokio::sync::Mutex<()>,
    /// One permit per request in flight.
    room: Semaphore,
    notify: mpsc::UnboundedSender<Unsent>,
    notifications: Room,
    answers: Room,
    /// Cancels requests and streams.
    pub(super) closing: CancellationToken,
    /// Cancels all other tasks.
    ended: CancellationToken,
}

#[derive(Default)]
pub(super) struct State {
    /// The session and revision for messages without per-request metadata: all messages of a session, and notifications
    /// of modern revisions.
    pub(super) under: Under,
    /// The `initialize` request of the session, sent again to replace the session.
    pub(super) initialize: Option<Arc<Sent>>,
    /// Closes the session's GET stream.
    pub(super) listening: CancellationToken,
    /// Counts the sessions that were replaced since the last response to a request.
    pub(super) restarts: Restarts,
    /// Pending requests.
    waiting: HashMap<RequestId, Waiting>,
    /// The arguments of each tool that are repeated in headers.
    tools: HashMap<String, Arc<Vec<Header>>>,
}

/// The session and revision that a message is sent with.
#[derive(Clone, Default)]
pub(super) struct Under {
    pub(super) session: Option<HeaderValue>,
    pub(super) version: Option<HeaderValue>,
}

struct Waiting {
    over: CancellationToken,
    /// Receives the notification that cancels the request. `None` for a request of a modern revision, which is
    /// cancelled by closing its response stream.
    cancel: Option<oneshot::Sender<Option<Unsent>>>,
}

/// A message to send.
pub(super) struct Sent {
    pub(super) bytes: Vec<u8>,
    /// `None` for responses.
    pub(super) method: Option<String>,
    /// The revision in the per-request metadata, if the message has any.
    version: Option<String>,
    headers: HeaderMap,
    progress: watch::Sender<Progress>,
}

/// The progress of sending a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    Queued,
    Sending,
    /// The server has sent the headers of its response.
    Received,
}

impl Sent {
    pub(super) fn new(bytes: Vec<u8>, method: Option<&str>) -> Self {
        let (progress, _) = watch::channel(Progress::Queued);
        Self { bytes, method: method.map(str::to_owned), version: None, headers: HeaderMap::new(), progress }
    }
}

impl Driver {
    /// Creates a driver, and the queue of notifications for [`run`](Self::run).
    pub(super) fn new(
        url: reqwest::Url,
        client: reqwest::Client,
        options: Options,
        arrive: Arrive,
    ) -> (Self, Notifications) {
        let (notify, notifications) = mpsc::unbounded_channel();
        let ended = CancellationToken::new();
        let shared = Shared {
            url,
            client,
            room: Semaphore::new(options.requests.clamp(1, Semaphore::MAX_PERMITS)),
            options,
            arrive,
            state: Mutex::default(),
            beginning: tokio::sync::Mutex::default(),
            notify,
            notifications: Room::new(NOTIFICATIONS),
            answers: Room::new(ANSWERS),
            closing: ended.child_token(),
            ended,
        };
        (Self(Arc::new(shared)), notifications)
    }

    /// Sends messages until the queue is closed or the receiver of incoming messages is dropped. Then ends the session.
    pub(super) async fn run(self, mut queued: mpsc::Receiver<Vec<u8>>, notifications: Notifications) {
        let Self(shared) = self;
        let _ended = shared.ended.clone().drop_guard();
        tokio::spawn(Arc::clone(&shared).send_in_order(notifications));
        loop {
            tokio::select! {
                bytes = queued.recv() => match bytes {
                    Some(bytes) => shared.take(bytes).await,
                    None => break,
                },
                () = shared.arrive.closed() => {
                    queued.close();
                    while queued.recv().await.is_some() {}
                    break;
                }
            }
        }
        shared.closing.cancel();
        let sent = async { tokio::join!(shared.notifications.is_empty(), shared.answers.is_empty()) };
        if tokio::time::timeout(shared.options.patience, sent).await.is_err() {
            tracing::warn!("connection closed with messages that the server has not accepted");
        }
        shared.ended.cancel();
        // A replacement in progress ends its new session first.
        let _beginning = shared.beginning.lock().await;
        let under = shared.state().under.clone();
        shared.leave(&under).await;
    }
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Sends a message. Requests, cancellations and responses are sent concurrently, notifications in order. No kind
    /// waits for another.
    async fn take(self: &Arc<Self>, bytes: Vec<u8>) {
        let (id, sent) = self.look(bytes);
        match (id, sent.method.as_deref()) {
            (Some(id), _) => self.send_request(id, sent),
            // Wait until the server has accepted this notification before any request is sent.
            (None, Some("notifications/initialized")) => {
                if self.post_in_time(&sent).await {
                    self.listen().await;
                }
            }
            (None, Some("notifications/cancelled")) => self.cancel(sent),
            (None, Some(_)) => self.notify(sent),
            (None, None) => {
                if let Some(answer) = self.answers.admit(sent) {
                    tokio::spawn(Arc::clone(self).send_unsent(answer));
                }
            }
        }
    }

    /// Queues a notification.
    fn notify(&self, sent: Sent) {
        if let Some(notification) = self.notifications.admit(sent) {
            // The receiver lives until the driver has ended.
            let _ = self.notify.send(notification);
        }
    }

    /// Posts the queued notifications in order.
    async fn send_in_order(self: Arc<Self>, mut notifications: Notifications) {
        let send = async {
            while let Some(notification) = notifications.recv().await {
                self.post_in_time(&notification.sent).await;
            }
        };
        tokio::select! {
            () = self.ended.cancelled() => {}
            () = send => {}
        }
    }

    /// Posts a message independently of other messages.
    async fn send_unsent(self: Arc<Self>, unsent: Unsent) {
        tokio::select! {
            () = self.ended.cancelled() => {}
            _ = self.post_in_time(&unsent.sent) => {}
        }
    }

    /// Posts a message that gets no response, within [`Options::patience`]. Logs a failure and returns whether the
    /// server accepted the message.
    async fn post_in_time(self: &Arc<Self>, sent: &Sent) -> bool {
        let method = sent.method.as_deref().unwrap_or("response");
        match tokio::time::timeout(self.options.patience, self.post(sent)).await {
            Ok(Ok(_)) => return true,
            Ok(Err(error)) => tracing::warn!(method, %error, "failed to send a message"),
            Err(_) => tracing::warn!(method, "timed out sending a message"),
        }
        false
    }

    /// Spawns a task that sends a request and receives its response.
    fn send_request(self: &Arc<Self>, id: RequestId, sent: Sent) {
        let over = self.closing.child_token();
        let (cancel, cancelled) = oneshot::channel();
        let cancel = sent.version.is_none().then_some(cancel);
        self.state().waiting.insert(id.clone(), Waiting { over: over.clone(), cancel });
        let this = Arc::clone(self);
        tokio::spawn(async move {
            this.run_request(&id, Arc::new(sent), over, cancelled).await;
            this.state().waiting.remove(&id);
        });
    }

    /// Sends a request and waits for its response or its cancellation.
    async fn run_request(
        self: &Arc<Self>,
        id: &RequestId,
        sent: Arc<Sent>,
        over: CancellationToken,
        cancelled: oneshot::Receiver<Option<Unsent>>,
    ) {
        let mut request = Box::pin(self.request(id, Arc::clone(&sent)));
        let cancellation = tokio::select! {
            biased;
            Ok(cancellation) = cancelled => cancellation,
            () = over.cancelled() => return,
            answered = &mut request => {
                if let Err(error) = answered {
                    self.fail(id, error).await;
                }
                return;
            }
        };
        // A request that was not sent needs no cancellation. The server would ignore one that arrives before the
        // request.
        let mut progress = sent.progress.subscribe();
        if *progress.borrow() == Progress::Queued {
            return;
        }
        tokio::select! {
            () = over.cancelled() => {}
            _ = &mut request => return,
            _ = tokio::time::timeout(RECEIPT, progress.wait_for(|progress| *progress == Progress::Received)) => {}
        }
        drop(request);
        if let Some(cancellation) = cancellation {
            Arc::clone(self).send_unsent(cancellation).await;
        }
    }

    /// Handles a `notifications/cancelled` from the client.
    fn cancel(&self, sent: Sent) {
        let waiting = |id| self.state().waiting.get_mut(&id).map(|it| (it.over.clone(), it.cancel.take()));
        let cancel = match cancelled(&sent.bytes).and_then(waiting) {
            // In modern revisions, closing the response stream cancels the request.
            Some((over, None)) => return over.cancel(),
            Some((_, Some(cancel))) => cancel,
            None => return self.notify(sent),
        };
        // Fails if the response has just arrived, which is fine.
        let _ = cancel.send(self.answers.admit(sent));
    }

    /// Parses a message to be sent. Returns its ID if it is a request.
    fn look(&self, bytes: Vec<u8>) -> (Option<RequestId>, Sent) {
        let mut sent = Sent::new(bytes, None);
        let text = String::from_utf8_lossy(&sent.bytes);
        let document = scan(text);
        let envelope = document.as_ref().ok().filter(|document| document.check_depth().is_ok()).map(Envelope::read);
        let (id, method, params) = match envelope {
            Some(Ok(Envelope::Request { id, method, params })) => (Some(id), method.into_owned(), params),
            Some(Ok(Envelope::Notification { method, params })) => (None, method.into_owned(), params),
            _ => {
                drop(document);
                return (None, sent);
            }
        };
        let version = version_of(params);
        let mut state = self.state();
        let is_modern = match &version {
            Some(version) => {
                // An existing session keeps its revision.
                if state.initialize.is_none() {
                    state.under.version = HeaderValue::from_str(version).ok();
                }
                true
            }
            None => id.is_none() && state.initialize.is_none() && state.under.version.is_some(),
        };
        let annotated = |tool: &str| state.tools.get(tool).cloned();
        let headers = if is_modern { mirrored(&method, params, annotated) } else { HeaderMap::new() };
        drop(state);
        drop(document);
        (sent.method, sent.version, sent.headers) = (Some(method), version, headers);
        (id, sent)
    }

    /// Sends a request and delivers its response and the messages before it.
    async fn request(self: &Arc<Self>, id: &RequestId, sent: Arc<Sent>) -> Result<(), HttpError> {
        // Wait here and not in `take`, so that responses and cancellations are still sent when all permits are in use.
        let _room = match sent.method.as_deref() {
            Some("subscriptions/listen") => None,
            _ => self.room.acquire().await.ok(),
        };
        let begins = sent.method.as_deref() == Some("initialize");
        let lists = sent.method.as_deref() == Some("tools/list") && sent.version.is_some();
        let (response, session) = match begins {
            true => {
                let response = succeeded(self.send(Method::POST, Some(&sent), &Under::default()).await?).await?;
                let session = response.headers().get(SESSION).cloned();
                (response, session)
            }
            false => self.post(&sent).await?,
        };
        let arrived = |message: &[u8]| {
            let mut state = self.state();
            if begins {
                let under = Under { session: session.clone(), version: agreed(message) };
                (state.under, state.initialize) = (under, Some(Arc::clone(&sent)));
            } else if state.under.session == session {
                state.restarts = Restarts::default();
            }
            drop(state);
            if lists {
                self.learn(message);
            }
        };
        match Reply::of(response, self.options.longest).await? {
            Reply::Nothing => Err(HttpError::NoAnswer),
            Reply::Message(message) => {
                arrived(&message);
                self.deliver(message).await;
                Ok(())
            }
            Reply::Events(events) => {
                let answers = |message: &[u8]| {
                    let is_one = answers(message, id);
                    if is_one {
                        arrived(message);
                    }
                    is_one
                };
                let may_return = sent.version.is_none() && !begins;
                self.follow(events, answers, may_return.then(|| session.clone())).await
            }
        }
    }

    /// Posts a message and returns the HTTP response and the session that was used. If the session is lost, begins a
    /// new one and posts the message again.
    async fn post(self: &Arc<Self>, sent: &Sent) -> Result<(reqwest::Response, Option<HeaderValue>), HttpError> {
        let under = self.under(sent);
        let response = self.send(Method::POST, Some(sent), &under).await?;
        if response.status() != StatusCode::NOT_FOUND || under.session.is_none() {
            return Ok((succeeded(response).await?, under.session));
        }
        self.begin_again(&under.session).await?;
        let under = self.under(sent);
        let response = self.send(Method::POST, Some(sent), &under).await?;
        Ok((succeeded(response).await?, under.session))
    }

    /// Returns the session and revision to send a message with.
    fn under(&self, sent: &Sent) -> Under {
        let known = self.state().under.clone();
        match sent.version.as_deref() {
            Some(version) => Under { session: None, version: HeaderValue::from_str(version).ok() },
            None => known,
        }
    }

    /// Sends one HTTP request, with the headers and body of a message if one is given.
    pub(super) async fn send(
        &self,
        method: Method,
        sent: Option<&Sent>,
        under: &Under,
    ) -> Result<reqwest::Response, HttpError> {
        let mut headers = HeaderMap::new();
        if let Some(sent) = sent {
            headers.clone_from(&sent.headers);
            headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        self.send_with(method, headers, sent, under).await
    }

    /// Like [`send`](Self::send), but with the given headers. Repeats the request with new authorization after a 401 or
    /// 403, at most [`MOST_CHALLENGES`] times.
    pub(super) async fn send_with(
        &self,
        method: Method,
        mut headers: HeaderMap,
        sent: Option<&Sent>,
        under: &Under,
    ) -> Result<reqwest::Response, HttpError> {
        headers.extend(under.version.clone().map(|version| (PROTOCOL_VERSION, version)));
        headers.extend(under.session.clone().map(|session| (SESSION, session)));
        let (mut challenge, mut challenged) = (None::<Challenge>, 0);
        loop {
            let mut all = self.options.headers.clone();
            all.extend(headers.clone());
            if let Some(authorization) = &self.options.authorization {
                let token = authorization.authorize(challenge.as_ref()).await.map_err(HttpError::Authorization)?;
                match (token, &challenge) {
                    (Some(mut token), _) => {
                        token.set_sensitive(true);
                        all.insert(AUTHORIZATION, token);
                    }
                    (None, None) => {}
                    (None, Some(challenge)) => {
                        return Err(HttpError::Status { status: challenge.status, body: String::new() });
                    }
                }
            }
            let mut request = self.client.request(method.clone(), self.url.clone()).headers(all);
            if let Some(sent) = sent {
                request = request.body(sent.bytes.clone());
                sent.progress.send_replace(Progress::Sending);
            }
            let response = request.send().await?;
            if let Some(sent) = sent {
                sent.progress.send_replace(Progress::Received);
            }
            let status = response.status();
            let refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
            if !refused || self.options.authorization.is_none() || challenged >= MOST_CHALLENGES {
                return Ok(response);
            }
            let challenges = response.headers().get_all(WWW_AUTHENTICATE).iter().cloned().collect();
            challenge = Some(Challenge { status, challenges });
            challenged += 1;
        }
    }

    /// Learns from the result of `tools/list` which arguments are repeated in headers.
    fn learn(&self, message: &[u8]) {
        let known = !self.state().tools.is_empty();
        let text = String::from_utf8_lossy(message);
        if !known && !text.contains("x-mcp-header") {
            return;
        }
        let Some(result) = result_of(message, |result| JsonObject::decode(result).ok()) else { return };
        for tool in result.get("tools").and_then(Value::as_array).into_iter().flatten() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            let schema = tool.get("inputSchema").and_then(Value::as_object);
            // Tools with invalid annotations are not callable, so they need no headers.
            let annotated = schema.and_then(|schema| header_params::headers(schema).ok()).unwrap_or_default();
            let mut state = self.state();
            match annotated.is_empty() {
                true => drop(state.tools.remove(name)),
                false => drop(state.tools.insert(name.to_owned(), Arc::new(annotated))),
            }
        }
    }

    pub(super) async fn deliver(&self, message: Vec<u8>) {
        // Fails if the receiver was dropped. The driver detects that and ends.
        let _ = self.arrive.send(Ok(message)).await;
    }

    /// Fails a request. If the error body is a JSON-RPC error response, delivers that instead of the HTTP error.
    async fn fail(&self, id: &RequestId, error: HttpError) {
        let said = match &error {
            HttpError::Status { status, body } => said(*status, body, id),
            _ => None,
        };
        if let Some(message) = said {
            return self.deliver(message).await;
        }
        let reached = match &error {
            HttpError::Status { status, .. } => {
                let elsewhere = matches!(status.as_u16(), 401 | 403 | 407 | 408 | 421 | 429);
                status.is_client_error() && !elsewhere
            }
            HttpError::ContentType(_) => true,
            _ => false,
        };
        let why = Undelivered::new(reached, error);
        let _ = self.arrive.send(Err(ReceiveError::Undelivered { id: id.clone(), why })).await;
    }
}

/// Returns the headers that repeat parts of the body of a request.
fn mirrored(
    method: &str,
    params: Option<Cursor<'_>>,
    annotated: impl Fn(&str) -> Option<Arc<Vec<Header>>>,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.extend(HeaderValue::from_str(method).ok().map(|method| (METHOD, method)));
    let picked = params.map(|params| Picked::values(params, &["name", "uri", "arguments"]));
    let [name, uri, arguments] = picked.unwrap_or_default();
    let subject = match headers::named_by(method) {
        Some("name") => name.and_then(Cursor::as_str),
        Some(_) => uri.and_then(Cursor::as_str),
        None => None,
    };
    let Some(subject) = subject else { return headers };
    headers.insert(NAME, headers::encode(&subject));
    if method == "tools/call"
        && let Some(annotated) = annotated(&subject)
    {
        let arguments = arguments.and_then(|arguments| JsonObject::decode(arguments).ok());
        headers.extend(headers::params(&annotated, &arguments.unwrap_or_default()));
    }
    headers
}

/// Returns the ID of the request that a notification cancels.
fn cancelled(bytes: &[u8]) -> Option<RequestId> {
    let document = scan(String::from_utf8_lossy(bytes)).ok()?;
    let Ok(Envelope::Notification { params: Some(params), .. }) = Envelope::read(&document) else { return None };
    let [id] = Picked::values(params, &["requestId"]);
    RequestId::decode(id?).ok()
}

/// Returns the revision in the per-request metadata of the params.
fn version_of(params: Option<Cursor<'_>>) -> Option<String> {
    let [meta] = Picked::values(params?, &["_meta"]);
    let [version] = Picked::values(meta?, &[VERSION_KEY]);
    version?.string().ok()
}

/// Returns the negotiated revision from the response to `initialize`.
pub(super) fn agreed(message: &[u8]) -> Option<HeaderValue> {
    result_of(message, |result| {
        let [version] = Picked::values(result, &["protocolVersion"]);
        HeaderValue::from_str(&version?.as_str()?).ok()
    })
}

/// Reads the result of a message if it is a successful response.
fn result_of<R>(message: &[u8], read: impl FnOnce(Cursor<'_>) -> Option<R>) -> Option<R> {
    let document = scan_bytes(message).ok()?;
    document.check_depth().ok()?;
    match Envelope::read(&document) {
        Ok(Envelope::Response { result, .. }) => read(result),
        _ => None,
    }
}

/// Returns whether a message is the response to a request.
fn answers(message: &[u8], id: &RequestId) -> bool {
    let Ok(document) = scan_bytes(message) else { return false };
    match Envelope::read(&document) {
        Ok(Envelope::Response { id: of, .. } | Envelope::Error { id: ErrorId::Id(of), .. }) => of == *id,
        Err(invalid) => invalid.answers.as_ref() == Some(id),
        _ => false,
    }
}

/// Converts the body of an HTTP error to an error response for a request, if it is a JSON-RPC error. An error without
/// an ID counts only with status 400 or 404; with other statuses it may come from a proxy.
fn said(status: StatusCode, body: &str, id: &RequestId) -> Option<Vec<u8>> {
    let of_message = matches!(status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND);
    let document = scan(body).ok()?;
    match Envelope::read(&document).ok()? {
        Envelope::Error { id: ErrorId::Id(of), .. } if of != *id => None,
        Envelope::Error { id: ErrorId::Null | ErrorId::Absent, .. } if !of_message => None,
        Envelope::Error { error, .. } => Some(mcpgen_types::to_vec(&ErrorMessage::new(id.clone(), error))),
        _ => None,
    }
}

/// Returns whether an error is transient, so that another attempt may succeed.
pub(super) fn is_passing(error: &HttpError) -> bool {
    match error {
        HttpError::Http(_) => true,
        HttpError::Status { status, .. } => status.is_server_error(),
        _ => false,
    }
}

/// Returns a successful response unchanged. Converts any other to [`HttpError::Status`] with its body.
pub(super) async fn succeeded(response: reqwest::Response) -> Result<reqwest::Response, HttpError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body = whole(response, 64 << 10).await.unwrap_or_default();
    Err(HttpError::Status { status, body: String::from_utf8_lossy(&body).into_owned() })
}
