//! What a router of MCP supports.

use mcpgen_types::Revision;

use super::Role;
use super::info::HandlerCapabilities;
use crate::router::Router;

impl Router {
    /// Returns the revisions that have at least one request handler of their own, oldest first.
    #[must_use]
    pub fn revisions(&self) -> Vec<Revision> {
        let mut revisions: Vec<Revision> = self.versions().into_iter().map(Revision::of).collect();
        revisions.sort_unstable();
        revisions
    }

    /// Returns the capabilities that the handlers provide, for a server or a client.
    #[must_use]
    pub fn handled(&self, side: Role) -> HandlerCapabilities {
        let handles = |revision: Revision, method: &str| self.handles(revision.version(), method);
        let revisions = if self.is_for_every_version() { Vec::new() } else { self.revisions() };
        HandlerCapabilities::new(side, revisions, handles)
    }
}
