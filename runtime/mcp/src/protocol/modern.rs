//! Modern revisions (2026-07-28).
//!
//! There is no handshake: every request carries its revision, client and capabilities, so it does not depend on earlier
//! messages. Only clients send requests. A server that needs input asks for it in its result.

use std::sync::{Arc, Weak};

use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::jsonrpc::json::{Edit, Picked};
use mcpgen_types::codec::{Cursor, Decode};
use mcpgen_types::v2026_07_28::{DiscoverRequest, InputRequest, InputRequiredResult, RequestMetaObject};
use mcpgen_types::{ErrorCode, ErrorObject, Json, JsonObject, JsonRef, MethodSpec, Request, Revision};
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;
use tower::BoxError;

use super::meta::with_meta;
use crate::protocol::cache_hints::CacheHints;
use crate::protocol::conversion::Revisions;
use crate::protocol::info::{
    HandlerCapabilities, LocalInfo, MAX_DECLARATION, PeerInfo, can, check_declarations, missing_for,
};
use crate::protocol::{
    Admission, IncomingRequest, Level, NotAllowed, RequestInfo, RequestScope, RevisionRules, Role, TYPES,
};

/// The `_meta` key for a request's revision.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The `_meta` key for the capabilities of the client that sends a request.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The `_meta` key for the name and version of the client that sends a request.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The `_meta` key for the minimum level of log messages that the client wants during a request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The `_meta` key for the name and version of the server that sends a result.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The `_meta` key for the subscription that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

impl ResultRules {
    fn knows(&self, kind: &str) -> bool {
        matches!(kind, "complete" | "input_required") || self.result_types.iter().any(|known| known == kind)
    }
}

/// The modern revisions' rules for one side, with or without a connection.
#[derive(Debug)]
pub struct Modern {
    role: Role,
    local_info: LocalInfo,
    /// The default `_meta` of results, with the server's name and version.
    default_meta: Json,
    handlers: HandlerCapabilities,
    /// The revisions to report as supported, including legacy ones.
    supported: Vec<Revision>,
    cache_hints: CacheHints,
    result_rules: ResultRules,
    negotiated: Mutex<Negotiated>,
    /// The scope of the last request, for reuse: a client's requests usually have the same metadata.
    last_scope: Mutex<Option<LastScope>>,
}

#[derive(Debug)]
struct Negotiated {
    revision: Option<Revision>,
    peer_info: Option<Arc<PeerInfo>>,
}

/// The `_meta` of a request and the scope read from it. The reference is weak, so that a large `_meta` is dropped with
/// its request.
type LastScope = (Weak<JsonObject>, RequestScope);

/// Which values of `resultType` are allowed, and how a client treats a result without one.
#[derive(Clone, Debug, Default, derive_setters::Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct ResultRules {
    /// Whether a client rejects a result without `resultType`. If false (the default), such a result, which servers of
    /// earlier revisions send, counts as `complete`.
    pub strict: bool,
    /// Values that extensions add to `complete` and `input_required`.
    pub result_types: Vec<String>,
}

impl Modern {
    /// Creates the rules for one side. Legacy revisions of `local_info` are ignored.
    pub fn new(role: Role, local_info: LocalInfo) -> Self {
        let local_info = local_info.retain_revisions(|revision| !revision.is_legacy());
        let negotiated = Mutex::new(Negotiated { revision: local_info.revisions.first().copied(), peer_info: None });
        let default_meta = JsonObject::from([(SERVER_INFO, local_info.implementation.clone().into())]);
        Self {
            role,
            default_meta: default_meta.into(),
            handlers: HandlerCapabilities::default(),
            supported: local_info.revisions.clone(),
            local_info,
            cache_hints: CacheHints::default(),
            result_rules: ResultRules::default(),
            negotiated,
            last_scope: Mutex::default(),
        }
    }

    /// Sets the capabilities of handlers, and the revisions to report as supported.
    pub(crate) fn with_handlers(mut self, handlers: HandlerCapabilities, supported: Vec<Revision>) -> Self {
        (self.handlers, self.supported) = (handlers, supported);
        self
    }

    fn capabilities(&self, revision: Revision) -> JsonObject {
        self.handlers.capabilities(&self.local_info, revision)
    }

    fn can(&self, revision: Revision, path: &[&str]) -> bool {
        self.handlers.can(&self.local_info, revision, path)
    }

    /// Sets the cache hints for a server's results.
    #[must_use]
    pub fn cache_hints(mut self, cache_hints: CacheHints) -> Self {
        self.cache_hints = cache_hints;
        self
    }

