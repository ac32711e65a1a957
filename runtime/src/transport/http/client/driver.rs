//! What becomes of each message that a client sends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use mcpgen_types::{ErrorId, ErrorMessage, JsonObject, RequestId, Value};
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::reply::{EventStream, Reply, whole};
use super::{Challenge, HttpError, Options};
use crate::app::headers::{self, Header};
use crate::envelope::Envelope;
use crate::json::{Picked, string};
use crate::modern::PROTOCOL_VERSION as VERSION_KEY;
use crate::transport::http::fields::{self, LAST_EVENT, METHOD, NAME, PROTOCOL_VERSION, SESSION};
use crate::transport::{ReceiveError, Undelivered};

/// Where what arrives goes.
type Arrive = mpsc::Sender<Result<Vec<u8>, ReceiveError>>;

/// How long a server may take to say that it will tell what belongs to no request.
const A_MOMENT: Duration = Duration::from_secs(1);

/// How often a request is made again because of its authorization.
const MOST_CHALLENGES: usize = 3;

pub(super) struct Driver(Arc<Shared>);

struct Shared {
    url: reqwest::Url,
    client: reqwest::Client,
    options: Options,
    arrive: Arrive,
    state: Mutex<State>,
    /// Held while a session begins.
    beginning: tokio::sync::Mutex<()>,
    room: Arc<Semaphore>,
    closing: CancellationToken,
}

#[derive(Default)]
struct State {
    /// What messages that say no revision are sent under: those of a session, and notifications where there is none.
    under: Under,
    /// What the session began with.
    initialize: Option<Arc<Sent>>,
    /// Requests that are not answered yet.
    waiting: HashMap<RequestId, Waiting>,
    /// The arguments of tools that are headers too.
    tools: HashMap<String, Arc<Vec<Header>>>,
}

/// A session, and the revision that is spoken.
#[derive(Clone, Default)]
struct Under {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

#[derive(Clone)]
struct Waiting {
    is_modern: bool,
    over: CancellationToken,
}

/// A message that is sent.
struct Sent {
    bytes: Vec<u8>,
    /// `None` for answers.
    method: Option<String>,
    /// The revision that it says, if it is of those without sessions.
    version: Option<String>,
    headers: HeaderMap,
}

impl Sent {
    fn of(bytes: Vec<u8>, method: Option<&str>) -> Self {
        Self { bytes, method: method.map(str::to_owned), version: None, headers: HeaderMap::new() }
    }
}

/// What is said when a session is begun.
const READY: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

impl Driver {
    pub(super) fn new(url: reqwest::Url, client: reqwest::Client, options: Options, arrive: Arrive) -> Self {
        Self(Arc::new(Shared {
            url,
            client,
            room: Arc::new(Semaphore::new(options.requests.clamp(1, Semaphore::MAX_PERMITS))),
            options,
            arrive,
            state: Mutex::default(),
            beginning: tokio::sync::Mutex::default(),
            closing: CancellationToken::new(),
        }))
    }

