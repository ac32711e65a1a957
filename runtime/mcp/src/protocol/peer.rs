//! Adds MCP's methods to [`Peer`].

use std::sync::{Arc, LazyLock};

use mcpgen_runtime::CallError;
use mcpgen_runtime::peer::Peer;
use mcpgen_types::{ErrorObject, Json, JsonObject, Revision};

use super::change_listeners::ChangeListeners;
use super::extension::{Extension, settings};
use super::info::PeerInfo;
use super::input_requests::InputNotProvided;
use super::{FixedRevision, Mcp, RevisionRules};

/// Adds MCP's methods to [`Peer`].
pub trait PeerExt: AsRef<Peer> {
    /// Returns what the peer declared about itself, or `None` if it has not done so yet or does so in each request.
    fn peer_info(&self) -> Option<Arc<PeerInfo>> {
        self.revision_rules().peer_info()
    }

    /// Returns the peer's settings for an extension, or `None` if it did not declare the extension. In modern
    /// revisions, a server knows the client's capabilities only within a request; see
    /// [`ContextExt::extension`](super::ContextExt::extension).
    ///
    /// # Errors
    ///
    /// Fails if the settings do not decode as the extension's settings.
    fn extension<E: Extension>(&self) -> Result<Option<E::Settings>, ErrorObject> {
        settings::<E>(self.revision_rules().peer_info().as_deref())
    }

    /// Returns the rules of the connection's revisions.
    fn revision_rules(&self) -> &dyn RevisionRules {
        self.as_ref().protocol::<Mcp>().map_or(&FixedRevision(Revision::LATEST), Mcp::revision_rules)
    }
}

impl PeerExt for Peer {}

/// Checks whether the peer may ask for this input in its result.
pub(crate) fn check_input_request(peer: &Peer, method: &str, params: Option<&JsonObject>) -> Result<(), CallError> {
    let asked = peer.revision_rules().check_input_request(method, params);
    asked.map_err(|error| InputNotProvided { method: method.to_owned(), error }.into())
}

/// Notifies the listeners that a list or resource has changed.
pub(crate) fn changed(peer: &Peer, method: &str, params: Option<&Json>) {
    if let Some(mcp) = peer.protocol::<Mcp>() {
        mcp.changed(method, params);
    }
}

pub(crate) fn change_listeners(peer: &Peer) -> &ChangeListeners {
    static NONE: LazyLock<ChangeListeners> = LazyLock::new(Default::default);
    peer.protocol::<Mcp>().map_or(&NONE, Mcp::change_listeners)
}
