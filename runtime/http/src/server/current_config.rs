//! A server's configuration, whose capabilities can change while it runs.

use std::sync::Arc;

use mcpgen_mcp::protocol::config::ServerConfig;
use mcpgen_mcp::protocol::info::HandlerCapabilities;
use mcpgen_mcp::protocol::legacy::Legacy;
use mcpgen_mcp::protocol::{Mcp, RevisionRules};
use mcpgen_types::Revision;
use parking_lot::Mutex;

pub(super) struct CurrentConfig {
    read: Box<dyn Fn() -> ServerConfig + Send + Sync>,
    version: Box<dyn Fn() -> u64 + Send + Sync>,
    /// Capabilities implied by handlers, in addition to the configured ones.
    handled: HandlerCapabilities,
    modern: Mutex<Option<(u64, ModernProtocol)>>,
    reports_mismatches: bool,
}

/// The protocol that all modern requests share until the configuration changes.
#[derive(Clone)]
pub(super) struct ModernProtocol {
    pub(super) protocol: Arc<Mcp>,
    pub(super) rules: Arc<dyn RevisionRules>,
}

impl CurrentConfig {
    /// Creates a configuration. `version` returns a number that changes whenever the result of `read` does.
    pub(super) fn new(
        read: impl Fn() -> ServerConfig + Send + Sync + 'static,
        version: impl Fn() -> u64 + Send + Sync + 'static,
        handled: HandlerCapabilities,
    ) -> Self {
        let (read, version) = (Box::new(read), Box::new(version));
        Self { read, version, handled, modern: Mutex::default(), reports_mismatches: false }
    }

    /// Sets whether handlers report a call's [`HeaderMismatch`](mcpgen_mcp::server::HeaderMismatch) themselves.
    pub(super) fn with_reported_mismatches(self, reports_mismatches: bool) -> Self {
        Self { reports_mismatches, ..self }
    }

    pub(super) fn reports_mismatches(&self) -> bool {
        self.reports_mismatches
    }

    pub(super) fn read(&self) -> ServerConfig {
        (self.read)()
    }

    pub(super) fn supported_revisions(&self) -> Vec<Revision> {
        self.read().supported_revisions(&self.handled)
    }

    pub(super) fn legacy(&self) -> Legacy {
        self.read().legacy(&self.handled)
    }

    pub(super) fn modern(&self) -> ModernProtocol {
        // If the configuration changes after this line, the next request reads it again.
        let version = (self.version)();
        let mut modern = self.modern.lock();
        if let Some((_, known)) = modern.as_ref().filter(|(of, _)| *of == version) {
            return known.clone();
        }
        let rules: Arc<dyn RevisionRules> = Arc::new(self.read().modern(&self.handled));
        let new = ModernProtocol { protocol: Arc::new(Mcp::new(Arc::clone(&rules))), rules };
        *modern = Some((version, new.clone()));
        new
    }
}
