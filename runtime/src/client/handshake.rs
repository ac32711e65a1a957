//! Negotiates the revision of a connection.
//!
//! A client that supports modern and legacy revisions sends `server/discover` first. It falls back to `initialize`
//! unless the response can only come from a modern server. [`probe_outcome`] makes this decision for all transports.

use std::time::Duration;

use mcpgen_types::{ErrorObject, JsonObject, RawJson, Revision, Value};

use crate::jsonrpc::errors;
use crate::peer::outbox::Closed;
use crate::peer::{Call, CallError, Peer};
use crate::protocol::dual::DualProtocol;
use crate::protocol::info::LocalInfo;
use crate::protocol::legacy::InitializeError;
use crate::protocol::modern::ResultRules;

/// The options of a client's connection. Convert a [`LocalInfo`] to get the defaults.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The local info: the client's revisions, capabilities, name and version.
    pub local_info: LocalInfo,
    /// How results of modern revisions are read.
    pub result_rules: ResultRules,
    /// How long to wait for the response to `server/discover` before the server is considered silent. The default is 30
    /// seconds, since a cold start through a package manager can take more than 15 seconds.
    pub discover_timeout: Duration,
    /// Whether to send `initialize` to a silent server. If `false`, connecting fails. The default, `None`, is `false`
    /// over HTTP, because legacy servers respond to `server/discover` over HTTP, and `true` otherwise.
    ///
    /// The response to `server/discover` still decides if it arrives before the response to `initialize`. If the server
    /// rejects `initialize`, the client waits for the response to `server/discover` for the timeout once more. A
    /// server that was started by [`connect_command`](crate::ClientBuilder::connect_command) is restarted instead, so
    /// that no process receives both requests.
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
    fn treats_silence_as_legacy(&self) -> bool {
        self.silence_is_legacy.unwrap_or(true)
    }
}

/// The reason why a handshake failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The server rejected a request of the handshake, or the request could not be delivered.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The server did not respond to `server/discover` within this time.
    #[error(
        "no response to `server/discover` within {0:?}; raise `ConnectOptions::discover_timeout` if the server starts slowly"
    )]
    Timeout(Duration),
    /// The server did not respond to `initialize` within this time.
    #[error("no response to `initialize` within {0:?}; raise `Limits::idle` if the server starts slowly")]
    InitializeTimeout(Duration),
    /// The server's result of `initialize` is invalid, or its revision is not supported.
    #[error(transparent)]
    Initialize(#[from] InitializeError),
    /// The client supports no revision.
    #[error("this client supports no revision; add one to `LocalInfo::revisions`")]
    NoRevision,
    /// The server supports only these revisions, and the client supports none of them.
    #[error("{}", incompatible(.0))]
    Incompatible(Vec<String>),
    /// The server rejected the last attempt, although the client supports a revision that the server lists.
    #[error(
        "the server rejected `server/discover` with revision {rejected}, but lists {listed} as supported; the client \
         gave up after two attempts"
    )]
    Contradiction {
        /// The revision of the last request.
        rejected: Revision,
        /// The revision that the server lists.
        listed: Revision,
    },
    /// The response to `server/discover` is not that of a modern server, and the client supports no legacy revision.
    /// Contains the response.
    #[error(
        "this client supports only modern revisions, and the response to `server/discover` is not that of a modern \
         server: {0}"
    )]
    NotModern(String),
    /// The local info cannot be encoded as request metadata.
    #[error("invalid `LocalInfo`: {0}")]
    LocalInfo(#[source] mcpgen_types::Error),
}

/// Describes a server that supports only these revisions.
fn incompatible(revisions: &[String]) -> String {
    match revisions {
        [] => "the server lists no supported revision".to_owned(),
        [one] => format!("the server supports only revision {one}, which this client does not support"),
        many => {
            format!("the server supports only revisions {}, none of which this client supports", many.join(", "))
        }
    }
}

/// The outcome of a `server/discover` request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// The server supports this modern revision.
    Modern(Revision),
    /// The server does not support the revision of the request, but supports this one.
    Retry(Revision),
    /// The server requires `initialize`.
    Legacy,
    /// The server supports only these revisions, and the client supports none of them.
    Incompatible(Vec<String>),
    /// The server supports a modern revision, but rejected the request.
    Rejected,
}

