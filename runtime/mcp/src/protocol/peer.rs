//! The methods of [`Peer`] for MCP.

use std::sync::{Arc, LazyLock};

use mcpgen_runtime::CallError;
use mcpgen_runtime::peer::Peer;
use mcpgen_types::{ErrorObject, Json, JsonObject, Revision};

use super::change_listeners::ChangeListeners;
use super::extension::{Extension, settings};
use super::info::PeerInfo;
use super::input_requests::InputNotProvided;
use super::{FixedRevision, Mcp, RevisionRules};

/// The methods of [`Peer`] for MCP.
pub trait PeerExt: AsRef<Peer> {
    /// Returns the information that the peer has declared about itself. Returns `None` if it is not known yet, or if
    /// the peer declares it with each request.
    fn peer_info(&self) -> Option<Arc<PeerInfo>> {
        self.revision_rules().peer_info()
    }

    /// Returns the settings that the peer has declared for an extension, or `None` if it has not declared the extension.
    /// In modern revisions, servers do not know the client's capabilities outside a request; see
    /// [`ContextExt::extension`](super::ContextExt::extension).
    ///
    /// # Errors
    ///
    /// Fails if the settings do not have the type of the extension's settings.
    fn extension<E: Extension>(&self) -> Result<Option<E::Settings>, ErrorObject> {
        settings::<E>(self.revision_rules().peer_info().as_deref())
    }

    /// Returns the rules of the connection's revisions.
    fn revision_rules(&self) -> &dyn RevisionRules {
        self.as_ref().protocol::<Mcp>().map_or(&FixedRevision(Revision::LATEST), Mcp::revision_rules)
    }
}

impl PeerExt for Peer {}

/// Checks whether the peer may request this input in its result.
pub(crate) fn check_input_request(peer: &Peer, method: &str, params: Option<&JsonObject>) -> Result<(), CallError> {
    let asked = peer.revision_rules().check_input_request(method, params);
    asked.map_err(|error| InputNotProvided { method: method.to_owned(), error }.into())
}

/// Calls the callbacks for a notification of a changed list or resource.
pub(crate) fn changed(peer: &Peer, method: &str, params: Option<&Json>) {
    if let Some(mcp) = peer.protocol::<Mcp>() {
        mcp.changed(method, params);
    }
}

/// Returns the callbacks for notifications of changed lists and resources.
pub(crate) fn change_listeners(peer: &Peer) -> &ChangeListeners {
    static NONE: LazyLock<ChangeListeners> = LazyLock::new(Default::default);
    peer.protocol::<Mcp>().map_or(&NONE, Mcp::change_listeners)
}