    /// Sets the rules for results.
    #[must_use]
    pub fn result_rules(mut self, result_rules: ResultRules) -> Self {
        self.result_rules = result_rules;
        self
    }

    fn negotiated(&self) -> MutexGuard<'_, Negotiated> {
        self.negotiated.lock()
    }

    fn last_scope(&self) -> MutexGuard<'_, Option<LastScope>> {
        self.last_scope.lock()
    }

    /// Returns the revision that a client uses or a server prefers.
    fn revision(&self) -> Revision {
        self.negotiated().revision.unwrap_or(TYPES)
    }

    pub(crate) fn select_revision(&self, revision: Revision) {
        self.negotiated().revision = Some(revision);
    }

    pub(crate) fn has_modern_metadata(request: &IncomingRequest<'_>) -> bool {
        request.meta.contains_key(PROTOCOL_VERSION) || request.meta.contains_key(CLIENT_CAPABILITIES)
    }

    /// Reads the scope from the request's metadata.
    fn scope(&self, request: &IncomingRequest<'_>) -> Result<RequestScope, ErrorObject> {
        if let Some((_, scope)) =
            self.last_scope().as_ref().filter(|(meta, _)| meta.as_ptr() == Arc::as_ptr(request.meta))
        {
            return Ok(scope.clone());
        }
        let scope = self.read_scope(request)?;
        *self.last_scope() = Some((Arc::downgrade(request.meta), scope.clone()));
        Ok(scope)
    }

    fn read_scope(&self, request: &IncomingRequest<'_>) -> Result<RequestScope, ErrorObject> {
        let missing = |key: &str| {
            let why = format!(
                "params._meta[{key:?}]: missing required member; a client of a revision before 2026-07-28 must send \
                 `initialize` first"
            );
            errors::invalid_params_in_words(&why)
        };
        if let Some(params) = request.params.filter(|params| params.text().len() > MAX_DECLARATION)
            && let Ok(Err(why)) = params.read(|params| check_meta(params, &[CLIENT_CAPABILITIES, CLIENT_INFO]))
        {
            return Err(errors::invalid_params_in_words(&format!("params.{why}")));
        }
        let revision = match request.meta.get(PROTOCOL_VERSION) {
            None => return Err(missing(PROTOCOL_VERSION)),
            Some(version) => match version.as_str() {
                Some(version) => {
                    let supported = self.local_info.revisions.iter().find(|revision| revision.as_str() == version);
                    supported.copied().ok_or_else(|| self.unsupported(&version))?
                }
                // The decoding below reports the error.
                None => self.revision(),
            },
        };
        let meta: RequestMetaObject = request
            .meta
            .decode()
            .map_err(|error: mcpgen_types::Error| errors::invalid_params(&error.at_key("_meta").at_key("params")))?;
        let object = |key: &str| {
            let object = request.meta.get(key).and_then(|object| JsonObject::try_from(object).ok());
            object.unwrap_or_default()
        };
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
        super::errors::unsupported_version(self.supported.iter().copied(), requested)
    }

    fn discover_result(&self, revision: Revision) -> Json {
        let hint = self.cache_hints.hint(DiscoverRequest::METHOD, None).unwrap_or_default();
        let mut result = json!({
            "resultType": "complete",
            "supportedVersions": self.supported.iter().map(|revision| revision.as_str()).collect::<Vec<_>>(),
            "capabilities": self.capabilities(revision),
            "ttlMs": hint.ttl_ms(),
            "cacheScope": hint.scope(),
            "_meta": { SERVER_INFO: self.local_info.implementation },
        });
        if let Some(instructions) = &self.local_info.instructions {
            result["instructions"] = json!(instructions);
        }
        Json::from(&result)
    }

    /// Adds the members that every result must have.
    fn complete_result(&self, request: &RequestInfo<'_>, result: Json) -> Result<Json, ErrorObject> {
        let invalid = |why: &dyn std::fmt::Display| {
            tracing::error!(method = request.method, %why, "a handler returned an invalid result");
            errors::internal()
        };
        let edited = result.read(|json| self.edit_result(request, &result, json)).map_err(|why| invalid(&why))??;
        match edited {
            Completed::Edited(edited) => Ok(edited),
            Completed::Unchanged => Ok(result),
            Completed::WithoutMeta => {
                result.with_first_member("_meta", &self.default_meta).ok_or_else(|| invalid(&"not an object"))
            }
        }
    }

    fn edit_result(
        &self,
        request: &RequestInfo<'_>,
        result: &Json,
        json: Cursor<'_>,
    ) -> Result<Completed, ErrorObject> {
        let invalid = |why: &dyn std::fmt::Display| {
            tracing::error!(method = request.method, %why, "a handler returned an invalid result");
            errors::internal()
        };
        let picked =
            Picked::from(json, &["resultType", "_meta", "ttlMs", "cacheScope"]).map_err(|why| invalid(&why))?;
        let [kind, meta, ttl, kept_by] = picked.values;
        let kind = match kind.map(|kind| kind.as_str().ok_or("resultType must be a string")) {
            None => None,
            Some(Ok(kind)) if self.result_rules.knows(&kind) => Some(kind),
            Some(Ok(_)) => return Err(invalid(&"unknown resultType")),
            Some(Err(why)) => return Err(invalid(&why)),
        };
        let mut edit = Edit::of(json);
        let hint = self.cache_hints.hint(request.method, request.subject);
        let spec = request.scope.revision.method(request.method);
        if kind.as_deref() == Some("input_required") {
            self.check_input_requests(request, result)?;
        } else if spec.map_or(hint.is_some(), |spec| spec.cacheable) {
            // Methods of extensions have no `spec`. A hint set for such a method overrides its handler's own.
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
        // In most results, only `_meta` is missing.
        if let (None, true) = (meta, edit.is_empty()) {
            return Ok(Completed::WithoutMeta);
        }
        let local_info = mcpgen_types::to_string(&self.local_info.implementation);
        match meta {
            None => edit.add("_meta", &format!("{{\"{SERVER_INFO}\":{local_info}}}")),
            Some(meta) => {
                let known = Picked::from(meta, &[SERVER_INFO]).map_err(|why| invalid(&why))?;
                if known.values[0].is_none() {
                    edit.add_to(Some(meta), SERVER_INFO, &local_info);
                }
            }
        }
        let edited = edit.done().map_err(|why| invalid(&why))?;
        Ok(edited.map_or(Completed::Unchanged, Completed::Edited))
    }

    /// Checks `resultType`, or adds it. Returns `None` if the result needs no change.
    fn completed(&self, method: &str, result: Cursor<'_>) -> Result<Option<Json>, String> {
        let picked = Picked::from(result, &["resultType"]).map_err(|error| format!("{method} result: {error}"))?;
        match picked.values[0].map(Cursor::as_str) {
            None if self.result_rules.strict => Err(format!("{method} result: missing required member `resultType`")),
            None => {
                let mut edit = Edit::of(result);
                edit.add("resultType", "\"complete\"");
                edit.done().map_err(|error| error.to_string())
            }
            Some(Some(kind)) if kind == "input_required" && !may_require_input(self.revision(), method) => {
                Err(format!("{method} result: this request does not allow input requests"))
            }
            Some(Some(kind)) if self.result_rules.knows(&kind) => Ok(None),
            Some(kind) => Err(format!("{method} result: resultType: unknown value {:?}", kind.unwrap_or_default())),
        }
    }

    /// Checks whether the result may contain its input requests.
    fn check_input_requests(&self, request: &RequestInfo<'_>, result: &Json) -> Result<(), ErrorObject> {
        let invalid = |why: String| {
            tracing::error!(method = request.method, why, "a handler returned an invalid input request");
            Err(errors::internal())
        };
        if !may_require_input(request.scope.revision, request.method) {
            return invalid("requests of this method do not allow input requests".to_owned());
        }
        let types = Revisions { from: request.scope.revision, to: TYPES };
        let required = match types.result(request.method, result).map(|result| result.decode()) {
            Ok(Ok::<InputRequiredResult, _>(required)) => required,
            Ok(Err(error)) => return invalid(error.to_string()),
            Err(error) => return invalid(error.to_string()),
        };
        if required.input_requests.is_none() && required.request_state.is_none() {
            return invalid("`inputRequests` and `requestState` are both missing".to_owned());
        }
        let nothing = JsonObject::new();
        let declared = request.scope.peer_info.as_ref().map_or(&nothing, |peer_info| &peer_info.capabilities);
        let missing = missing_input_capabilities(required.input_requests.iter().flat_map(|it| it.values()), declared);
        if missing.is_empty() { Ok(()) } else { Err(super::errors::missing_capabilities(&missing)) }
    }

    fn read_peer_info(&self, result: &Json) -> Option<PeerInfo> {
        let object = |value: JsonRef<'_>| JsonObject::try_from(value).ok();
        let implementation = result.get("_meta").and_then(|meta| object(meta.get(SERVER_INFO)?));
        Some(PeerInfo {
            revision: self.revision(),
            capabilities: object(result.get("capabilities")?)?,
            implementation: implementation.unwrap_or_default(),
            instructions: result.get("instructions").and_then(|text| Some(text.as_str()?.into_owned())),
        })
    }
}

