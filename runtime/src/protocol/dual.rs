//! Legacy and modern revisions on one connection.
//!
//! A server decides for each request: a request with per-request metadata is modern, any other belongs to the handshake
//! of the connection. A client decides once, in [`connect`](crate::connect), and keeps that decision.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcpgen_types::{ErrorObject, JsonObject, RawJson, Revision};

use crate::protocol::info::{HandlerCapabilities, LocalInfo, PeerInfo};
use crate::protocol::legacy::Legacy;
use crate::protocol::modern::Modern;
use crate::protocol::{Admission, IncomingRequest, Level, Protocol, RequestInfo, RequestScope, Role};

/// The protocol rules of one side of a connection that supports legacy revisions, modern revisions, or both.
#[derive(Debug)]
pub struct DualProtocol {
    side: Role,
    /// `None` if no legacy revision is supported.
    legacy: Option<Legacy>,
    /// `None` if no modern revision is supported.
    modern: Option<Modern>,
    /// Whether a client currently uses a legacy revision.
    is_legacy: AtomicBool,
}

impl DualProtocol {
    /// Creates the rules for one side. It supports the revisions of `ours`, and declares the capabilities of its
    /// handlers in addition to those of `ours`. `modern` configures the rules of the modern revisions.
    ///
    /// If `ours` has no revisions, a server follows the legacy rules and rejects every `initialize`.
    pub fn new(
        side: Role,
        ours: LocalInfo,
        handled: HandlerCapabilities,
        modern: impl FnOnce(Modern) -> Modern,
    ) -> Self {
        let spoken = ours.revisions.clone();
        let (speaks_legacy, speaks_modern) =
            (ours.revisions_of_kind(true).next().is_some(), ours.revisions_of_kind(false).next().is_some());
        Self {
            side,
            legacy: (speaks_legacy || !speaks_modern)
                .then(|| Legacy::new(side, ours.clone()).handling(handled.clone())),
            modern: speaks_modern.then(|| modern(Modern::new(side, ours).handling(handled, spoken))),
            is_legacy: AtomicBool::new(!speaks_modern),
        }
    }

    pub(crate) fn legacy(&self) -> Option<&Legacy> {
        self.legacy.as_ref()
    }

    /// Switches a client to this revision.
    pub(crate) fn agree(&self, revision: Revision) {
        self.is_legacy.store(revision.is_legacy(), Ordering::Release);
        if let Some(modern) = self.modern.as_ref().filter(|_| !revision.is_legacy()) {
            modern.agree(revision);
        }
    }

    /// Returns the rules for messages that do not belong to a request.
    fn current(&self) -> &dyn Protocol {
        let is_legacy = match self.side {
            Role::Client => self.is_legacy.load(Ordering::Acquire),
            Role::Server => self.legacy.as_ref().is_some_and(|legacy| legacy.peer_info().is_some()),
        };
        self.of(is_legacy)
    }

    fn of(&self, is_legacy: bool) -> &dyn Protocol {
        match (&self.legacy, &self.modern) {
            (Some(legacy), modern) if is_legacy || modern.is_none() => legacy,
            (_, Some(modern)) => modern,
            _ => unreachable!("`new` sets at least one of them"),
        }
    }

    fn under(&self, scope: &RequestScope) -> &dyn Protocol {
        self.of(scope.revision.is_legacy())
    }
}

impl Protocol for DualProtocol {
    fn request(&self, asked: &IncomingRequest<'_>) -> Result<Admission, ErrorObject> {
        let begins = matches!(asked.method, "initialize" | "ping") && self.legacy.is_some();
        match self.side {
            Role::Server if Modern::is_meant(asked) => self.of(false).request(asked),
            Role::Server if begins => self.of(true).request(asked),
            _ => self.current().request(asked),
        }
    }

    fn notification(&self, method: &str, params: Option<&RawJson>) -> Option<Revision> {
        self.current().notification(method, params)
    }

    fn batches(&self) -> bool {
        self.current().batches()
    }

    fn answer(&self, request: &RequestInfo<'_>, answer: Result<RawJson, ErrorObject>) -> Result<RawJson, ErrorObject> {
        self.under(request.scope).answer(request, answer)
    }

    fn may_send(
        &self,
        scope: Option<&RequestScope>,
        method: &str,
        revision: Option<Revision>,
        params: Option<&RawJson>,
    ) -> Result<(), String> {
        let protocol = scope.map_or_else(|| self.current(), |scope| self.under(scope));
        protocol.may_send(scope, method, revision, params)
    }

    fn params(&self, method: &str, params: Option<RawJson>) -> Result<Option<RawJson>, String> {
        self.current().params(method, params)
    }

    fn may_cancel(&self, method: &str, params: Option<&RawJson>) -> bool {
        self.current().may_cancel(method, params)
    }

    fn answered(&self, method: &str, result: RawJson) -> Result<RawJson, String> {
        let protocol = match (self.side, method) {
            // Both may be pending while a client finds out which revisions the server supports.
            (Role::Client, "initialize") => self.of(true),
            (Role::Client, "server/discover") => self.of(false),
            _ => self.current(),
        };
        protocol.answered(method, result)
    }

    fn may_be_asked(&self, method: &str, params: Option<&JsonObject>) -> Result<(), ErrorObject> {
        self.current().may_be_asked(method, params)
    }

    fn has_declared(&self, capability: &[&str]) -> bool {
        self.current().has_declared(capability)
    }

    fn peer_info(&self) -> Option<Arc<PeerInfo>> {
        self.current().peer_info()
    }

    fn logs(&self, scope: &RequestScope, level: Level) -> bool {
        self.under(scope).logs(scope, level)
    }
}
