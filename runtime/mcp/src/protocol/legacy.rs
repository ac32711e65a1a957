//! Legacy revisions, 2024-11-05 to 2025-11-25.
//!
//! A connection begins with `initialize`, which negotiates its revision and both sides' capabilities.

use std::sync::Arc;

use mcpgen_runtime::jsonrpc::errors;
use mcpgen_types::{ErrorCode, ErrorObject, Json, JsonObject, Revision};
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;
use tower::BoxError;

use super::meta::with_meta;
use crate::protocol::info::{HandlerCapabilities, LocalInfo, PeerInfo, check_declarations, missing_for};
use crate::protocol::{
    Admission, IncomingRequest, Level, NotAllowed, RequestInfo, RequestScope, RevisionRules, Role, methods,
};

/// The `_meta` key for the task that a message belongs to (2025-11-25).
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// The rules for one side of a connection with a legacy revision.
#[derive(Debug)]
pub struct Legacy {
    role: Role,
    local_info: LocalInfo,
    handlers: HandlerCapabilities,
    /// Whether `logging/setLevel` is passed on to a handler as well.
    passes_log_level_on: bool,
    initializes_once: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What the peer declared. Known once the handshake is complete.
    peer_info: Option<Arc<PeerInfo>>,
    /// Whether the client has sent `notifications/initialized`.
    ready: bool,
    level: Option<Level>,
    /// Why the handshake failed.
    failed: Option<InitializeError>,
}

impl Legacy {
    /// Creates the rules for one side. Modern revisions of `local_info` are ignored.
    pub fn new(role: Role, local_info: LocalInfo) -> Self {
        Self {
            role,
            local_info: local_info.retain_revisions(Revision::is_legacy),
            handlers: HandlerCapabilities::default(),
            passes_log_level_on: false,
            initializes_once: false,
            state: Mutex::default(),
        }
    }

    pub(crate) fn with_handlers(mut self, handlers: HandlerCapabilities) -> Self {
        self.handlers = handlers;
        self
    }

    /// Passes `logging/setLevel` on to a handler as well.
    pub(crate) fn pass_log_level_on(mut self) -> Self {
        self.passes_log_level_on = true;
        self
    }

    /// Refuses a second `initialize`, for connections that belong to a single client.
    #[must_use]
    pub fn initialize_once(mut self) -> Self {
        self.initializes_once = true;
        self
    }

    fn capabilities(&self, revision: Revision) -> JsonObject {
        self.handlers.capabilities(&self.local_info, revision)
    }

    fn can(&self, revision: Revision, path: &[&str]) -> bool {
        self.handlers.can(&self.local_info, revision, path)
    }

    pub(crate) fn initialize_params(&self) -> Json {
        let best = self.local_info.revisions.first().copied();
        Json::from(&json!({
            "protocolVersion": best.map_or("", Revision::as_str),
            "capabilities": best.map_or_else(JsonObject::new, |revision| self.capabilities(revision)),
            "clientInfo": self.local_info.implementation,
        }))
    }

