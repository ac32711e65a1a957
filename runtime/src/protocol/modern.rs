//! Modern revisions, which have per-request metadata instead of a handshake: 2026-07-28.
//!
//! Every request carries its revision, its client and the client's capabilities, so it does not depend on earlier
//! messages. Only clients send requests. A server that needs input from the client requests it in its result.

use std::sync::{Arc, MutexGuard};

use mcpgen_types::codec::{Cursor, Decode};
use mcpgen_types::v2026_07_28::{DiscoverRequest, InputRequiredResult, RequestMetaObject};
use mcpgen_types::{ErrorCode, ErrorObject, JsonObject, RawJson, Request, Revision, Value};
use serde::Deserialize;
use serde_json::json;

use crate::jsonrpc::errors;
use crate::jsonrpc::json::{Edit, Picked, with_meta};
use crate::protocol::cache_hints::CacheHints;
use crate::protocol::info::{HandlerCapabilities, LocalInfo, PeerInfo, can, lacking};
use crate::protocol::{Admission, IncomingRequest, Level, Protocol, RequestInfo, RequestScope, Role, methods};
use crate::util::lock::Mutex;

/// The member of `_meta` with the revision of a request.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The member of `_meta` with the capabilities of the client that sends a request.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The member of `_meta` with the name and version of the client that sends a request.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The member of `_meta` with the minimum level of log messages that the client wants for a request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The member of `_meta` with the name and version of the server that sends a result.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The member of `_meta` with the subscription that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

impl ResultRules {
    fn knows(&self, kind: &str) -> bool {
        matches!(kind, "complete" | "input_required") || self.result_types.iter().any(|known| known == kind)
    }
}

/// The newest revision.
const NEWEST: Revision = Revision::V2026_07_28;

/// The protocol rules of one side for modern revisions, with or without a connection.
#[derive(Debug)]
pub struct Modern {
    side: Role,
    ours: LocalInfo,
    /// The default `_meta` of a result, with the server's name and version.
    stamp: RawJson,
    handled: HandlerCapabilities,
    /// All supported revisions, including legacy ones.
    spoken: Vec<Revision>,
    caching: CacheHints,
    reading: ResultRules,
    agreed: Mutex<Agreed>,
    /// The last admitted scope. Most requests of a client have the same metadata.
    admitted: Mutex<Option<Admitted>>,
}

/// What a client knows about its server.
#[derive(Debug)]
struct Agreed {
    revision: Option<Revision>,
    peer_info: Option<Arc<PeerInfo>>,
}

/// The `_meta` of a request and the scope that was read from it.
type Admitted = (Arc<JsonObject>, RequestScope);

/// The allowed values of `resultType`, and how a client treats a result without it.
#[derive(Clone, Debug, Default)]
pub struct ResultRules {
    /// Whether a client rejects a result without `resultType`. If false (the default), such a result, which servers of
    /// earlier revisions send, counts as `complete`.
    pub strict: bool,
    /// Values of `resultType` that extensions add to `complete` and `input_required`.
    pub result_types: Vec<String>,
}

impl Modern {
    /// Creates the rules for one side. It supports the modern revisions of `ours` and ignores the others.
    pub fn new(side: Role, ours: LocalInfo) -> Self {
        let ours = ours.retain_revisions(|revision| !revision.is_legacy());
        let agreed = Mutex::new(Agreed { revision: ours.revisions.first().copied(), peer_info: None });
        let stamp = JsonObject::from_iter([(SERVER_INFO.to_owned(), Value::Object(ours.implementation.clone()))]);
        Self {
            side,
            stamp: RawJson::from(&stamp),
            handled: HandlerCapabilities::default(),
            spoken: ours.revisions.clone(),
            ours,
            caching: CacheHints::default(),
            reading: ResultRules::default(),
            agreed,
            admitted: Mutex::default(),
        }
    }

    /// Adds the capabilities of the handlers to those of the local info, and sets the revisions to report as supported.
    pub(crate) fn handling(mut self, handled: HandlerCapabilities, spoken: Vec<Revision>) -> Self {
        (self.handled, self.spoken) = (handled, spoken);
        self
    }

    /// Returns the capabilities of this side.
    fn capabilities(&self) -> JsonObject {
        self.handled.capabilities(&self.ours, self.best())
    }

    fn can(&self, path: &[&str]) -> bool {
        self.handled.can(&self.ours, self.best(), path)
    }