/// Decides how to continue after `server/discover`. `ours` are the revisions that the client supports, best first.
///
/// Any outcome that is not known to come from a modern server counts as legacy: other errors, and no response at all.
#[must_use]
pub fn probe_outcome(ours: &[Revision], response: &Result<RawJson, CallError>) -> ProbeOutcome {
    let supports = |versions: &[String], legacy: bool| {
        let is_listed = |revision: &&Revision| versions.iter().any(|version| version == revision.as_str());
        ours.iter().filter(|revision| revision.is_legacy() == legacy).find(is_listed).copied()
    };
    match response {
        Ok(_) => match listed(response) {
            Some(versions) => match supports(&versions, false) {
                Some(revision) => ProbeOutcome::Modern(revision),
                // The server may list the legacy revisions that it supports after a handshake.
                None if knows_legacy(&versions) => ProbeOutcome::Legacy,
                None => ProbeOutcome::Incompatible(versions),
            },
            None => ProbeOutcome::Legacy,
        },
        Err(CallError::ErrorResponse(error)) => match supported(error) {
            Some(versions) => match supports(&versions, false) {
                Some(revision) => ProbeOutcome::Retry(revision),
                None if knows_legacy(&versions) => ProbeOutcome::Legacy,
                None => ProbeOutcome::Incompatible(versions),
            },
            None if is_modern_rejection(error) => ProbeOutcome::Rejected,
            None => ProbeOutcome::Legacy,
        },
        Err(_) => ProbeOutcome::Legacy,
    }
}

/// Returns whether only a server of a modern revision responds with this error.
fn is_modern_rejection(error: &ErrorObject) -> bool {
    matches!(error.code.0, errors::HEADER_MISMATCH | errors::MISSING_CAPABILITY)
}

fn knows_legacy(versions: &[String]) -> bool {
    versions.iter().any(|version| version.parse().is_ok_and(Revision::is_legacy))
}

/// Returns the supported revisions from the response of a modern server to `server/discover`.
fn listed(response: &Result<RawJson, CallError>) -> Option<Vec<String>> {
    match response {
        Ok(result) => {
            let result: JsonObject = result.decode().ok()?;
            result.get("capabilities").filter(|capabilities| capabilities.is_object())?;
            strings(result.get("supportedVersions")?)
        }
        Err(CallError::ErrorResponse(error)) => supported(error),
        Err(_) => None,
    }
}

fn strings(array: &Value) -> Option<Vec<String>> {
    array.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

/// Returns the supported revisions from the error with which modern servers reject a revision.
fn supported(error: &ErrorObject) -> Option<Vec<String>> {
    let data = error.data.as_ref().filter(|_| error.code.0 == errors::UNSUPPORTED_VERSION)?;
    strings(data.get("supported")?)
}

/// How a connection starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// On streams that cannot be reopened.
    Streams,
    /// With a process that can be restarted.
    #[cfg(feature = "stdio")]
    Command,
    /// With a process that was restarted, and is sent `initialize` first.
    #[cfg(feature = "stdio")]
    Restarted,
}

impl Start {
    #[cfg(feature = "stdio")]
    fn is_restarted(self) -> bool {
        self == Self::Restarted
    }

    #[cfg(not(feature = "stdio"))]
    fn is_restarted(self) -> bool {
        false
    }
}

#[cfg(feature = "stdio")]
impl ConnectOptions {
    /// Returns the known revision if the client accepts it.
    fn accepted_known(&self) -> Option<Revision> {
        self.known_revision.filter(|known| self.local_info.revisions.contains(known))
    }

    /// Returns whether a server that does not respond to the first request may be a legacy server.
    pub(crate) fn silence_suggests_legacy(&self) -> bool {
        let accepts = |legacy| self.local_info.revisions_of_kind(legacy).next().is_some();
        self.treats_silence_as_legacy() && self.accepted_known().is_none() && accepts(false) && accepts(true)
    }

