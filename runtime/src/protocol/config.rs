//! The configuration of a server.

#[cfg(feature = "http-server")]
use mcpgen_types::Revision;

use super::Role;
use super::cache_hints::CacheHints;
use super::dual::DualProtocol;
use super::info::{HandlerCapabilities, LocalInfo};
#[cfg(feature = "http-server")]
use super::legacy::Legacy;
#[cfg(feature = "http-server")]
use super::modern::Modern;
use super::modern::ResultRules;

/// The configuration of a server's protocol. Convert a [`LocalInfo`] for one without cache hints and extensions.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The server's local info.
    pub ours: LocalInfo,
    /// The cache hints for results.
    pub caching: CacheHints,
    /// Values of `resultType` that extensions add to those of revision 2026-07-28.
    pub result_types: Vec<String>,
}

impl From<LocalInfo> for ServerConfig {
    fn from(ours: LocalInfo) -> Self {
        Self { ours, caching: CacheHints::default(), result_types: Vec::new() }
    }
}

impl ServerConfig {
    /// Creates the server's protocol for a connection. It supports the revisions that have a handler, and declares the
    /// capabilities of the handlers in addition to those in the local info.
    #[must_use]
    pub fn protocol(self, handled: &HandlerCapabilities) -> DualProtocol {
        let Self { ours, caching, result_types } = self;
        let ours = ours.retain_revisions(|revision| handled.speaks(revision));
        let reading = ResultRules { result_types, ..ResultRules::default() };
        DualProtocol::new(Role::Server, ours, handled.clone(), |modern| modern.caching(caching).reading(reading))
    }

    /// Returns the supported revisions: those with a handler.
    #[cfg(feature = "http-server")]
    pub(crate) fn spoken(&self, handled: &HandlerCapabilities) -> Vec<Revision> {
        self.ours.revisions.iter().copied().filter(|revision| handled.speaks(*revision)).collect()
    }

    /// Creates the server's protocol for a session of a legacy revision.
    #[cfg(feature = "http-server")]
    pub(crate) fn legacy(mut self, handled: &HandlerCapabilities) -> Legacy {
        self.ours.revisions = self.spoken(handled);
        Legacy::new(Role::Server, self.ours).handling(handled.clone())
    }

    /// Creates the server's protocol for modern revisions, which have no sessions.
    #[cfg(feature = "http-server")]
    pub(crate) fn modern(mut self, handled: &HandlerCapabilities) -> Modern {
        let spoken = self.spoken(handled);
        self.ours.revisions.clone_from(&spoken);
        let reading = ResultRules { result_types: self.result_types, ..ResultRules::default() };
        let modern = Modern::new(Role::Server, self.ours).handling(handled.clone(), spoken);
        modern.caching(self.caching).reading(reading)
    }
}