/// Checks the length of a peer's declarations in `_meta`.
fn check_meta<const N: usize>(message: Cursor<'_>, names: &'static [&'static str; N]) -> Result<(), String> {
    let [meta] = Picked::values(message, &["_meta"]);
    meta.map_or(Ok(()), |meta| check_declarations(meta, names)).map_err(|why| format!("_meta{why}"))
}

/// Outcome of adding the required members to a result.
enum Completed {
    Edited(Json),
    Unchanged,
    /// The result is complete except for `_meta`.
    WithoutMeta,
}

/// Returns a client's request metadata: names, and values as JSON text.
fn request_meta(local_info: &LocalInfo, capabilities: &JsonObject, revision: Revision) -> Vec<(&'static str, String)> {
    let level = local_info.level.map(|level| (LOG_LEVEL, format!("\"{}\"", level.as_str())));
    let always = [
        (PROTOCOL_VERSION, format!("\"{revision}\"")),
        (CLIENT_CAPABILITIES, mcpgen_types::to_string(capabilities)),
        (CLIENT_INFO, mcpgen_types::to_string(&local_info.implementation)),
    ];
    always.into_iter().chain(level).collect()
}

/// Returns a client's request metadata as a typed object.
pub(crate) fn request_meta_object(
    local_info: &LocalInfo,
    handlers: &HandlerCapabilities,
    revision: Revision,
) -> Result<RequestMetaObject, mcpgen_types::Error> {
    let members = request_meta(local_info, &handlers.capabilities(local_info, revision), revision)
        .into_iter()
        .map(|(name, value)| format!("\"{name}\":{value}"));
    mcpgen_types::from_str(&format!("{{{}}}", members.collect::<Vec<_>>().join(",")))
}

fn may_require_input(revision: Revision, method: &str) -> bool {
    revision.method(method).is_some_and(|spec| spec.may_require_input)
}

/// Returns the capabilities that input requests need and the client did not declare.
#[must_use]
pub fn missing_input_capabilities<'r>(
    requests: impl Iterator<Item = &'r InputRequest>,
    declared: &JsonObject,
) -> Vec<&'static [&'static str]> {
    let requests = requests.map(crate::protocol::input_requests::method_and_params);
    requests.filter_map(|(method, params)| missing_capability(&method, params.as_ref(), declared)).collect()
}