    fn best(&self) -> Revision {
        self.ours.revisions.first().copied().unwrap_or(NEWEST)
    }

    /// Sets the cache hints of a server's results.
    #[must_use]
    pub fn caching(mut self, caching: CacheHints) -> Self {
        self.caching = caching;
        self
    }

    /// Sets the rules for results.
    #[must_use]
    pub fn reading(mut self, reading: ResultRules) -> Self {
        self.reading = reading;
        self
    }

    fn agreed(&self) -> MutexGuard<'_, Agreed> {
        self.agreed.lock()
    }

    fn admitted(&self) -> MutexGuard<'_, Option<Admitted>> {
        self.admitted.lock()
    }

    /// Returns the revision that the client uses or, for a server, prefers.
    fn revision(&self) -> Revision {
        self.agreed().revision.unwrap_or(NEWEST)
    }

    /// Sets the revision of all later requests of a client.
    pub(crate) fn agree(&self, revision: Revision) {
        self.agreed().revision = Some(revision);
    }

    /// Returns whether a request has the metadata of modern revisions.
    pub(crate) fn is_meant(asked: &IncomingRequest<'_>) -> bool {
        asked.meta.contains_key(PROTOCOL_VERSION) || asked.meta.contains_key(CLIENT_CAPABILITIES)
    }

    /// Returns the scope of a request, from its metadata.
    fn scope(&self, asked: &IncomingRequest<'_>) -> Result<RequestScope, ErrorObject> {
        if let Some((_, scope)) = self.admitted().as_ref().filter(|(meta, _)| Arc::ptr_eq(meta, asked.meta)) {
            return Ok(scope.clone());
        }
        let scope = self.read_terms(asked)?;
        *self.admitted() = Some((Arc::clone(asked.meta), scope.clone()));
        Ok(scope)
    }

    fn read_terms(&self, asked: &IncomingRequest<'_>) -> Result<RequestScope, ErrorObject> {
        let missing = |key: &str| {
            let why = format!("params._meta[{key:?}]: missing required member");
            errors::invalid_params_in_words(&why)
        };
        let revision = match asked.meta.get(PROTOCOL_VERSION) {
            None => return Err(missing(PROTOCOL_VERSION)),
            Some(Value::String(version)) => {
                let spoken = self.ours.revisions.iter().find(|revision| revision.as_str() == version);
                spoken.copied().ok_or_else(|| self.unsupported(version))?
            }
            // The decoder below reports the error.
            Some(_) => self.best(),
        };
        let meta = RequestMetaObject::deserialize(&**asked.meta).or_else(|_| {
            // Our own decoder reports a better error.
            let meta = mcpgen_types::from_value::<RequestMetaObject>(Value::Object(JsonObject::clone(asked.meta)));
            meta.map_err(|error| errors::invalid_params(&error.at_key("_meta").at_key("params")))
        })?;
        let object = |key: &str| asked.meta.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
        let peer_info = PeerInfo {
            revision,
            capabilities: object(CLIENT_CAPABILITIES),
            implementation: object(CLIENT_INFO),
            instructions: None,
        };
        let level = meta.log_level.and_then(|level| Level::from_name(level.as_str()));
        Ok(RequestScope { revision, peer_info: Some(Arc::new(peer_info)), level })
    }

    fn unsupported(&self, requested: &str) -> ErrorObject {
        errors::unsupported_version(self.spoken.iter().copied(), requested)
    }

    /// Returns the result of `server/discover`.
    fn discovered(&self) -> RawJson {
        let hint = self.caching.hint(DiscoverRequest::METHOD, None).unwrap_or_default();
        let mut result = json!({
            "resultType": "complete",
            "supportedVersions": self.spoken.iter().map(|revision| revision.as_str()).collect::<Vec<_>>(),
            "capabilities": self.capabilities(),
            "ttlMs": hint.ttl_ms(),
            "cacheScope": hint.scope(),
            "_meta": { SERVER_INFO: self.ours.implementation },
        });
        if let Some(instructions) = &self.ours.instructions {
            result["instructions"] = json!(instructions);
        }
        RawJson::from(&result)
    }

    /// Adds the members that every result must have.
    fn stamped(&self, request: &RequestInfo<'_>, result: RawJson) -> Result<RawJson, ErrorObject> {
        let broken = |why: &dyn std::fmt::Display| {
            tracing::error!(method = request.method, %why, "a handler returned an invalid result");
            errors::internal()
        };
        let edited = result.read(|json| self.stamped_text(request, &result, json)).map_err(|why| broken(&why))??;
        match edited {
            Stamped::Edited(edited) => Ok(edited),
            Stamped::Unchanged => Ok(result),
            Stamped::WithoutMeta => result.with_member("_meta", &self.stamp).ok_or_else(|| broken(&"not an object")),
        }
    }

    fn stamped_text(
        &self,
        request: &RequestInfo<'_>,
        result: &RawJson,
        json: Cursor<'_>,
    ) -> Result<Stamped, ErrorObject> {
        let broken = |why: &dyn std::fmt::Display| {
            tracing::error!(method = request.method, %why, "a handler returned an invalid result");
            errors::internal()
        };
        let picked = Picked::from(json, &["resultType", "_meta", "ttlMs", "cacheScope"]).map_err(|why| broken(&why))?;
        let [kind, meta, ttl, kept_by] = picked.values;
        let kind = match kind.map(|kind| kind.as_str().ok_or("resultType must be a string")) {
            None => None,
            Some(Ok(kind)) if self.reading.knows(&kind) => Some(kind),
            Some(Ok(_)) => return Err(broken(&"unknown resultType")),
            Some(Err(why)) => return Err(broken(&why)),
        };
        let mut edit = Edit::of(json);
        if kind.as_deref() == Some("input_required") {
            self.may_ask(request, result)?;
        } else if request.scope.revision.method(request.method).is_some_and(|spec| spec.cacheable) {
            let hint = self.caching.hint(request.method, request.subject);
            let sent = hint.unwrap_or_default();
            for (name, there, value) in
                [("ttlMs", ttl, sent.ttl_ms().to_string()), ("cacheScope", kept_by, format!("\"{}\"", sent.scope()))]
            {
                let is_one = |there: Cursor<'_>| match name {
                    "ttlMs" => u64::decode(there).is_ok(),
                    _ => matches!(&*there.text(), "\"public\"" | "\"private\""),
                };
                match there {
                    None => edit.add(name, &value),
                    Some(old) if hint.is_some() || !is_one(old) => edit.replace(old, value),
                    Some(_) => {}
                }
            }
        }
        if kind.is_none() {
            edit.add("resultType", "\"complete\"");
        }
        // The common case: only `_meta` is missing.
        if let (None, true) = (meta, edit.is_empty()) {
            return Ok(Stamped::WithoutMeta);
        }
        let ours = mcpgen_types::to_string(&self.ours.implementation);
        match meta {
            None => edit.add("_meta", &format!("{{\"{SERVER_INFO}\":{ours}}}")),
            Some(meta) => {
                let known = Picked::from(meta, &[SERVER_INFO]).map_err(|why| broken(&why))?;
                if known.values[0].is_none() {
                    edit.add_to(Some(meta), SERVER_INFO, &ours);
                }
            }
        }
        let edited = edit.done().map_err(|why| broken(&why))?;
        Ok(edited.map_or(Stamped::Unchanged, Stamped::Edited))
    }

    /// Checks `resultType`, and adds it to a result without it. Returns `None` if the result needs no change.
    fn completed(&self, method: &str, result: Cursor<'_>) -> Result<Option<RawJson>, String> {
        let picked = Picked::from(result, &["resultType"]).map_err(|error| format!("{method} result: {error}"))?;
        match picked.values[0].map(Cursor::as_str) {
            None if self.reading.strict => Err(format!("{method} result: missing required member `resultType`")),
            None => {
                let mut edit = Edit::of(result);
                edit.add("resultType", "\"complete\"");
                edit.done().map_err(|error| error.to_string())
            }
            Some(Some(kind)) if kind == "input_required" && !may_require_input(self.revision(), method) => {
                Err(format!("{method} result: this request does not allow input requests"))
            }
            Some(Some(kind)) if self.reading.knows(&kind) => Ok(None),
            Some(kind) => Err(format!("{method} result: resultType: unknown value {:?}", kind.unwrap_or_default())),
        }
    }

    /// Checks whether the result of a request may contain its input requests.
    fn may_ask(&self, request: &RequestInfo<'_>, result: &RawJson) -> Result<(), ErrorObject> {
        let broken = |why: String| {
            tracing::error!(method = request.method, why, "a handler returned an invalid input request");
            Err(errors::internal())
        };
        if !may_require_input(request.scope.revision, request.method) {
            return broken("requests of this method do not allow input requests".to_owned());
        }
        let asks: InputRequiredResult = match result.decode() {
            Ok(asks) => asks,
            Err(error) => return broken(error.to_string()),
        };
        if asks.input_requests.is_none() && asks.request_state.is_none() {
            return broken("`inputRequests` and `requestState` are both missing".to_owned());
        }
        let nothing = JsonObject::new();
        let declared = request.scope.peer_info.as_ref().map_or(&nothing, |peer_info| &peer_info.capabilities);
        let mut missing: Vec<&[&str]> = Vec::new();
        for asked in asks.input_requests.iter().flat_map(|asked| asked.values()) {
            let (method, params) = crate::protocol::input_requests::parts(asked);
            missing.extend(lacks(&method, params.as_ref(), declared));
        }
        if missing.is_empty() { Ok(()) } else { Err(errors::missing_capabilities(&missing)) }
    }

    /// Reads the peer info from the result of `server/discover`.
    fn introduced(&self, result: &RawJson) -> Option<PeerInfo> {
        let mut result: JsonObject = result.decode().ok()?;
        let mut object = |key: &str| match result.remove(key) {
            Some(Value::Object(object)) => Some(object),
            _ => None,
        };
        let capabilities = object("capabilities")?;
        let implementation = object("_meta").and_then(|mut meta| meta.remove(SERVER_INFO));
        Some(PeerInfo {
            revision: self.revision(),
            capabilities,
            implementation: implementation.and_then(|it| it.as_object().cloned()).unwrap_or_default(),
            instructions: result.get("instructions").and_then(Value::as_str).map(str::to_owned),
        })
    }
}