    /// Sends what is queued, until nothing more is; then the session ends.
    pub(super) async fn run(self, mut queued: mpsc::Receiver<Vec<u8>>) {
        let Self(shared) = self;
        let _closed = shared.closing.clone().drop_guard();
        loop {
            tokio::select! {
                bytes = queued.recv() => match bytes {
                    Some(bytes) => shared.take(bytes).await,
                    None => break,
                },
                // Nobody listens any more.
                () = shared.arrive.closed() => {
                    queued.close();
                    while queued.recv().await.is_some() {}
                    break;
                }
            }
        }
        shared.closing.cancel();
        let under = shared.state().under.clone();
        shared.leave(&under).await;
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests are sent beside each other; all else is sent in order, before anything that comes after it.
    async fn take(self: &Arc<Self>, bytes: Vec<u8>) {
        let (id, sent) = self.look(bytes);
        let Some(id) = id else {
            let cancelled = match sent.method.as_deref() {
                Some("notifications/cancelled") => self.cancelled(&sent.bytes),
                _ => None,
            };
            if let Some(Waiting { is_modern: true, over }) = cancelled {
                // That nobody listens any more says it all.
                return over.cancel();
            }
            let is_ready = sent.method.as_deref() == Some("notifications/initialized");
            let posted = tokio::time::timeout(self.options.patience, self.post(&sent)).await;
            match posted {
                Ok(Ok(_)) if is_ready => self.listen().await,
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::warn!(method = sent.method, %error, "a message was not delivered"),
                Err(_) => tracing::warn!(method = sent.method, "a message was not accepted in time"),
            }
            if let Some(Waiting { over, .. }) = cancelled {
                over.cancel();
            }
            return;
        };
        let over = self.closing.child_token();
        let waiting = Waiting { is_modern: sent.version.is_some(), over: over.clone() };
        self.state().waiting.insert(id.clone(), waiting);
        let this = Arc::clone(self);
        tokio::spawn(async move {
            tokio::select! {
                () = over.cancelled() => {}
                answered = this.request(&id, sent) => {
                    if let Err(error) = answered {
                        this.fail(&id, error).await;
                    }
                }
            }
            this.state().waiting.remove(&id);
        });
    }

    /// What a message is, and the id of a request.
    fn look(&self, bytes: Vec<u8>) -> (Option<RequestId>, Sent) {
        let mut sent = Sent::of(bytes, None);
        let text = String::from_utf8_lossy(&sent.bytes);
        let (id, method, params) = match Envelope::read(&text) {
            Ok(Envelope::Request { id, method, params }) => (Some(id), method.into_owned(), params),
            Ok(Envelope::Notification { method, params }) => (None, method.into_owned(), params),
            _ => {
                drop(text);
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
        drop(text);
        (sent.method, sent.version, sent.headers) = (Some(method), version, headers);
        (id, sent)
    }

    /// The request that is taken back by a notification.
    fn cancelled(&self, bytes: &[u8]) -> Option<Waiting> {
        let text = String::from_utf8_lossy(bytes);
        let Ok(Envelope::Notification { params: Some(params), .. }) = Envelope::read(&text) else { return None };
        let [id] = Picked::from(params.get(), ["requestId"]).ok()?.values;
        let id = mcpgen_types::from_str::<RequestId>(id?.get()).ok()?;
        self.state().waiting.get(&id).cloned()
    }

    /// Makes a request, and sees to it that its answer arrives.
    async fn request(self: &Arc<Self>, id: &RequestId, sent: Sent) -> Result<(), HttpError> {
        // Not where messages are taken: those that let others be answered must get through.
        let _room = match sent.method.as_deref() {
            Some("subscriptions/listen") => None,
            _ => self.room.acquire().await.ok(),
        };
        let sent = Arc::new(sent);
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
            if begins {
                let under = Under { session: session.clone(), version: agreed(message) };
                let mut state = self.state();
                (state.under, state.initialize) = (under, Some(Arc::clone(&sent)));
            }
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

    /// Delivers what a stream brings, until the answer is there. A stream of a session can be come back to, for as long as it
    /// is that session.
    async fn follow(
        &self,
        mut events: EventStream,
        answers: impl Fn(&[u8]) -> bool,
        session: Option<Option<HeaderValue>>,
    ) -> Result<(), HttpError> {
        let (mut attempts, mut known) = (0, None);
        loop {
            while let Some(message) = events.next().await {
                attempts = 0;
                let is_last = answers(&message);
                self.deliver(message).await;
                if is_last {
                    return Ok(());
                }
            }
            // Where it goes on is news, too.
            if events.last != known {
                (attempts, known) = (0, events.last.clone());
            }
            let under = self.state().under.clone();
            let is_same = session.as_ref() == Some(&under.session);
            let Some(last) = known.clone().filter(|_| is_same && attempts < self.options.attempts) else {
                return Err(HttpError::NoAnswer);
            };
            tokio::time::sleep(self.pause(events.retry, attempts)).await;
            attempts += 1;
            match self.stream(Some(&last), &under).await {
                Ok(again) => {
                    let retry = events.retry;
                    events = again;
                    (events.last, events.retry) = (Some(last), retry);
                }
                // It may be there again the next time.
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn pause(&self, said: Option<Duration>, attempts: u32) -> Duration {
        said.unwrap_or_else(|| self.options.pause.saturating_mul(1 << attempts.min(6)))
    }

    /// A stream of a session: what belongs to no request, or what came after an event.
    async fn stream(&self, last: Option<&str>, under: &Under) -> Result<EventStream, HttpError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last) = last {
            let last = HeaderValue::from_bytes(last.as_bytes()).map_err(std::io::Error::other)?;
            headers.insert(LAST_EVENT, last);
        }
        let response = self.send_with(Method::GET, headers, None, under).await?;
        match Reply::of(succeeded(response).await?, self.options.longest).await? {
            Reply::Events(events) => Ok(events),
            _ => Err(HttpError::ContentType(String::new())),
        }
    }

    /// Hears what belongs to no request, for as long as the session lasts. It is begun before anything else is asked: what the
    /// server says while nobody listens may be lost.
    fn listen(self: &Arc<Self>) -> BoxFuture<'static, ()> {
        let (this, under) = (Arc::clone(self), self.state().under.clone());
        let (begun, is_begun) = oneshot::channel();
        tokio::spawn(async move {
            tokio::select! {
                () = this.closing.cancelled() => {}
                ended = this.hear(under, begun) => match ended {
                    // It has none.
                    Err(HttpError::Status { status: StatusCode::METHOD_NOT_ALLOWED, .. }) | Ok(()) => {}
                    Err(error) => tracing::warn!(%error, "what belongs to no request is not heard any more"),
                },
            }
        });
        // A server may say nothing, not even that it will, before there is something to say.
        tokio::time::timeout(A_MOMENT, is_begun).map(drop).boxed()
    }

    async fn hear(self: &Arc<Self>, under: Under, begun: oneshot::Sender<()>) -> Result<(), HttpError> {
        let (mut attempts, mut last, mut retry, mut begun) = (0, None::<String>, None, Some(begun));
        while self.state().under.session == under.session {
            let stream = self.stream(last.as_deref(), &under).await;
            drop(begun.take());
            match stream {
                Ok(mut events) => {
                    // A server may end it whenever it likes.
                    attempts = 0;
                    while let Some(message) = events.next().await {
                        self.deliver(message).await;
                    }
                    (last, retry) = (events.last.or(last), events.retry.or(retry));
                }
                // What came after it is not kept: then without it.
                Err(HttpError::Status { status: StatusCode::BAD_REQUEST, .. }) if last.is_some() => last = None,
                Err(HttpError::Status { status: StatusCode::NOT_FOUND, .. }) if under.session.is_some() => {
                    return self.begin_again(&under.session).await;
                }
                Err(error) if is_passing(&error) && attempts < self.options.attempts => {}
                Err(error) => return Err(error),
            }
            tokio::time::sleep(self.pause(retry, attempts)).await;
            attempts += 1;
        }
        Ok(())
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

    /// Begins a session in the place of one that was lost. Until it is begun, nobody hears of it.
    async fn begin_again(self: &Arc<Self>, lost: &Option<HeaderValue>) -> Result<(), HttpError> {
        let _one = self.beginning.lock().await;
        let (initialize, under) = {
            let state = self.state();
            (state.initialize.clone(), state.under.clone())
        };
        let Some(initialize) = initialize.filter(|_| under.session == *lost) else { return Ok(()) };
        tracing::warn!("the session has ended; a new one is begun");
        let begun = self.initialize(&initialize).await?;
        let ready = Sent::of(READY.to_vec(), Some("notifications/initialized"));
        let is_same = begun.version == under.version;
        let accepted = match is_same {
            true => succeeded(self.send(Method::POST, Some(&ready), &begun).await?).await.map(drop),
            false => Err(HttpError::Session(begun.version.clone())),
        };
        if let Err(error) = accepted {
            self.leave(&begun).await;
            return Err(error);
        }
        self.state().under = begun;
        self.listen().await;
        if let Some(tell) = &self.options.on_new_session {
            tell();
        }
        Ok(())
    }

    /// A new session, and the revision that is agreed on in it.
    async fn initialize(&self, initialize: &Sent) -> Result<Under, HttpError> {
        let response = self.send(Method::POST, Some(initialize), &Under::default()).await?;
        let response = succeeded(response).await?;
        let session = response.headers().get(SESSION).cloned();
        let answer = match Reply::of(response, self.options.longest).await? {
            Reply::Nothing => None,
            Reply::Message(message) => Some(message),
            Reply::Events(mut events) => loop {
                match events.next().await {
                    Some(message) if agreed(&message).is_none() => {}
                    answer => break answer,
                }
            },
        };
        Ok(Under { session, version: answer.as_deref().and_then(agreed) })
    }

    /// Tells the server that a session is not needed any more.
    async fn leave(&self, under: &Under) {
        if under.session.is_none() {
            return;
        }
        let patience = self.options.patience.min(Duration::from_secs(5));
        match tokio::time::timeout(patience, self.send(Method::DELETE, None, under)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the session could not be ended"),
            Err(_) => tracing::debug!("the session was not ended in time"),
        }
    }

    /// One request of HTTP, with the headers of a message, if it brings one.
    async fn send(&self, method: Method, sent: Option<&Sent>, under: &Under) -> Result<reqwest::Response, HttpError> {
        let mut headers = HeaderMap::new();
        if let Some(sent) = sent {
            headers.clone_from(&sent.headers);
            headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        self.send_with(method, headers, sent, under).await
    }

    /// One request of HTTP, made again where its authorization was not enough.
    async fn send_with(
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
            }
            let response = request.send().await?;
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
        let Ok(Envelope::Response { result, .. }) = Envelope::read(&text) else { return };
        let Ok(result) = mcpgen_types::from_str::<JsonObject>(result.get()) else { return };
        for tool in result.get("tools").and_then(Value::as_array).into_iter().flatten() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            let schema = tool.get("inputSchema").and_then(Value::as_object);
            // Those that are wrong are nobody's to call.
            let annotated = schema.and_then(|schema| headers::headers(schema).ok()).unwrap_or_default();
            let mut state = self.state();
            match annotated.is_empty() {
                true => drop(state.tools.remove(name)),
                false => drop(state.tools.insert(name.to_owned(), Arc::new(annotated))),
            }
        }
    }

    async fn deliver(&self, message: Vec<u8>) {
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
        let why = Undelivered { reached, source: error.into() };
        let _ = self.arrive.send(Err(ReceiveError::Undelivered { id: id.clone(), why })).await;
    }
}

/// The headers that repeat what the body of a request says.
fn mirrored(
    method: &str,
    params: Option<&RawValue>,
    annotated: impl Fn(&str) -> Option<Arc<Vec<Header>>>,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.extend(HeaderValue::from_str(method).ok().map(|method| (METHOD, method)));
    let picked = params.and_then(|params| Picked::from(params.get(), ["name", "uri", "arguments"]).ok());
    let [name, uri, arguments] = picked.map(|picked| picked.values).unwrap_or_default();
    let subject = match fields::named_by(method) {
        Some("name") => name.and_then(string),
        Some(_) => uri.and_then(string),
        None => None,
    };
    let Some(subject) = subject else { return headers };
    headers.insert(NAME, fields::encode(&subject));
    if method == "tools/call"
        && let Some(annotated) = annotated(&subject)
    {
        let arguments: Option<JsonObject> =
            arguments.and_then(|arguments| mcpgen_types::from_str(arguments.get()).ok());
        headers.extend(fields::params(&annotated, &arguments.unwrap_or_default()));
    }
    headers
}

/// The revision that the params of a request say, in those without sessions.
fn version_of(params: Option<&RawValue>) -> Option<String> {
    let [meta] = Picked::from(params?.get(), ["_meta"]).ok()?.values;
    let [version] = Picked::from(meta?.get(), [VERSION_KEY]).ok()?.values;
    string(version?).map(Into::into)
}

/// The revision that an answer to `initialize` agrees on.
fn agreed(message: &[u8]) -> Option<HeaderValue> {
    let Ok(Envelope::Response { result, .. }) = Envelope::read(std::str::from_utf8(message).ok()?) else { return None };
    let [version] = Picked::from(result.get(), ["protocolVersion"]).ok()?.values;
    HeaderValue::from_str(&string(version?)?).ok()
}

/// Whether a message is the answer to a request.
fn answers(message: &[u8], id: &RequestId) -> bool {
    let read = std::str::from_utf8(message).ok().map(Envelope::read);
    match read {
        Some(Ok(Envelope::Response { id: of, .. })) => of == *id,
        Some(Ok(Envelope::Error { id: ErrorId::Id(of), .. })) => of == *id,
        Some(Err(invalid)) => invalid.answers.as_ref() == Some(id),
        _ => false,
    }
}

/// The error that the body of a refusal is, as the answer to a request. One without an id is it only where it says what is
/// wrong with the message: otherwise it may be of whatever stands before the server.
fn said(status: StatusCode, body: &str, id: &RequestId) -> Option<Vec<u8>> {
    let of_message = matches!(status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND);
    match Envelope::read(body).ok()? {
        Envelope::Error { id: ErrorId::Id(of), .. } if of != *id => None,
        Envelope::Error { id: ErrorId::Null | ErrorId::Absent, .. } if !of_message => None,
        Envelope::Error { error, .. } => Some(mcpgen_types::to_vec(&ErrorMessage::new(id.clone(), error))),
        _ => None,
    }
}

/// Whether it may be otherwise the next time.
fn is_passing(error: &HttpError) -> bool {
    match error {
        HttpError::Http(_) => true,
        HttpError::Status { status, .. } => status.is_server_error(),
        _ => false,
    }
}

/// A response that is a success, or an error with what it says.
async fn succeeded(response: reqwest::Response) -> Result<reqwest::Response, HttpError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body = whole(response, 64 << 10).await.unwrap_or_default();
    Err(HttpError::Status { status, body: String::from_utf8_lossy(&body).into_owned() })
}
