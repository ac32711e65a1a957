//! The revisions that begin with `initialize`: 2024-11-05 to 2025-11-25.
//!
//! Both sides agree on a revision and on what each is able to do; the connection holds to it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpgen_types::{ErrorCode, ErrorObject, JsonObject, RawJson, Revision, Value};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::connection::{Connection, Limits};
use crate::era::{About, Admission, Era, Level, can};
use crate::errors;
use crate::outbox::Closed;
use crate::peer::{CallError, Peer};
use crate::router::{Requests, Router};
use crate::transport::{Incoming, Outgoing};

/// All revisions of this kind, oldest first.
pub fn revisions() -> impl DoubleEndedIterator<Item = Revision> {
    Revision::ALL.iter().copied().filter(|revision| revision.is_legacy())
}

/// What one side says of itself when the connection begins.
#[derive(Clone, Debug)]
pub struct Introduction {
    /// The revisions that it speaks, best first.
    pub revisions: Vec<Revision>,
    /// What it is able to do: the JSON of a revision's `ServerCapabilities` or `ClientCapabilities`.
    pub capabilities: JsonObject,
    /// Its name and version: the JSON of a revision's `Implementation`.
    pub implementation: JsonObject,
    /// How a server wants to be used.
    pub instructions: Option<String>,
}

impl Introduction {
    /// Someone who speaks all revisions of this kind and is able to do nothing yet.
    pub fn new(name: &str, version: &str) -> Self {
        let implementation = [("name", name), ("version", version)];
        Self {
            revisions: revisions().rev().collect(),
            capabilities: JsonObject::new(),
            implementation: implementation
                .map(|(key, value)| (key.to_owned(), Value::from(value)))
                .into_iter()
                .collect(),
            instructions: None,
        }
    }

    /// Leaves the revisions of which this holds.
    #[must_use]
    pub fn speaking(mut self, wanted: impl Fn(Revision) -> bool) -> Self {
        self.revisions.retain(|revision| wanted(*revision));
        self
    }

    /// Adds a capability, such as `tools` with `{"listChanged": true}`.
    #[must_use]
    pub fn able(mut self, capability: &str, details: Value) -> Self {
        self.capabilities.insert(capability.to_owned(), details);
        self
    }
}

/// One end of a connection of this era.
#[derive(Debug)]
pub struct Legacy {
    side: Side,
    ours: Introduction,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

#[derive(Debug, Default)]
struct State {
    /// Known once the handshake is through.
    theirs: Option<Arc<About>>,
    /// The other side knows that it is.
    ready: bool,
    level: Option<Level>,
    /// Why the handshake failed.
    failed: Option<HandshakeError>,
}

impl Legacy {
    /// The end that is asked to initialize.
    pub fn server(ours: Introduction) -> Self {
        Self { side: Side::Server, ours, state: Mutex::default() }
    }