    /// Takes the error if the result of `initialize` was rejected.
    pub(crate) fn take_error(&self) -> Option<InitializeError> {
        self.state().failed.take()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(super) fn is_initialized(&self) -> bool {
        self.state().peer_info.is_some()
    }

    /// Handles `initialize`. Responds with the requested revision if it is supported, otherwise with the preferred one.
    ///
    /// Gateways hand a server's process to one client after another, so a second `initialize` begins a new session
    /// that keeps nothing of the previous one.
    fn initialize(&self, params: Option<&Json>) -> Result<Admission, ErrorObject> {
        let invalid = |what: &str| Err(errors::invalid_params_in_words(what));
        let mut state = self.state();
        if self.initializes_once && state.peer_info.is_some() {
            return Err(errors::invalid_request("the connection is already initialized"));
        }
        let declared =
            params.map(|params| params.read(|params| check_declarations(params, &["capabilities", "clientInfo"])));
        if let Some(Ok(Err(why))) = declared {
            return invalid(&format!("params{why}"));
        }
        let params: JsonObject = match params.map(|params| params.decode()) {
            Some(Ok(params)) => params,
            Some(Err(error)) => return Err(errors::invalid_params(&error.at_key("params"))),
            None => return invalid("params: missing required member"),
        };
        let Some(requested) = params.get("protocolVersion").and_then(|version| version.as_str()) else {
            return invalid("params.protocolVersion: expected a string");
        };
        let object = |name: &str| JsonObject::try_from(params.get(name)?).ok();
        let Some(capabilities) = object("capabilities") else {
            return invalid("params.capabilities: expected an object");
        };
        let Some(implementation) = object("clientInfo") else {
            return invalid("params.clientInfo: expected an object");
        };
        let supported = &self.local_info.revisions;
        let Some(revision) =
            supported.iter().find(|revision| revision.as_str() == &*requested).or(supported.first()).copied()
        else {
            let data = json!({ "supported": [], "requested": requested });
            return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, "unsupported protocol version").with_data(data));
        };
        let peer_info = Arc::new(PeerInfo { revision, capabilities, implementation, instructions: None });
        let before = std::mem::replace(&mut *state, State { peer_info: Some(peer_info), ..State::default() });
        let mut result = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": self.capabilities(revision),
            "serverInfo": self.local_info.implementation,
        });
        if let Some(instructions) = &self.local_info.instructions {
            result["instructions"] = json!(instructions);
        }
        let result = Json::from(&result);
        Ok(if before.peer_info.is_some() { Admission::NewSession(result) } else { Admission::Respond(result) })
    }

    fn read_peer_info(&self, result: &Json) -> Result<PeerInfo, InitializeError> {
        let declared = result.read(|result| check_declarations(result, &["capabilities", "serverInfo"]));
        declared.map_err(InitializeError::Json)?.map_err(InitializeError::TooLong)?;
        let result: JsonObject = result.decode().map_err(InitializeError::Json)?;
        let text = |name: &str| Some(result.get(name)?.as_str()?.into_owned());
        let object = |name: &str| JsonObject::try_from(result.get(name)?).ok();
        let Some(version) = text("protocolVersion") else {
            return Err(InitializeError::Missing("the string `protocolVersion`"));
        };
        let Some(revision) = self.local_info.revisions.iter().find(|revision| revision.as_str() == version).copied()
        else {
            return Err(match Revision::ALL.iter().find(|revision| revision.as_str() == version) {
                Some(revision) if !revision.is_legacy() => InitializeError::Modern(*revision),
                _ => InitializeError::Version(version),
            });
        };
        let Some(capabilities) = object("capabilities") else {
            return Err(InitializeError::Missing("the object `capabilities`"));
        };
        let Some(implementation) = object("serverInfo") else {
            return Err(InitializeError::Missing("the object `serverInfo`"));
        };
        Ok(PeerInfo { revision, capabilities, implementation, instructions: text("instructions") })
    }

    fn set_log_level(&self, params: Option<&Json>) -> Result<Json, ErrorObject> {
        let level = Level::of_params(params);
        let Some(level) = level else {
            return Err(errors::invalid_params_in_words("params.level: expected the name of a log level"));
        };
        self.state().level = Some(level);
        Ok(Json::from(&json!({})))
    }

    /// Returns an error if the method is not a request to `receiver`, or if a side did not declare the capability that
    /// the method needs.
    fn missing_capability(&self, method: &str, peer_info: &PeerInfo, receiver: Role) -> Option<NotAllowed> {
        let spec = methods::in_or_near(peer_info.revision, method)?;
        if spec.is_request && !methods::is_received_by(spec, receiver) {
            return Some(NotAllowed::Direction { method: method.to_owned(), role: receiver });
        }
        let declared_by = if spec.is_request { receiver } else { receiver.other() };
        let has_capability = match declared_by == self.role {
            // The router decides whether it has a handler.
            true if methods::may_be_undeclared(method) => true,
            true => self.can(peer_info.revision, spec.capability),
            false => peer_info.can(spec.capability),
        };
        if has_capability {
            return None;
        }
        let capability = spec.capability.join(".");
        Some(NotAllowed::Capability { method: method.to_owned(), role: declared_by, capability })
    }

    /// Returns an error if the params of a request need a capability, beyond the method's own, that the peer did not
    /// declare.
    fn missing_for_params(&self, method: &str, peer_info: &PeerInfo, params: &Json) -> Option<NotAllowed> {
        let runs_as_task = peer_info.revision.method(method).is_some_and(|spec| spec.may_run_as_task);
        if !runs_as_task {
            return None;
        }
        let task: Vec<&str> = ["tasks", "requests"].into_iter().chain(method.split('/')).collect();
        let missing_for = match params.get("task").is_some() && !peer_info.can(&task) {
            true => &task,
            false => missing_for(method, params.as_ref(), peer_info.capabilities.as_ref())?,
        };
        let (method, capability) = (method.to_owned(), missing_for.join("."));
        Some(NotAllowed::Capability { method, role: self.role.other(), capability })
    }
}