/// The outcome of adding the required members to a result.
enum Stamped {
    Edited(RawJson),
    Unchanged,
    /// Only `_meta` is missing.
    WithoutMeta,
}

/// Returns the metadata of a client's requests: member names and their values as JSON text.
fn words(ours: &LocalInfo, capabilities: &JsonObject, revision: Revision) -> Vec<(&'static str, String)> {
    let level = ours.level.map(|level| (LOG_LEVEL, format!("\"{}\"", level.as_str())));
    let always = [
        (PROTOCOL_VERSION, format!("\"{revision}\"")),
        (CLIENT_CAPABILITIES, mcpgen_types::to_string(capabilities)),
        (CLIENT_INFO, mcpgen_types::to_string(&ours.implementation)),
    ];
    always.into_iter().chain(level).collect()
}

/// Returns the metadata of a client's requests as a typed object.
pub(crate) fn own_meta(
    ours: &LocalInfo,
    handled: &HandlerCapabilities,
    revision: Revision,
) -> Result<RequestMetaObject, mcpgen_types::Error> {
    let members = words(ours, &handled.capabilities(ours, revision), revision)
        .into_iter()
        .map(|(name, value)| format!("\"{name}\":{value}"));
    mcpgen_types::from_str(&format!("{{{}}}", members.collect::<Vec<_>>().join(",")))
}