    fn client(ours: Introduction) -> Self {
        Self { side: Side::Client, ours, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to `initialize`: the revision that was asked for if we speak it, otherwise the best that we speak.
    fn initialize(&self, params: Option<&RawJson>) -> Result<RawJson, ErrorObject> {
        let invalid = |what: &str| Err(errors::invalid_params_in_words(what));
        let mut state = self.state();
        if state.theirs.is_some() {
            return Err(errors::invalid_request("the connection is initialized already"));
        }
        let mut params: JsonObject = match params.map(RawJson::decode) {
            Some(Ok(params)) => params,
            Some(Err(error)) => return Err(errors::invalid_params(&error.at_key("params"))),
            None => return invalid("params: missing required member"),
        };
        let Some(Value::String(asked)) = params.remove("protocolVersion") else {
            return invalid("params.protocolVersion: expected a string");
        };
        let Some(Value::Object(capabilities)) = params.remove("capabilities") else {
            return invalid("params.capabilities: expected an object");
        };
        let Some(Value::Object(implementation)) = params.remove("clientInfo") else {
            return invalid("params.clientInfo: expected an object");
        };
        let spoken = &self.ours.revisions;
        let Some(revision) = spoken.iter().find(|revision| revision.as_str() == asked).or(spoken.first()).copied()
        else {
            let data = json!({ "supported": [], "requested": asked });
            return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, "unsupported protocol version").with_data(data));
        };
        state.theirs = Some(Arc::new(About { revision, capabilities, implementation, instructions: None }));
        let mut result = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": self.ours.capabilities,
            "serverInfo": self.ours.implementation,
        });
        if let Some(instructions) = &self.ours.instructions {
            result["instructions"] = json!(instructions);
        }
        Ok(RawJson::from(&result))
    }

    /// What a server says of itself.
    fn introduced(&self, result: &RawJson) -> Result<About, HandshakeError> {
        let mut result: JsonObject = result.decode().map_err(|error| CallError::Invalid(error.into()))?;
        let Some(Value::String(version)) = result.remove("protocolVersion") else {
            return Err(HandshakeError::Invalid("the string `protocolVersion`"));
        };
        let Some(revision) = self.ours.revisions.iter().find(|revision| revision.as_str() == version).copied() else {
            return Err(HandshakeError::Version(version));
        };
        let Some(Value::Object(capabilities)) = result.remove("capabilities") else {
            return Err(HandshakeError::Invalid("the object `capabilities`"));
        };
        let Some(Value::Object(implementation)) = result.remove("serverInfo") else {
            return Err(HandshakeError::Invalid("the object `serverInfo`"));
        };
        let instructions = result.get("instructions").and_then(Value::as_str).map(str::to_owned);
        Ok(About { revision, capabilities, implementation, instructions })
    }

    fn set_level(&self, params: Option<&RawJson>) -> Result<RawJson, ErrorObject> {
        let params: JsonObject = params.and_then(|params| params.decode().ok()).unwrap_or_default();
        let level = params.get("level").and_then(Value::as_str).and_then(Level::from_name);
        let Some(level) = level else {
            return Err(errors::invalid_params_in_words("params.level: expected the name of a level"));
        };
        self.state().level = Some(level);
        Ok(RawJson::from(&json!({})))
    }

    /// Which side must be able to do what. `answers` is the side that a request goes to.
    fn needs(method: &str, revision: Revision, answers: Side) -> (Side, &'static [&'static str]) {
        match method {
            "tasks/get" | "tasks/result" => (answers, &["tasks"]),
            "tasks/list" => (answers, &["tasks", "list"]),
            "tasks/cancel" => (answers, &["tasks", "cancel"]),
            "tools/list" | "tools/call" => (Side::Server, &["tools"]),
            "resources/list" | "resources/read" | "resources/templates/list" => (Side::Server, &["resources"]),
            "resources/subscribe" | "resources/unsubscribe" | "notifications/resources/updated" => {
                (Side::Server, &["resources", "subscribe"])
            }
            "prompts/list" | "prompts/get" => (Side::Server, &["prompts"]),
            "logging/setLevel" | "notifications/message" => (Side::Server, &["logging"]),
            // The first revision had no name for this capability.
            "completion/complete" if revision != Revision::V2024_11_05 => (Side::Server, &["completions"]),
            "notifications/tools/list_changed" => (Side::Server, &["tools", "listChanged"]),
            "notifications/resources/list_changed" => (Side::Server, &["resources", "listChanged"]),
            "notifications/prompts/list_changed" => (Side::Server, &["prompts", "listChanged"]),
            "roots/list" => (Side::Client, &["roots"]),
            "notifications/roots/list_changed" => (Side::Client, &["roots", "listChanged"]),
            "sampling/createMessage" => (Side::Client, &["sampling"]),
            "elicitation/create" => (Side::Client, &["elicitation"]),
            _ => (Side::Server, &[]),
        }
    }

    /// Whether one of the two lacks what the method takes: its words for an error.
    fn lacks(&self, method: &str, theirs: &About, answers: Side) -> Option<String> {
        let (side, path) = Self::needs(method, theirs.revision, answers);
        if !method.starts_with("notifications/") && !path.is_empty() && side != answers {
            return Some(format!(
                "{method}: no request to a {}",
                if answers == Side::Server { "server" } else { "client" }
            ));
        }
        let able = if side == self.side { can(&self.ours.capabilities, path) } else { theirs.can(path) };
        let who = if side == Side::Server { "server" } else { "client" };
        (!able).then(|| format!("{method}: the {who} has not declared the capability {}", path.join(".")))
    }
}

