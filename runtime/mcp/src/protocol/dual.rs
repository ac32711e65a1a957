//! Legacy and modern revisions on one connection.
//!
//! A server decides per request: a request with modern metadata is modern, any other belongs to the connection's
//! handshake. A client decides once, in [`connect`](crate::connect), for the whole connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcpgen_types::{ErrorObject, Json, JsonObject, Revision};
use tower::BoxError;

use crate::protocol::info::{HandlerCapabilities, LocalInfo, PeerInfo};
use crate::protocol::legacy::Legacy;
use crate::protocol::modern::Modern;
use crate::protocol::{Admission, IncomingRequest, Level, NotAllowed, RequestInfo, RequestScope, RevisionRules, Role};

/// The rules for one side of a connection that supports legacy revisions, modern revisions, or both.
#[derive(Debug)]
pub struct DualProtocol {
    role: Role,
    /// The rules of legacy revisions. `None` if only modern revisions are supported.
    legacy: Option<Legacy>,
    /// The rules of modern revisions. `None` if none of them is supported.
    modern: Option<Modern>,
    /// Whether a client uses the legacy rules. A server decides per request instead.
    is_legacy: AtomicBool,
}

impl DualProtocol {
    /// Creates the rules for one side. It supports the revisions of `local_info`, and declares the capabilities of its
    /// handlers in addition to those of `local_info`. `modern` configures the rules of the modern revisions.
    ///
    /// If `local_info` has no revisions, a server follows the legacy rules and rejects every `initialize`.
    pub fn new(
        role: Role,
        local_info: LocalInfo,
        handlers: HandlerCapabilities,
        modern: impl FnOnce(Modern) -> Modern,
    ) -> Self {
        let supported = local_info.revisions.clone();
        let (supports_legacy, supports_modern) =
            (local_info.revisions_of_kind(true).next().is_some(), local_info.revisions_of_kind(false).next().is_some());
        Self {
            role,
            legacy: (supports_legacy || !supports_modern)
                .then(|| Legacy::new(role, local_info.clone()).with_handlers(handlers.clone())),
            modern: supports_modern.then(|| modern(Modern::new(role, local_info).with_handlers(handlers, supported))),
            is_legacy: AtomicBool::new(!supports_modern),
        }
    }

    /// Passes `logging/setLevel` on to a handler as well.
    #[must_use]
    pub fn pass_log_level_on(mut self) -> Self {
        self.legacy = self.legacy.map(Legacy::pass_log_level_on);
        self
    }

    /// Refuses a second `initialize`.
    #[must_use]
    pub fn initialize_once(mut self) -> Self {
        self.legacy = self.legacy.map(Legacy::initialize_once);
        self
    }

    pub(crate) fn legacy(&self) -> Option<&Legacy> {
        self.legacy.as_ref()
    }

    /// Switches a client to this revision.
    pub(crate) fn select_revision(&self, revision: Revision) {
        self.is_legacy.store(revision.is_legacy(), Ordering::Release);
        if let Some(modern) = self.modern.as_ref().filter(|_| !revision.is_legacy()) {
            modern.select_revision(revision);
        }
    }

    /// Switches a client to the legacy revisions. The handshake picks one of them.
    pub(crate) fn select_legacy(&self) {
        self.is_legacy.store(true, Ordering::Release);
    }

    /// Returns the rules for messages that belong to no request.
    fn current(&self) -> &dyn RevisionRules {
        let is_legacy = match self.role {
            Role::Client => self.is_legacy.load(Ordering::Acquire),
            Role::Server => self.legacy.as_ref().is_some_and(Legacy::is_initialized),
        };
        self.rules(is_legacy)
    }

    fn rules(&self, is_legacy: bool) -> &dyn RevisionRules {
        match (&self.legacy, &self.modern) {
            (Some(legacy), modern) if is_legacy || modern.is_none() => legacy,
            (_, Some(modern)) => modern,
            _ => unreachable!("`new` sets at least one of them"),
        }
    }

    fn rules_of(&self, scope: &RequestScope) -> &dyn RevisionRules {
        self.rules(scope.revision.is_legacy())
    }
}

impl RevisionRules for DualProtocol {
    fn admit(&self, request: &IncomingRequest<'_>) -> Result<Admission, ErrorObject> {
        let starts_legacy = matches!(request.method, "initialize" | "ping") && self.legacy.is_some();
        match self.role {
            Role::Server if Modern::has_modern_metadata(request) => self.rules(false).admit(request),
            Role::Server if starts_legacy => self.rules(true).admit(request),
            _ => self.current().admit(request),
        }
    }

    fn notification_revision(&self, method: &str, params: Option<&Json>) -> Option<Revision> {
        self.current().notification_revision(method, params)
    }

    fn allows_batches(&self) -> bool {
        self.current().allows_batches()
    }

    fn complete_response(
        &self,
        request: &RequestInfo<'_>,
        result: Result<Json, ErrorObject>,
    ) -> Result<Json, ErrorObject> {
        self.rules_of(request.scope).complete_response(request, result)
    }

    fn may_send(
        &self,
        scope: Option<&RequestScope>,
        method: &str,
        revision: Option<Revision>,
        params: Option<&Json>,
    ) -> Result<(), NotAllowed> {
        let protocol = scope.map_or_else(|| self.current(), |scope| self.rules_of(scope));
        protocol.may_send(scope, method, revision, params)
    }

    fn complete_params(&self, method: &str, params: Option<Json>) -> Result<Option<Json>, BoxError> {
        self.current().complete_params(method, params)
    }

    fn may_cancel(&self, method: &str, params: Option<&Json>) -> bool {
        self.current().may_cancel(method, params)
    }

    fn process_result(&self, method: &str, result: Json) -> Result<Json, BoxError> {
        let protocol = match (self.role, method) {
            // While a client finds out what the server supports, both of these requests may be pending.
            (Role::Client, "initialize") => self.rules(true),
            (Role::Client, "server/discover") => self.rules(false),
            _ => self.current(),
        };
        protocol.process_result(method, result)
    }

    fn check_input_request(&self, method: &str, params: Option<&JsonObject>) -> Result<(), ErrorObject> {
        self.current().check_input_request(method, params)
    }

    fn has_declared(&self, capability: &[&str]) -> bool {
        self.current().has_declared(capability)
    }

    fn role(&self) -> Option<Role> {
        Some(self.role)
    }

    fn peer_info(&self) -> Option<Arc<PeerInfo>> {
        self.current().peer_info()
    }

    fn current_revision(&self) -> Option<Revision> {
        self.current().current_revision()
    }

    fn wants_log(&self, scope: &RequestScope, level: Level) -> bool {
        self.rules_of(scope).wants_log(scope, level)
    }
}