    /// Returns the first request of the handshake.
    pub(crate) fn first_method(&self) -> &'static str {
        let known = self.accepted_known();
        match known.map_or(self.local_info.revisions_of_kind(false).next().is_none(), Revision::is_legacy) {
            true => "initialize",
            false => "server/discover",
        }
    }

    /// Returns whether a server that failed with this error may accept `initialize` as its first message.
    pub(crate) fn suggests_restart(&self, error: &HandshakeError) -> bool {
        let is_legacy = match error {
            HandshakeError::Call(CallError::Closed(_) | CallError::Invalid(_))
            | HandshakeError::Initialize(InitializeError::Json(_) | InitializeError::Missing(_)) => true,
            HandshakeError::Timeout(_) | HandshakeError::InitializeTimeout(_) => self.treats_silence_as_legacy(),
            HandshakeError::Call(CallError::ErrorResponse(error)) => {
                supported(error).is_none() && !is_modern_rejection(error)
            }
            _ => false,
        };
        is_legacy
            && self.first_method() == "server/discover"
            && self.local_info.revisions_of_kind(true).next().is_some()
    }
}

/// Negotiates the revision of the connection, and completes the handshake if the revision has one.
pub(crate) async fn negotiate(
    peer: &Peer,
    protocol: &DualProtocol,
    options: &ConnectOptions,
    start: Start,
) -> Result<Revision, HandshakeError> {
    let ours = &options.local_info.revisions;
    if ours.is_empty() {
        return Err(HandshakeError::NoRevision);
    }
    let known = options.known_revision.filter(|known| ours.contains(known));
    let supports_legacy = options.local_info.revisions_of_kind(true).next().is_some();
    let mut next = known.filter(|known| !known.is_legacy()).or(options.local_info.revisions_of_kind(false).next());
    if let Some(known) = known.filter(|known| !known.is_legacy() && !options.check_known_revision) {
        protocol.agree(known);
        return Ok(known);
    }
    let mut rejection = None;
    if start.is_restarted() || known.is_some_and(Revision::is_legacy) {
        match initialize(peer, protocol).await {
            Err(error) if next.is_some() && may_be_modern(&error, start) => rejection = Some(error),
            initialized => return initialized,
        }
    }
    for last in [false, true] {
        let Some(revision) = next else { break };
        let response = match discover(peer, protocol, options, start, revision).await {
            Reply::Discover(response) => response,
            // The server is modern, but its response to `server/discover` was too slow.
            Reply::Initialize(Err(error)) if !last && names_supported(&error) => continue,
            Reply::Initialize(initialized) => return initialized,
        };
        match (probe_outcome(ours, &response), response) {
            (_, Err(CallError::Closed(closed))) => return Err(rejection.unwrap_or(CallError::Closed(closed).into())),
            (_, Err(CallError::Undelivered(why))) if !why.reached => return Err(CallError::Undelivered(why).into()),
            (_, Err(CallError::Timeout(after))) => return Err(HandshakeError::Timeout(after)),
            (ProbeOutcome::Rejected, response) => return Err(response.err().unwrap_or(Closed.into()).into()),
            (ProbeOutcome::Modern(revision), _) => {
                protocol.agree(revision);
                return Ok(revision);
            }
            (ProbeOutcome::Retry(revision), _) if !last => next = Some(revision),
            (ProbeOutcome::Retry(listed), _) => {
                return Err(HandshakeError::Contradiction { rejected: revision, listed });
            }
            (ProbeOutcome::Incompatible(versions), _) => return Err(HandshakeError::Incompatible(versions)),
            (ProbeOutcome::Legacy, response) if !supports_legacy => {
                return Err(match (listed(&response), response) {
                    (Some(revisions), _) => HandshakeError::Incompatible(revisions),
                    (None, Ok(result)) => HandshakeError::NotModern(result.to_string()),
                    (None, Err(error)) => HandshakeError::NotModern(error.to_string()),
                });
            }
            (ProbeOutcome::Legacy, _) => match initialize(peer, protocol).await {
                Err(error) if !last && names_supported(&error) => {}
                initialized => return initialized,
            },
        }
    }
    initialize(peer, protocol).await
}