/// What the params of a request take beyond its method, and the other side has not declared.
fn asks_too_much(method: &str, theirs: &About, params: &RawJson) -> Option<String> {
    let asks = matches!(method, "tools/call" | "sampling/createMessage" | "elicitation/create");
    if !asks || theirs.revision < Revision::V2025_11_25 {
        return None;
    }
    let params: JsonObject = params.decode().ok()?;
    let has = |name: &str| params.contains_key(name);
    let mode = params.get("mode").and_then(Value::as_str).unwrap_or("form");
    let task: &[&str] = match method {
        "tools/call" => &["tasks", "requests", "tools", "call"],
        "sampling/createMessage" => &["tasks", "requests", "sampling", "createMessage"],
        _ => &["tasks", "requests", "elicitation", "create"],
    };
    // Whoever names no mode of elicitation has the one that there was first.
    let names_modes = theirs.can(&["elicitation", "form"]) || theirs.can(&["elicitation", "url"]);
    let needs: [(bool, &[&str]); 4] = [
        (has("task"), task),
        (method == "sampling/createMessage" && (has("tools") || has("toolChoice")), &["sampling", "tools"]),
        (method == "elicitation/create" && mode == "url", &["elicitation", "url"]),
        (method == "elicitation/create" && mode == "form" && names_modes, &["elicitation", "form"]),
    ];
    let (_, lacking) = needs.into_iter().find(|(needed, path)| *needed && !theirs.can(path))?;
    Some(format!("{method}: the other side has not declared the capability {}", lacking.join(".")))
}

impl Era for Legacy {
    fn request(&self, method: &str, params: Option<&RawJson>) -> Result<Admission, ErrorObject> {
        let theirs = self.state().theirs.clone();
        match (method, theirs) {
            ("ping", _) => Ok(Admission::Answer(RawJson::from(&json!({})))),
            ("initialize", _) if self.side == Side::Server => self.initialize(params).map(Admission::Answer),
            (_, None) => Err(errors::invalid_request("the connection is not initialized yet")),
            (_, Some(theirs)) => match self.lacks(method, &theirs, self.side) {
                Some(why) => Err(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, why)),
                None if method == "logging/setLevel" => self.set_level(params).map(Admission::Answer),
                None => Ok(Admission::Handle(theirs.revision)),
            },
        }
    }

    fn notification(&self, method: &str, _: Option<&RawJson>) -> Option<Revision> {
        let mut state = self.state();
        if method == "notifications/initialized" {
            state.ready = state.theirs.is_some();
        }
        state.theirs.as_ref().map(|theirs| theirs.revision)
    }

    fn batches(&self) -> bool {
        self.about().is_some_and(|theirs| theirs.revision == Revision::V2025_03_26)
    }

    fn may_send(&self, method: &str, revision: Option<Revision>, params: Option<&RawJson>) -> Result<(), String> {
        let State { theirs, ready, .. } = &*self.state();
        let early = match (self.side, method) {
            (_, "ping" | "notifications/cancelled" | "notifications/progress") | (Side::Client, "initialize") => {
                return Ok(());
            }
            (Side::Server, "notifications/message") => true,
            _ => false,
        };
        match theirs {
            Some(theirs) if revision.is_some_and(|revision| revision != theirs.revision) => {
                let spoken = theirs.revision.as_str();
                let of = revision.map_or("", Revision::as_str);
                Err(format!("{method}: the type is of revision {of}, and the connection of {spoken}"))
            }
            Some(theirs) if *ready || early || self.side == Side::Client => {
                let lacks = self.lacks(method, theirs, self.side.other());
                lacks.or_else(|| asks_too_much(method, theirs, params?)).map_or(Ok(()), Err)
            }
            _ => Err(format!("{method}: the connection is not initialized yet")),
        }
    }

    fn may_cancel(&self, method: &str, params: Option<&RawJson>) -> bool {
        let is_task = |params: &RawJson| params.decode().is_ok_and(|params: JsonObject| params.contains_key("task"));
        let tasks = self.about().is_some_and(|theirs| theirs.revision >= Revision::V2025_11_25);
        // A task has a request of its own for this.
        method != "initialize" && !(tasks && params.is_some_and(is_task))
    }

    fn answered(&self, method: &str, result: &RawJson) {
        if method == "initialize" && self.side == Side::Client {
            let introduced = self.introduced(result);
            let mut state = self.state();
            match introduced {
                Ok(about) => state.theirs = Some(Arc::new(about)),
                Err(error) => state.failed = Some(error),
            }
        }
    }

    fn about(&self) -> Option<Arc<About>> {
        self.state().theirs.clone()
    }

    fn logs(&self, level: Level) -> bool {
        can(&self.ours.capabilities, &["logging"]) && self.state().level.is_none_or(|least| level >= least)
    }
}