/// Why a client rejects the result of `initialize`.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InitializeError {
    /// The result is not a JSON object.
    #[error("initialize: the result is not a JSON object: {0}")]
    Json(#[source] mcpgen_types::Error),
    /// A member is missing or has the wrong type.
    #[error("initialize: expected {0} in the result")]
    Missing(&'static str),
    /// A member is longer than [`MAX_DECLARATION`](crate::protocol::info::MAX_DECLARATION).
    #[error("initialize: result{0}")]
    TooLong(String),
    /// The server selected a revision that has no `initialize`.
    #[error("the server selected revision {0} in its response to `initialize`, which that revision does not have")]
    Modern(Revision),
    /// The server selected a revision that this client does not support.
    #[error("the server selected revision {0:?}, which this client does not support")]
    Version(String),
}

impl RevisionRules for Legacy {
    fn admit(&self, request: &IncomingRequest<'_>) -> Result<Admission, ErrorObject> {
        let IncomingRequest { method, params, .. } = *request;
        let peer_info = self.state().peer_info.clone();
        match (method, peer_info) {
            ("ping", _) => Ok(Admission::Respond(Json::from(&json!({})))),
            ("initialize", _) if self.role == Role::Server => self.initialize(params),
            (_, None) => Err(errors::invalid_request("the connection is not initialized yet; send `initialize` first")),
            (_, Some(peer_info)) => match self.missing_capability(method, &peer_info, self.role) {
                Some(why) => Err(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, why.to_string())),
                None => {
                    let level = (method == "logging/setLevel").then(|| self.set_log_level(params)).transpose()?;
                    if let Some(result) = level.filter(|_| !self.passes_log_level_on) {
                        return Ok(Admission::Respond(result));
                    }
                    let revision = peer_info.revision;
                    Ok(Admission::Handle(RequestScope { revision, peer_info: Some(peer_info), level: None }))
                }
            },
        }
    }

    fn notification_revision(&self, method: &str, _: Option<&Json>) -> Option<Revision> {
        let mut state = self.state();
        if method == "notifications/initialized" {
            state.ready = state.peer_info.is_some();
        }
        state.peer_info.as_ref().map(|peer_info| peer_info.revision)
    }

    fn allows_batches(&self) -> bool {
        self.peer_info().is_some_and(|peer_info| peer_info.revision.has_batches())
    }

    fn may_send(
        &self,
        _: Option<&RequestScope>,
        method: &str,
        revision: Option<Revision>,
        params: Option<&Json>,
    ) -> Result<(), NotAllowed> {
        let State { peer_info, ready, .. } = &*self.state();
        let early = match (self.role, method) {
            (_, "ping" | "notifications/cancelled" | "notifications/progress") | (Role::Client, "initialize") => {
                return Ok(());
            }
            (Role::Server, "notifications/message") => true,
            _ => false,
        };
        if let (Some(of), Some(PeerInfo { revision: used, .. })) = (revision, peer_info.as_deref())
            && of != *used
        {
            return Err(NotAllowed::OtherRevision { method: method.to_owned(), of, used: *used });
        }
        match peer_info {
            Some(peer_info) if *ready || early || self.role == Role::Client => {
                let lacks = self.missing_capability(method, peer_info, self.role.other());
                lacks.or_else(|| self.missing_for_params(method, peer_info, params?)).map_or(Ok(()), Err)
            }
            _ => Err(NotAllowed::NotInitialized { method: method.to_owned() }),
        }
    }

    fn complete_response(
        &self,
        request: &RequestInfo<'_>,
        result: Result<Json, ErrorObject>,
    ) -> Result<Json, ErrorObject> {
        match request.meta.get(RELATED_TASK) {
            Some(task) if !request.method.starts_with("tasks/") => {
                let related = with_meta(Some(result?), &[(RELATED_TASK, task.to_string())], false);
                related.ok().flatten().ok_or_else(errors::internal)
            }
            _ => result,
        }
    }

    fn may_cancel(&self, method: &str, params: Option<&Json>) -> bool {
        let is_task = |params: &Json| params.decode().is_ok_and(|params: JsonObject| params.contains_key("task"));
        let may_run_as_task =
            |peer_info: Arc<PeerInfo>| peer_info.revision.method(method).is_some_and(|spec| spec.may_run_as_task);
        // Tasks are cancelled with `tasks/cancel`.
        method != "initialize" && !(params.is_some_and(is_task) && self.peer_info().is_some_and(may_run_as_task))
    }

    fn process_result(&self, method: &str, result: Json) -> Result<Json, BoxError> {
        if method == "initialize" && self.role == Role::Client {
            let read_peer_info = self.read_peer_info(&result);
            let mut state = self.state();
            match read_peer_info {
                Ok(peer_info) => state.peer_info = Some(Arc::new(peer_info)),
                Err(error) => state.failed = Some(error),
            }
        }
        Ok(result)
    }

    fn has_declared(&self, capability: &[&str]) -> bool {
        self.peer_info().is_some_and(|peer_info| self.can(peer_info.revision, capability))
    }

    fn role(&self) -> Option<Role> {
        Some(self.role)
    }

    fn peer_info(&self) -> Option<Arc<PeerInfo>> {
        self.state().peer_info.clone()
    }

    fn current_revision(&self) -> Option<Revision> {
        let negotiated = self.peer_info().map(|peer_info| peer_info.revision);
        negotiated.or_else(|| self.local_info.revisions.first().copied())
    }

    fn wants_log(&self, _: &RequestScope, level: Level) -> bool {
        self.has_declared(&["logging"]) && self.state().level.is_none_or(|least| level >= least)
    }
}
