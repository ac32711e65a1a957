//! What becomes of each message that a client sends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use mcpgen_types::{ErrorId, ErrorMessage, JsonObject, RequestId, Value};
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, mpsc};
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
    session: Option<HeaderValue>,
    /// The revision of the session, or of the last request where there is none.
    version: Option<HeaderValue>,
    /// What the session began with.
    initialize: Option<Arc<Sent>>,
    /// Requests that are not answered yet.
    waiting: HashMap<RequestId, Waiting>,
    /// The arguments of tools that are headers too.
    tools: HashMap<String, Arc<Vec<Header>>>,
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
        shared.leave().await;
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
            if sent.method.as_deref() == Some("notifications/cancelled") && self.cancel(&sent.bytes) {
                return;
            }
            let is_ready = sent.method.as_deref() == Some("notifications/initialized");
            let posted = tokio::time::timeout(self.options.patience, self.post(&sent)).await;
            match posted {
                Ok(Ok(_)) if is_ready => self.listen(),
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::warn!(method = sent.method, %error, "a message was not delivered"),
                Err(_) => tracing::warn!(method = sent.method, "a message was not accepted in time"),
            }
            return;
        };
        let over = self.closing.child_token();
        let waiting = Waiting { is_modern: sent.version.is_some(), over: over.clone() };
        self.state().waiting.insert(id.clone(), waiting);
        let room = match sent.method.as_deref() {
            Some("subscriptions/listen") => None,
            _ => Arc::clone(&self.room).acquire_owned().await.ok(),
        };
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let _room = room;
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
        let mut sent = Sent { bytes, method: None, version: None, headers: HeaderMap::new() };
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
                state.version = HeaderValue::from_str(version).ok();
                true
            }
            None => id.is_none() && state.initialize.is_none() && state.version.is_some(),
        };
        let annotated = |tool: &str| state.tools.get(tool).cloned();
        let headers = if is_modern { mirrored(&method, params, annotated) } else { HeaderMap::new() };
        drop(state);
        drop(text);
        (sent.method, sent.version, sent.headers) = (Some(method), version, headers);
        (id, sent)
    }

    /// Gives up a request, where that is all that it takes.
    fn cancel(&self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        let Ok(Envelope::Notification { params: Some(params), .. }) = Envelope::read(&text) else { return false };
        let id = Picked::from(params.get(), ["requestId"]).ok().and_then(|picked| picked.values[0]);
        let id = id.and_then(|id| mcpgen_types::from_str::<RequestId>(id.get()).ok());
        let waiting = id.and_then(|id| self.state().waiting.get(&id).cloned());
        match waiting {
            Some(waiting) if waiting.is_modern => {
                waiting.over.cancel();
                true
            }
            _ => false,
        }
    }

    /// Makes a request, and sees to it that its answer arrives.
    async fn request(self: &Arc<Self>, id: &RequestId, sent: Sent) -> Result<(), HttpError> {
        let sent = Arc::new(sent);
        let begins = sent.method.as_deref() == Some("initialize");
        let lists = sent.method.as_deref() == Some("tools/list") && sent.version.is_some();
        if begins {
            let mut state = self.state();
            (state.session, state.version) = (None, None);
        }
        let response = self.post(&sent).await?;
        if begins {
            let session = response.headers().get(SESSION).cloned();
            let mut state = self.state();
            (state.session, state.initialize) = (session, Some(Arc::clone(&sent)));
        }
        let arrived = |message: &[u8]| {
            if begins {
                self.state().version = agreed(message);
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
                self.follow(events, answers, may_return).await
            }
        }
    }

    /// Delivers what a stream brings, until the answer is there.
    async fn follow(
        &self,
        mut events: EventStream,
        answers: impl Fn(&[u8]) -> bool,
        may_return: bool,
    ) -> Result<(), HttpError> {
        let mut attempts = 0;
        loop {
            while let Some(message) = events.next().await {
                attempts = 0;
                let is_last = answers(&message);
                self.deliver(message).await;
                if is_last {
                    return Ok(());
                }
            }
            let Some(last) = events.last.clone().filter(|_| may_return && attempts < self.options.attempts) else {
                return Err(HttpError::NoAnswer);
            };
            tokio::time::sleep(self.pause(events.retry, attempts)).await;
            attempts += 1;
            match self.stream(Some(&last)).await {
                Ok(again) => {
                    let (last, retry) = (events.last.take(), events.retry);
                    events = again;
                    (events.last, events.retry) = (last, retry);
                }
                // It may be there again the next time.
                Err(HttpError::Http(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn pause(&self, said: Option<Duration>, attempts: u32) -> Duration {
        said.unwrap_or_else(|| self.options.pause.saturating_mul(1 << attempts.min(6)))
    }

    /// A stream of the session: what belongs to no request, or what came after an event.
    async fn stream(&self, last: Option<&str>) -> Result<EventStream, HttpError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last) = last.and_then(|last| HeaderValue::from_str(last).ok()) {
            headers.insert(LAST_EVENT, last);
        }
        let response = self.send(Method::GET, headers, None).await?;
        match Reply::of(succeeded(response).await?, self.options.longest).await? {
            Reply::Events(events) => Ok(events),
            _ => Err(HttpError::ContentType(String::new())),
        }
    }

    /// Hears what belongs to no request, for as long as the session lasts.
    fn listen(self: &Arc<Self>) {
        let (this, session) = (Arc::clone(self), self.state().session.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = this.closing.cancelled() => {}
                ended = this.hear(session) => match ended {
                    // It has none.
                    Err(HttpError::Status { status: StatusCode::METHOD_NOT_ALLOWED, .. }) | Ok(()) => {}
                    Err(error) => tracing::warn!(%error, "what belongs to no request is not heard any more"),
                },
            }
        });
    }

    async fn hear(&self, session: Option<HeaderValue>) -> Result<(), HttpError> {
        let (mut attempts, mut last, mut retry) = (0, None::<String>, None);
        while self.state().session == session {
            match self.stream(last.as_deref()).await {
                Ok(mut events) => {
                    while let Some(message) = events.next().await {
                        attempts = 0;
                        self.deliver(message).await;
                    }
                    (last, retry) = (events.last.or(last), events.retry.or(retry));
                }
                // What came after it is not kept: then without it.
                Err(HttpError::Status { status: StatusCode::BAD_REQUEST, .. }) if last.is_some() => last = None,
                // The next message will find out.
                Err(HttpError::Status { status: StatusCode::NOT_FOUND, .. }) if session.is_some() => return Ok(()),
                Err(error) if attempts >= self.options.attempts => return Err(error),
                Err(HttpError::Http(_)) => {}
                Err(HttpError::Status { status, .. }) if status.is_server_error() => {}
                Err(error) => return Err(error),
            }
            if attempts >= self.options.attempts.saturating_mul(20) {
                return Err(HttpError::NoAnswer);
            }
            tokio::time::sleep(self.pause(retry, attempts)).await;
            attempts += 1;
        }
        Ok(())
    }

    /// Sends a message. If there is no session any more, it is sent to a new one.
    async fn post(self: &Arc<Self>, sent: &Sent) -> Result<reqwest::Response, HttpError> {
        let session = self.state().session.clone();
        let response = self.send(Method::POST, of_message(sent), Some(sent)).await?;
        if response.status() != StatusCode::NOT_FOUND || session.is_none() || sent.version.is_some() {
            return succeeded(response).await;
        }
        self.begin_again(session).await?;
        let response = self.send(Method::POST, of_message(sent), Some(sent)).await?;
        succeeded(response).await
    }

    /// Begins a session in the place of one that was lost.
    async fn begin_again(self: &Arc<Self>, lost: Option<HeaderValue>) -> Result<(), HttpError> {
        let _one = self.beginning.lock().await;
        let (initialize, version) = {
            let mut state = self.state();
            if state.session != lost {
                return Ok(());
            }
            state.session = None;
            (state.initialize.clone(), state.version.take())
        };
        let Some(initialize) = initialize else { return Ok(()) };
        tracing::warn!("the session has ended; a new one is begun");
        let begun = self.initialize(&initialize).await;
        let begun = match begun {
            Ok((session, agreed)) if agreed == version => Ok(session),
            Ok((_, agreed)) => Err(HttpError::Session(agreed)),
            Err(error) => Err(error),
        };
        {
            let mut state = self.state();
            // After a failure the next message tries again.
            state.session = begun.as_ref().map_or(lost, Clone::clone);
            state.version = version;
        }
        begun?;
        let (_, ready) = self.look(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_vec());
        succeeded(self.send(Method::POST, of_message(&ready), Some(&ready)).await?).await?;
        self.listen();
        Ok(())
    }

    /// A new session, and the revision that is agreed on in it.
    async fn initialize(&self, initialize: &Sent) -> Result<(Option<HeaderValue>, Option<HeaderValue>), HttpError> {
        let response = succeeded(self.send(Method::POST, of_message(initialize), Some(initialize)).await?).await?;
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
        Ok((session, answer.as_deref().and_then(agreed)))
    }

    /// Tells the server that the session is not needed any more.
    async fn leave(&self) {
        if self.state().session.is_none() {
            return;
        }
        let patience = self.options.patience.min(Duration::from_secs(5));
        match tokio::time::timeout(patience, self.send(Method::DELETE, HeaderMap::new(), None)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the session could not be ended"),
            Err(_) => tracing::debug!("the session was not ended in time"),
        }
    }

    /// One request of HTTP, made again where its authorization was not enough.
    async fn send(
        &self,
        method: Method,
        mut headers: HeaderMap,
        sent: Option<&Sent>,
    ) -> Result<reqwest::Response, HttpError> {
        {
            let state = self.state();
            let is_modern = sent.is_some_and(|sent| sent.version.is_some());
            let version = match sent.and_then(|sent| sent.version.as_deref()) {
                Some(version) => HeaderValue::from_str(version).ok(),
                None => state.version.clone(),
            };
            headers.extend(version.map(|version| (PROTOCOL_VERSION, version)));
            headers.extend(state.session.clone().filter(|_| !is_modern).map(|session| (SESSION, session)));
        }
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
            HttpError::Status { body, .. } => said(body, id),
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

/// The headers that a message is sent with.
fn of_message(sent: &Sent) -> HeaderMap {
    let mut headers = sent.headers.clone();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers
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

/// The error that the body of a refusal is, as the answer to a request.
fn said(body: &str, id: &RequestId) -> Option<Vec<u8>> {
    match Envelope::read(body).ok()? {
        Envelope::Error { id: ErrorId::Id(of), .. } if of != *id => None,
        Envelope::Error { error, .. } => Some(mcpgen_types::to_vec(&ErrorMessage::new(id.clone(), error))),
        _ => None,
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
