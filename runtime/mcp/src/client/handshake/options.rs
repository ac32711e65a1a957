//! The options of a client's connection.

use std::time::Duration;

use derive_setters::Setters;
use mcpgen_types::Revision;

use crate::protocol::info::LocalInfo;
use crate::protocol::modern::ResultRules;

/// The options of a client's connection. Convert a [`LocalInfo`] to get the defaults.
#[derive(Clone, Debug, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct ConnectOptions {
    /// The local info: the client's revisions, capabilities, name and version.
    pub local_info: LocalInfo,
    /// The rules for results of modern revisions.
    pub result_rules: ResultRules,
    /// How long to wait for the response to `server/discover` before the server is considered silent. The default is 30
    /// seconds, since a cold start through a package manager can take more than 15 seconds. A server that was started by
    /// [`connect_command`](crate::ClientBuilder::connect_command) is considered silent after at most five seconds, since
    /// its process is known to run.
    pub discover_timeout: Duration,
    /// Whether to send `initialize` to a silent server. If `false`, connecting fails. The default, `None`, is `false`
    /// over HTTP, because legacy servers respond to `server/discover` over HTTP, and `true` otherwise.
    ///
    /// The response to `server/discover` still decides if it arrives before the response to `initialize`. If the server
    /// rejects `initialize`, the client waits for the response to `server/discover` for the timeout once more.
    pub silence_is_legacy: Option<bool>,
    /// The revision of an earlier connection to this server: [`Client::revision`](crate::Client::revision). The client
    /// tries it first, so that a legacy server is not sent `server/discover`.
    pub known_revision: Option<Revision>,
    /// Whether to check a known modern revision with `server/discover`. The default is `true`. If `false`, nothing is
    /// sent before the first request, and the client has no peer info; if the server no longer supports the revision,
    /// connect again.
    pub check_known_revision: bool,
}

impl From<LocalInfo> for ConnectOptions {
    fn from(local_info: LocalInfo) -> Self {
        Self {
            local_info,
            result_rules: ResultRules::default(),
            discover_timeout: Duration::from_secs(30),
            silence_is_legacy: None,
            known_revision: None,
            check_known_revision: true,
        }
    }
}

impl ConnectOptions {
    /// Returns whether `initialize` is sent to a silent server.
    pub(super) fn treats_silence_as_legacy(&self) -> bool {
        self.silence_is_legacy.unwrap_or(true)
    }
}

#[cfg(feature = "stdio")]
impl ConnectOptions {
    /// Returns the known revision if the client accepts it.
    fn accepted_known(&self) -> Option<Revision> {
        self.known_revision.filter(|known| self.local_info.revisions.contains(known))
    }

    /// Returns the revision to assume after a server has exited, because it may require `initialize` as its first
    /// request. Returns `None` if it was sent `initialize` first.
    pub(crate) fn legacy_fallback(&self) -> Option<Revision> {
        self.local_info.revisions_of_kind(true).next().filter(|_| self.first_method() == "server/discover")
    }

    /// Returns the first request of the handshake.
    pub(crate) fn first_method(&self) -> &'static str {
        let known = self.accepted_known();
        match known.map_or(self.local_info.revisions_of_kind(false).next().is_none(), Revision::is_legacy) {
            true => "initialize",
            false => "server/discover",
        }
    }
}