/// Returns a capability that an input request needs and the client did not declare.
fn missing_capability(
    method: &str,
    params: Option<&JsonObject>,
    declared: &JsonObject,
) -> Option<&'static [&'static str]> {
    let capability = MethodSpec::newest(method).map_or(&[][..], |spec| spec.capability);
    let params = params.cloned().unwrap_or_default();
    match can(declared.as_ref(), capability) {
        false => Some(capability),
        true => missing_for(method, params.as_ref(), declared.as_ref()),
    }
}

/// Replaces error codes that modern revisions reserve.
fn with_allowed_code(error: ErrorObject) -> ErrorObject {
    let code = match error.code.0 {
        // The code for "resource not found" in legacy revisions.
        -32002 => ErrorCode::INVALID_PARAMS,
        -32022..=-32020 => return error,
        -32099..=-32020 => ErrorCode::INTERNAL_ERROR,
        _ => return error,
    };
    tracing::warn!(%error, becomes = code.0, "replaced an error code that this revision does not define");
    ErrorObject { code, ..error }
}

impl RevisionRules for Modern {
    fn admit(&self, request: &IncomingRequest<'_>) -> Result<Admission, ErrorObject> {
        if self.role == Role::Client {
            return Ok(Admission::Drop("servers do not send requests in this revision"));
        }
        if request.method == "initialize" && !Self::has_modern_metadata(request) {
            let requested = request.params.and_then(|params| params.get("protocolVersion")?.as_str());
            return Err(self.unsupported(&requested.unwrap_or_default()));
        }
        let scope = self.scope(request)?;
        match request.method {
            DiscoverRequest::METHOD => Ok(Admission::Respond(self.discover_result(scope.revision))),
            _ => Ok(Admission::Handle(scope)),
        }
    }