/// Returns whether a server that rejects `initialize` may be modern, so that the same connection can be used for
/// `server/discover`.
fn may_be_modern(error: &HandshakeError, start: Start) -> bool {
    match error {
        // The process was restarted because it seemed to be a legacy server.
        error if start.is_restarted() => names_supported(error),
        // A server that was known to be legacy may have been upgraded. Any error response is possible then.
        HandshakeError::Call(CallError::ErrorResponse(_) | CallError::Invalid(_)) => true,
        HandshakeError::InitializeTimeout(_) => start == Start::Streams,
        HandshakeError::Call(CallError::Undelivered(why)) => why.reached,
        _ => false,
    }
}

/// Returns whether the error lists the supported revisions, as only modern servers do.
fn names_supported(error: &HandshakeError) -> bool {
    matches!(error, HandshakeError::Call(CallError::ErrorResponse(error)) if supported(error).is_some())
}

/// The response that arrived first.
enum Reply {
    Discover(Result<RawJson, CallError>),
    Initialize(Result<Revision, HandshakeError>),
}

/// Sends `server/discover`. If the server stays silent, also sends `initialize`, if the options allow it.
async fn discover(
    peer: &Peer,
    protocol: &DualProtocol,
    options: &ConnectOptions,
    start: Start,
    revision: Revision,
) -> Reply {
    protocol.agree(revision);
    // The probe has no timeout: it stays pending until the revision is decided.
    let probe = peer.raw_request("server/discover", None).idle_timeout(None).timeout(None);
    let mut probe = probe.send();
    let sends_both = options.treats_silence_as_legacy()
        && start == Start::Streams
        && options.local_info.revisions_of_kind(true).next().is_some();
    match tokio::time::timeout(options.discover_timeout, &mut probe).await {
        Ok(response) => Reply::Discover(response),
        Err(_) if sends_both => initialize_beside(peer, protocol, options, &mut probe).await,
        Err(_) => Reply::Discover(Err(CallError::Timeout(options.discover_timeout))),
    }
}

/// Sends `initialize` while `server/discover` is pending. The response to `server/discover` decides if it arrives first
/// and only a modern server sends it.
///
/// A modern server that handles requests concurrently may reject `initialize` before its slow response to the probe.
/// After a rejection, the client waits for the probe for the timeout once more.
async fn initialize_beside(
    peer: &Peer,
    protocol: &DualProtocol,
    options: &ConnectOptions,
    probe: &mut Call<RawJson>,
) -> Reply {
    let ours = &options.local_info.revisions;
    let mut initialized = std::pin::pin!(initialize(peer, protocol));
    let rejection = tokio::select! {
        biased;
        response = &mut *probe => return match probe_outcome(ours, &response) {
            ProbeOutcome::Modern(_) | ProbeOutcome::Retry(_) | ProbeOutcome::Rejected => Reply::Discover(response),
            ProbeOutcome::Legacy | ProbeOutcome::Incompatible(_) => Reply::Initialize(initialized.await),
        },
        initialized = &mut initialized => match initialized {
            Err(error @ HandshakeError::Call(CallError::ErrorResponse(_))) if !names_supported(&error) => error,
            initialized => return Reply::Initialize(initialized),
        },
    };
    match tokio::time::timeout(options.discover_timeout, probe).await {
        Ok(response) if probe_outcome(ours, &response) != ProbeOutcome::Legacy => Reply::Discover(response),
        _ => Reply::Initialize(Err(rejection)),
    }
}

/// Switches the connection to the legacy revisions and performs their handshake.
async fn initialize(peer: &Peer, protocol: &DualProtocol) -> Result<Revision, HandshakeError> {
    protocol.agree(Revision::V2024_11_05);
    perform_initialize(peer, protocol).await
}

/// Performs the handshake of the legacy revisions.
async fn perform_initialize(peer: &Peer, protocol: &DualProtocol) -> Result<Revision, HandshakeError> {
    let legacy = protocol.legacy().ok_or(HandshakeError::NoRevision)?;
    // The result is processed before any later message: see `Protocol::answered`.
    peer.raw_request("initialize", Some(legacy.introduce())).await.map_err(|error| match error {
        CallError::Timeout(limit) => HandshakeError::InitializeTimeout(limit),
        error => error.into(),
    })?;
    if let Some(error) = legacy.failure() {
        return Err(error.into());
    }
    peer.raw_notify("notifications/initialized", None).await?;
    let peer_info = peer.peer_info().ok_or(CallError::Closed(Closed))?;
    Ok(peer_info.revision)
}