fn may_require_input(revision: Revision, method: &str) -> bool {
    revision.method(method).is_some_and(|spec| spec.may_require_input)
}

/// Returns a capability that an input request needs and the client has not declared.
fn lacks(method: &str, params: Option<&JsonObject>, declared: &JsonObject) -> Option<&'static [&'static str]> {
    let nothing = JsonObject::new();
    let capability = methods::newest(method).map_or(&[][..], |spec| spec.capability);
    match can(declared, capability) {
        false => Some(capability),
        true => lacking(method, params.unwrap_or(&nothing), declared),
    }
}

/// Replaces error codes that modern revisions do not define or no longer define.
fn permitted(error: ErrorObject) -> ErrorObject {
    let code = match error.code.0 {
        // Resource not found, in legacy revisions.
        -32002 => ErrorCode::INVALID_PARAMS,
        -32022..=-32020 => return error,
        -32099..=-32020 => ErrorCode::INTERNAL_ERROR,
        _ => return error,
    };
    tracing::warn!(%error, becomes = code.0, "replaced an error code that this revision does not define");
    ErrorObject { code, ..error }
}

impl Protocol for Modern {
    fn request(&self, asked: &IncomingRequest<'_>) -> Result<Admission, ErrorObject> {
        if self.side == Role::Client {
            return Ok(Admission::Drop("servers do not send requests in this revision"));
        }
        if asked.method == "initialize" && !Self::is_meant(asked) {
            let params: JsonObject = asked.params.and_then(|params| params.decode().ok()).unwrap_or_default();
            let requested = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
            return Err(self.unsupported(requested));
        }
        let scope = self.scope(asked)?;
        match asked.method {
            DiscoverRequest::METHOD => Ok(Admission::Answer(self.discovered())),
            _ => Ok(Admission::Handle(scope)),
        }
    }

