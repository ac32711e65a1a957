//! The methods of [`Peer`] for MCP.

use std::sync::{Arc, LazyLock};

#[cfg(feature = "http-client")]
use mcpgen_types::Json;
use mcpgen_types::{JsonObject, Revision};

use super::change_listeners::ChangeListeners;
use super::info::PeerInfo;
use super::{FixedRevision, Mcp, RevisionRules};
use crate::error::CallError;
use crate::peer::Peer;

impl Peer {
    /// Returns the information that the peer has declared about itself. Returns `None` if it is not known yet, or if
    /// the peer declares it with each request.
    pub fn peer_info(&self) -> Option<Arc<PeerInfo>> {
        self.revision_rules().peer_info()
    }

    /// Returns the rules of the connection's revisions.
    pub(crate) fn revision_rules(&self) -> &dyn RevisionRules {
        self.protocol::<Mcp>().map_or(&FixedRevision(Revision::LATEST), Mcp::revision_rules)
    }

    /// Checks whether the peer may request this input in its result.
    pub(crate) fn check_input_request(&self, method: &str, params: Option<&JsonObject>) -> Result<(), CallError> {
        let asked = self.revision_rules().check_input_request(method, params);
        asked.map_err(|error| CallError::Input { method: method.to_owned(), error })
    }

    /// Calls the callbacks for a notification of a changed list or resource.
    #[cfg(feature = "http-client")]
    pub(crate) fn changed(&self, method: &str, params: Option<&Json>) {
        if let Some(mcp) = self.protocol::<Mcp>() {
            mcp.changed(method, params);
        }
    }

    /// Returns the callbacks for notifications of changed lists and resources.
    pub(crate) fn change_listeners(&self) -> &ChangeListeners {
        static NONE: LazyLock<ChangeListeners> = LazyLock::new(Default::default);
        self.protocol::<Mcp>().map_or(&NONE, Mcp::change_listeners)
    }
}
