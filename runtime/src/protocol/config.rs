//! What a server is configured with.

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

/// What a server is to its clients. An [`LocalInfo`] is one, without hints for caches.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// What it says of itself.
    pub ours: LocalInfo,
    /// For how long results may be kept.
    pub caching: CacheHints,
    /// Kinds of results that extensions add to those of revision 2026-07-28.
    pub result_types: Vec<String>,
}

impl From<LocalInfo> for ServerConfig {
    fn from(ours: LocalInfo) -> Self {
        Self { ours, caching: CacheHints::default(), result_types: Vec::new() }
    }
}

impl ServerConfig {
    /// The server's end of a connection, of those revisions that a handler is of. It is able to do what is handled, besides
    /// what it says that it is.
    #[must_use]
    pub fn protocol(self, handled: &HandlerCapabilities) -> DualProtocol {
        let Self { ours, caching, result_types } = self;
        let ours = ours.retain_revisions(|revision| handled.speaks(revision));
        let reading = ResultRules { result_types, ..ResultRules::default() };
        DualProtocol::new(Role::Server, ours, handled.clone(), |modern| modern.caching(caching).reading(reading))
    }

    /// The revisions that are spoken: those of which there is a handler.
    #[cfg(feature = "http-server")]
    pub(crate) fn spoken(&self, handled: &HandlerCapabilities) -> Vec<Revision> {
        self.ours.revisions.iter().copied().filter(|revision| handled.speaks(*revision)).collect()
    }

    /// The server's end of a session.
    #[cfg(feature = "http-server")]
    pub(crate) fn legacy(mut self, handled: &HandlerCapabilities) -> Legacy {
        self.ours.revisions = self.spoken(handled);
        Legacy::new(Role::Server, self.ours).handling(handled.clone())
    }

    /// The server's end where there are no sessions.
    #[cfg(feature = "http-server")]
    pub(crate) fn modern(mut self, handled: &HandlerCapabilities) -> Modern {
        let spoken = self.spoken(handled);
        self.ours.revisions.clone_from(&spoken);
        let reading = ResultRules { result_types: self.result_types, ..ResultRules::default() };
        let modern = Modern::new(Role::Server, self.ours).handling(handled.clone(), spoken);
        modern.caching(self.caching).reading(reading)
    }
}