/// Why a connection could not be made.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The server refused, or said nothing.
    #[error("initialize: {0}")]
    Call(#[from] CallError),
    /// The server speaks a revision that we do not.
    #[error("the server speaks revision {0:?}, which is not supported here")]
    Version(String),
    /// The server's answer is not one to `initialize`.
    #[error("initialize: the result lacks {0}")]
    Invalid(&'static str),
}

/// A client whose connection is ready, and the task that runs it.
#[derive(Debug)]
pub struct Client {
    /// The server.
    pub peer: Peer,
    /// Ends when the connection does.
    pub connection: JoinHandle<io::Result<()>>,
}

/// Begins a connection as its client. `requests` answers what the server asks, and is a router or a router in layers of
/// middleware; `handlers` takes the notifications.
///
/// # Errors
///
/// The server refuses, is silent, or speaks no revision that we speak. The connection is closed then.
pub async fn connect(
    ours: Introduction,
    requests: impl Requests,
    handlers: Router,
    incoming: impl Incoming,
    outgoing: impl Outgoing,
    limits: Limits,
) -> Result<Client, HandshakeError> {
    let params = json!({
        "protocolVersion": ours.revisions.first().map_or("", |revision| revision.as_str()),
        "capabilities": ours.capabilities,
        "clientInfo": ours.implementation,
    });
    let era = Arc::new(Legacy::client(ours));
    let connection = Connection::new(requests, handlers, era.clone(), limits);
    let peer = connection.peer().clone();
    let mut running = Running(Some(tokio::spawn(connection.run(incoming, outgoing))));
    shake(&peer, &era, params).await?;
    let connection = running.0.take().ok_or(CallError::Closed(Closed))?;
    Ok(Client { peer, connection })
}

/// A connection that ends with the handshake, unless that was a success.
struct Running(Option<JoinHandle<io::Result<()>>>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.abort();
        }
    }
}

async fn shake(peer: &Peer, era: &Legacy, params: Value) -> Result<(), HandshakeError> {
    // What the result says is known before anything after it is looked at: see `Era::answered`.
    peer.raw_request("initialize", Some(RawJson::from(&params))).await?;
    if let Some(error) = era.state().failed.take() {
        return Err(error);
    }
    peer.raw_notify("notifications/initialized", None).await?;
    Ok(())
}

/// Runs a server on a connection until its client is gone. It speaks those of its revisions that a handler is of.
///
/// To tell the client something when it has asked for nothing, keep a handler's [`Context::peer`](crate::Context::peer), or
/// make the [`Connection`] yourself, of a [`Legacy::server`]. `requests` is the router itself, or the router in layers of
/// middleware; `handlers` takes the notifications.
///
/// # Errors
///
/// Reading or writing failed.
pub async fn serve(
    ours: Introduction,
    requests: impl Requests,
    handlers: Router,
    incoming: impl Incoming,
    outgoing: impl Outgoing,
    limits: Limits,
) -> io::Result<()> {
    let spoken = handlers.revisions();
    let ours = match spoken.is_empty() {
        true => ours,
        false => ours.speaking(|revision| spoken.contains(&revision)),
    };
    Connection::new(requests, handlers, Arc::new(Legacy::server(ours)), limits).run(incoming, outgoing).await
}
