//! What becomes of each message that a client sends.

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

/// Where what arrives goes.
type Arrive = mpsc::Sender<Result<Vec<u8>, ReceiveError>>;

/// How long a cancellation waits for the headers of the response to its request.
const RECEIPT: Duration = Duration::from_secs(1);

/// How often a request is made again because of its authorization.
const MOST_CHALLENGES: usize = 3;

/// Bytes of the notifications that wait for the server to accept them.
const NOTIFICATIONS: u32 = 8 << 20;

/// Bytes of the answers and cancellations that wait for the server to accept them.
const ANSWERS: u32 = 64 << 20;

pub(super) struct Driver(Arc<Shared>);

pub(super) struct Shared {
    url: reqwest::Url,
    client: reqwest::Client,
    pub(super) options: Options,
    arrive: Arrive,
    state: Mutex<State>,
    /// Held while a session begins.
    pub(super) beginning: tokio::sync::Mutex<()>,
    /// A permit is a request in flight.
    room: Semaphore,
    notify: mpsc::UnboundedSender<Unsent>,
    notifications: Room,
    answers: Room,
    /// Ends requests and streams.
    pub(super) closing: CancellationToken,
    /// Ends all else.
    ended: CancellationToken,
}

#[derive(Default)]
pub(super) struct State {
    /// What messages that say no revision are sent under: those of a session, and notifications where there is none.
    pub(super) under: Under,
    /// What the session began with.
    pub(super) initialize: Option<Arc<Sent>>,
    /// Closes the session's GET stream.
    pub(super) listening: CancellationToken,
    /// Sessions that were replaced since a request was last answered.
    pub(super) restarts: Restarts,
    /// Requests that are not answered yet.
    waiting: HashMap<RequestId, Waiting>,
    /// The arguments of tools that are headers too.
    tools: HashMap<String, Arc<Vec<Header>>>,
}

/// A session, and the revision that is spoken.
#[derive(Clone, Default)]
pub(super) struct Under {
    pub(super) session: Option<HeaderValue>,
    pub(super) version: Option<HeaderValue>,
}

struct Waiting {
    over: CancellationToken,
    /// Takes the notification that cancels it; `None` for a request without a session, which ends with its stream.
    cancel: Option<oneshot::Sender<Option<Unsent>>>,
}

/// A message that is sent.
pub(super) struct Sent {
    pub(super) bytes: Vec<u8>,
    /// `None` for answers.
    pub(super) method: Option<String>,
    /// The revision that it says, if it is of those without sessions.
    version: Option<String>,
    headers: HeaderMap,
    progress: watch::Sender<Progress>,
}

