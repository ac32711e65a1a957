//! A server's configuration.

use mcpgen_types::Revision;

use super::Role;
use super::cache_hints::CacheHints;
use super::dual::DualProtocol;
use super::info::{HandlerCapabilities, LocalInfo};
use super::legacy::Legacy;
use super::modern::{Modern, ResultRules};

/// A server's configuration. Convert a [`LocalInfo`] to get one without cache hints or extensions.
#[derive(Clone, Debug, derive_setters::Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct ServerConfig {
    /// The server's local info.
    pub local_info: LocalInfo,
    /// The cache hints for results.
    pub cache_hints: CacheHints,
    /// Values of `resultType` that extensions add to those of 2026-07-28.
    pub result_types: Vec<String>,
    /// Whether `logging/setLevel` is passed on to a handler as well.
    pub passes_log_level_on: bool,
}

impl From<LocalInfo> for ServerConfig {
    fn from(local_info: LocalInfo) -> Self {
        Self { local_info, cache_hints: CacheHints::default(), result_types: Vec::new(), passes_log_level_on: false }
    }
}

impl ServerConfig {
    /// Creates the server's protocol for a connection. It supports the revisions that have a handler, and declares the
    /// capabilities of the handlers in addition to those in the local info.
    #[must_use]
    pub fn protocol(self, handlers: &HandlerCapabilities) -> DualProtocol {
        let Self { local_info, cache_hints, result_types, passes_log_level_on } = self;
        let local_info = local_info.retain_revisions(|revision| handlers.supports(revision));
        let result_rules = ResultRules { result_types, ..ResultRules::default() };
        let protocol = DualProtocol::new(Role::Server, local_info, handlers.clone(), |modern| {
            modern.cache_hints(cache_hints).result_rules(result_rules)
        });
        if passes_log_level_on { protocol.pass_log_level_on() } else { protocol }
    }

    /// Returns the revisions that have a handler.
    #[must_use]
    pub fn supported_revisions(&self, handlers: &HandlerCapabilities) -> Vec<Revision> {
        self.local_info.revisions.iter().copied().filter(|revision| handlers.supports(*revision)).collect()
    }

    /// Creates the server's protocol for a session of a legacy revision. To begin another session, a client sends
    /// `initialize` without this session's ID.
    #[must_use]
    pub fn legacy(mut self, handlers: &HandlerCapabilities) -> Legacy {
        self.local_info.revisions = self.supported_revisions(handlers);
        let passes_log_level_on = self.passes_log_level_on;
        let legacy = Legacy::new(Role::Server, self.local_info).with_handlers(handlers.clone()).initialize_once();
        if passes_log_level_on { legacy.pass_log_level_on() } else { legacy }
    }

    /// Creates the server's protocol for modern revisions, which are stateless.
    #[must_use]
    pub fn modern(mut self, handlers: &HandlerCapabilities) -> Modern {
        let supported = self.supported_revisions(handlers);
        self.local_info.revisions.clone_from(&supported);
        let result_rules = ResultRules { result_types: self.result_types, ..ResultRules::default() };
        let modern = Modern::new(Role::Server, self.local_info).with_handlers(handlers.clone(), supported);
        modern.cache_hints(self.cache_hints).result_rules(result_rules)
    }
}