    fn notification_revision(&self, _: &str, _: Option<&Json>) -> Option<Revision> {
        self.negotiated().revision
    }

    fn complete_response(
        &self,
        request: &RequestInfo<'_>,
        result: Result<Json, ErrorObject>,
    ) -> Result<Json, ErrorObject> {
        result.and_then(|result| self.complete_result(request, result)).map_err(with_allowed_code)
    }

    fn may_send(
        &self,
        scope: Option<&RequestScope>,
        method: &str,
        revision: Option<Revision>,
        _: Option<&Json>,
    ) -> Result<(), NotAllowed> {
        let known = scope.map(|scope| scope.revision).or(self.negotiated().revision);
        let (used, name) = (known.unwrap_or(TYPES), || method.to_owned());
        if let (Some(of), Some(used)) = (revision, known)
            && of != used
        {
            return Err(NotAllowed::OtherRevision { method: name(), of, used });
        }
        let unknown = |remedy| NotAllowed::Revision { method: name(), role: self.role, revision: used, remedy };
        let is_notification = method.starts_with("notifications/");
        match (self.role, method) {
            (_, "notifications/cancelled") => Ok(()),
            (Role::Client, _) if !is_notification => Ok(()),
            (Role::Server, _) if !is_notification => Err(unknown("; return an `InputRequiredResult` instead")),
            (Role::Server, "notifications/progress") => Ok(()),
            (Role::Server, "notifications/message") if !self.can(used, &["logging"]) => {
                let (role, capability) = (self.role, "logging".to_owned());
                Err(NotAllowed::Capability { method: name(), role, capability })
            }
            (Role::Server, "notifications/message") => match scope.and_then(|scope| scope.level) {
                Some(_) => Ok(()),
                None => Err(NotAllowed::NoLogLevel),
            },
            // A server's other notifications all belong to subscriptions.
            (Role::Server, method) if self.revision().method(method).is_some() => {
                Err(NotAllowed::OnlyToSubscribers { method: name() })
            }
            // Notifications that no revision defines belong to extensions or custom schemas.
            (Role::Client, method) if MethodSpec::newest(method).is_some() => Err(unknown("")),
            _ => Ok(()),
        }
    }

    fn complete_params(&self, _: &str, params: Option<Json>) -> Result<Option<Json>, BoxError> {
        if self.role == Role::Server {
            return Ok(params);
        }
        let revision = self.revision();
        Ok(with_meta(params, &request_meta(&self.local_info, &self.capabilities(revision), revision), false)?)
    }

    fn process_result(&self, method: &str, result: Json) -> Result<Json, BoxError> {
        if self.role == Role::Server {
            return Ok(result);
        }
        let completed = result.read(|result| self.completed(method, result))??;
        let result = completed.unwrap_or(result);
        if method == DiscoverRequest::METHOD {
            let declared = result.read(|result| {
                check_declarations(result, &["capabilities"]).and_then(|()| check_meta(result, &[SERVER_INFO]))
            });
            if let Ok(Err(why)) = declared {
                return Err(format!("{method} result: {why}").into());
            }
            if let Some(peer_info) = self.read_peer_info(&result) {
                self.negotiated().peer_info = Some(Arc::new(peer_info));
            }
        }
        Ok(result)
    }

    fn may_cancel(&self, method: &str, _: Option<&Json>) -> bool {
        // Servers respond to this request quickly, and the server may not support modern revisions.
        method != DiscoverRequest::METHOD
    }

    fn check_input_request(&self, method: &str, params: Option<&JsonObject>) -> Result<(), ErrorObject> {
        if MethodSpec::newest(method).is_none() {
            return Err(errors::method_not_found(method));
        }
        let path = missing_capability(method, params, &self.capabilities(self.revision()));
        path.map_or(Ok(()), |path| Err(super::errors::missing_capabilities(&[path])))
    }

    fn has_declared(&self, capability: &[&str]) -> bool {
        self.can(self.revision(), capability)
    }

    fn role(&self) -> Option<Role> {
        Some(self.role)
    }

    fn peer_info(&self) -> Option<Arc<PeerInfo>> {
        self.negotiated().peer_info.clone()
    }

    fn current_revision(&self) -> Option<Revision> {
        Some(self.revision())
    }

    fn wants_log(&self, scope: &RequestScope, level: Level) -> bool {
        self.can(scope.revision, &["logging"]) && scope.level.is_some_and(|least| level >= least)
    }
}
