//! The options of a client's connection.

use std::time::Duration;

use derive_setters::Setters;
use mcpgen_types::Revision;

use crate::protocol::info::LocalInfo;
use crate::protocol::modern::ResultRules;

/// Options of a client's connection. Convert a [`LocalInfo`] to get the defaults.
#[derive(Clone, Debug, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct ConnectOptions {
    /// The client's revisions, capabilities, name and version.
    pub local_info: LocalInfo,
    /// Rules for the results of modern revisions.
    pub result_rules: ResultRules,
    /// How long to wait for the response to `server/discover` before the server counts as silent. Defaults to 30
    /// seconds: a cold start through a package manager can take more than 15. If `initialize` is next, at most five for
    /// a server started by [`connect_command`](crate::ClientBuilder::connect_command), as its process is known to run.
    pub discover_timeout: Duration,
    /// Whether to send `initialize` to a silent server. If `false`, connecting fails. `None`, the default, means
    /// `false` over HTTP, where legacy servers do respond to `server/discover`, and `true` otherwise.
    ///
    /// A response to `server/discover` still decides if it arrives before the one to `initialize`. If the server
    /// rejects `initialize`, the client waits for `server/discover` once more, for at most `discover_timeout`.
    pub silence_is_legacy: Option<bool>,
    /// The revision of an earlier connection to this server, from [`Client::revision`](crate::Client::revision). The
    /// client tries it first, so that a legacy server is not sent `server/discover`.
    pub known_revision: Option<Revision>,
    /// Whether to verify a known modern revision with `server/discover`. Defaults to `true`. If `false`, connecting
    /// sends nothing, and the client has no peer info. If the server has dropped the revision, the first request fails,
    /// and you must connect again.
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
    pub(super) fn treats_silence_as_legacy(&self) -> bool {
        self.silence_is_legacy.unwrap_or(true)
    }
}

#[cfg(feature = "stdio")]
impl ConnectOptions {
    /// Returns the known revision, if the client supports it.
    fn accepted_known(&self) -> Option<Revision> {
        self.known_revision.filter(|known| self.local_info.revisions.contains(known))
    }

    /// Returns the revision to try after the server has exited, because it may insist on `initialize` as the first
    /// request. `None` if `initialize` was already the first request.
    pub(crate) fn legacy_fallback(&self) -> Option<Revision> {
        self.local_info.revisions_of_kind(true).next().filter(|_| self.first_method() == "server/discover")
    }

    pub(crate) fn first_method(&self) -> &'static str {
        let known = self.accepted_known();
        match known.map_or(self.local_info.revisions_of_kind(false).next().is_none(), Revision::is_legacy) {
            true => "initialize",
            false => "server/discover",
        }
    }
}