/// How far a message has come on its way to the server.
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
    /// A driver, and the notifications for [`run`](Self::run).
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

    /// Sends messages until there are no more, or until the reader of incoming messages is dropped. Then ends the session.
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
            tracing::warn!("the connection ends with messages that the server has not accepted");
        }
        shared.ended.cancel();
        // A session that was about to begin is ended first.
        let _beginning = shared.beginning.lock().await;
        let under = shared.state().under.clone();
        shared.leave(&under).await;
    }
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Sends a message. Requests, cancellations and answers are sent beside each other, notifications in their order: none
    /// of them waits for another kind.
    async fn take(self: &Arc<Self>, bytes: Vec<u8>) {
        let (id, sent) = self.look(bytes);
        match (id, sent.method.as_deref()) {
            (Some(id), _) => self.send_request(id, sent),
            // No request is sent before the server knows that the session is ready.
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
            // It is read until the driver has ended.
            let _ = self.notify.send(notification);
        }
    }

    /// Posts the queued notifications, one after another.
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

    /// Posts a message that waits for no other.
    async fn send_unsent(self: Arc<Self>, unsent: Unsent) {
        tokio::select! {
            () = self.ended.cancelled() => {}
            _ = self.post_in_time(&unsent.sent) => {}
        }
    }

    /// Posts a message that has no response. A failure is logged.
    async fn post_in_time(self: &Arc<Self>, sent: &Sent) -> bool {
        let method = sent.method.as_deref().unwrap_or("response");
        match tokio::time::timeout(self.options.patience, self.post(sent)).await {
            Ok(Ok(_)) => return true,
            Ok(Err(error)) => tracing::warn!(method, %error, "a message was not delivered"),
            Err(_) => tracing::warn!(method, "a message was not accepted in time"),
        }
        false
    }

    /// Makes a request in a task, so that others can be made beside it.
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

    /// Makes a request, until it is answered or cancelled.
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
        // The server knows nothing of a request that was not sent, and would ignore a cancellation that comes before it.
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

    /// Cancels a request by a notification.
    fn cancel(&self, sent: Sent) {
        let waiting = |id| self.state().waiting.get_mut(&id).map(|it| (it.over.clone(), it.cancel.take()));
        let cancel = match cancelled(&sent.bytes).and_then(waiting) {
            // Nothing tells more of a request without a session than the end of its stream.
            Some((over, None)) => return over.cancel(),
            Some((_, Some(cancel))) => cancel,
            None => return self.notify(sent),
        };
        // The request may be answered in this moment.
        let _ = cancel.send(self.answers.admit(sent));
    }

    /// What a message is, and the id of a request.
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
                // Where there is a session, it stays what it is.
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

    /// Makes a request, and sees to it that its answer arrives.
    async fn request(self: &Arc<Self>, id: &RequestId, sent: Arc<Sent>) -> Result<(), HttpError> {
        // Not where messages are taken: those that let others be answered must get through.
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

    /// Sends a message, and says in which session. If there is no session any more, it is sent to a new one.
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

    /// What a message is sent under.
    fn under(&self, sent: &Sent) -> Under {
        let known = self.state().under.clone();
        match sent.version.as_deref() {
            Some(version) => Under { session: None, version: HeaderValue::from_str(version).ok() },
            None => known,
        }
    }

    /// One request of HTTP, with the headers of a message, if it brings one.
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

    /// One request of HTTP, made again where its authorization was not enough.
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

    /// The headers that tools want to have, from the list of them.
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
            // Those that are wrong are nobody's to call.
            let annotated = schema.and_then(|schema| header_params::headers(schema).ok()).unwrap_or_default();
            let mut state = self.state();
            match annotated.is_empty() {
                true => drop(state.tools.remove(name)),
                false => drop(state.tools.insert(name.to_owned(), Arc::new(annotated))),
            }
        }
    }

    pub(super) async fn deliver(&self, message: Vec<u8>) {
        // Nobody listens any more: the driver will see it.
        let _ = self.arrive.send(Ok(message)).await;
    }

    /// A request has no answer but this. A server that says why is believed.
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

/// The headers that repeat what the body of a request says.
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

/// The request that a notification cancels.
fn cancelled(bytes: &[u8]) -> Option<RequestId> {
    let document = scan(String::from_utf8_lossy(bytes)).ok()?;
    let Ok(Envelope::Notification { params: Some(params), .. }) = Envelope::read(&document) else { return None };
    let [id] = Picked::values(params, &["requestId"]);
    RequestId::decode(id?).ok()
}

/// The revision that the params of a request say, in those without sessions.
fn version_of(params: Option<Cursor<'_>>) -> Option<String> {
    let [meta] = Picked::values(params?, &["_meta"]);
    let [version] = Picked::values(meta?, &[VERSION_KEY]);
    version?.string().ok()
}

/// The revision that an answer to `initialize` agrees on.
pub(super) fn agreed(message: &[u8]) -> Option<HeaderValue> {
    result_of(message, |result| {
        let [version] = Picked::values(result, &["protocolVersion"]);
        HeaderValue::from_str(&version?.as_str()?).ok()
    })
}

/// Reads the result in a message that is a response.
fn result_of<R>(message: &[u8], read: impl FnOnce(Cursor<'_>) -> Option<R>) -> Option<R> {
    let document = scan_bytes(message).ok()?;
    document.check_depth().ok()?;
    match Envelope::read(&document) {
        Ok(Envelope::Response { result, .. }) => read(result),
        _ => None,
    }
}

/// Whether a message is the answer to a request.
fn answers(message: &[u8], id: &RequestId) -> bool {
    let Ok(document) = scan_bytes(message) else { return false };
    match Envelope::read(&document) {
        Ok(Envelope::Response { id: of, .. } | Envelope::Error { id: ErrorId::Id(of), .. }) => of == *id,
        Err(invalid) => invalid.answers.as_ref() == Some(id),
        _ => false,
    }
}

/// The error that the body of a refusal is, as the answer to a request. One without an id is it only where it says what is
/// wrong with the message: otherwise it may be of whatever stands before the server.
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

/// Whether it may be otherwise the next time.
pub(super) fn is_passing(error: &HttpError) -> bool {
    match error {
        HttpError::Http(_) => true,
        HttpError::Status { status, .. } => status.is_server_error(),
        _ => false,
    }
}

/// A response that is a success, or an error with what it says.
pub(super) async fn succeeded(response: reqwest::Response) -> Result<reqwest::Response, HttpError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body = whole(response, 64 << 10).await.unwrap_or_default();
    Err(HttpError::Status { status, body: String::from_utf8_lossy(&body).into_owned() })
}