    fn notification(&self, _: &str, _: Option<&RawJson>) -> Option<Revision> {
        self.agreed().revision
    }

    fn answer(&self, request: &RequestInfo<'_>, answer: Result<RawJson, ErrorObject>) -> Result<RawJson, ErrorObject> {
        answer.and_then(|result| self.stamped(request, result)).map_err(permitted)
    }

    fn may_send(
        &self,
        scope: Option<&RequestScope>,
        method: &str,
        revision: Option<Revision>,
        _: Option<&RawJson>,
    ) -> Result<(), String> {
        let spoken = scope.map(|scope| scope.revision).or(self.agreed().revision);
        if let (Some(of), Some(spoken)) = (revision, spoken)
            && of != spoken
        {
            return Err(format!(
                "{method}: the type belongs to revision {}, but the peer uses {}",
                of.as_str(),
                spoken.as_str()
            ));
        }
        let is_notification = method.starts_with("notifications/");
        match (self.side, method) {
            (_, "notifications/cancelled") => Ok(()),
            (Role::Client, _) if !is_notification => Ok(()),
            (Role::Server, _) if !is_notification => Err(format!(
                "{method}: in revision 2026-07-28 a server cannot send requests; return an InputRequiredResult instead"
            )),
            (Role::Server, "notifications/progress") => Ok(()),
            (Role::Server, "notifications/message") if !self.can(&["logging"]) => {
                Err(format!("{method}: the server has not declared the capability logging"))
            }
            (Role::Server, "notifications/message") => match scope.and_then(|scope| scope.level) {
                Some(_) => Ok(()),
                None => Err(format!("{method}: the client did not set a log level in the request")),
            },
            // All other notifications of servers belong to subscriptions.
            (Role::Server, method) if self.revision().method(method).is_some() => {
                Err(format!("{method}: only sent to subscribers; use Subscriptions"))
            }
            (Role::Client, method) if revision.is_some() || methods::newest(method).is_some() => {
                Err(format!("{method}: a client cannot send this notification in revision 2026-07-28"))
            }
            _ => Ok(()),
        }
    }

    fn params(&self, _: &str, params: Option<RawJson>) -> Result<Option<RawJson>, String> {
        if self.side == Role::Server {
            return Ok(params);
        }
        let revision = self.revision();
        with_meta(params, &words(&self.ours, &self.capabilities(), revision), false)
    }

    fn answered(&self, method: &str, result: RawJson) -> Result<RawJson, String> {
        if self.side == Role::Server {
            return Ok(result);
        }
        let completed = result.read(|result| self.completed(method, result)).map_err(|error| error.to_string())??;
        let result = completed.unwrap_or(result);
        if method == DiscoverRequest::METHOD
            && let Some(peer_info) = self.introduced(&result)
        {
            self.agreed().peer_info = Some(Arc::new(peer_info));
        }
        Ok(result)
    }

    fn may_cancel(&self, method: &str, _: Option<&RawJson>) -> bool {
        // The request takes no long work, and the server may not support modern revisions.
        method != DiscoverRequest::METHOD
    }

    fn may_be_asked(&self, method: &str, params: Option<&JsonObject>) -> Result<(), ErrorObject> {
        if methods::newest(method).is_none() {
            return Err(errors::method_not_found(method));
        }
        let path = lacks(method, params, &self.capabilities());
        path.map_or(Ok(()), |path| Err(errors::missing_capabilities(&[path])))
    }

    fn has_declared(&self, capability: &[&str]) -> bool {
        self.can(capability)
    }

    fn peer_info(&self) -> Option<Arc<PeerInfo>> {
        self.agreed().peer_info.clone()
    }

    fn logs(&self, scope: &RequestScope, level: Level) -> bool {
        self.can(&["logging"]) && scope.level.is_some_and(|least| level >= least)
    }
}
