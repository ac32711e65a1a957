//! Which revision a client and its server speak.
//!
//! A client that speaks both eras asks with `server/discover`, and falls back to `initialize` on anything that no modern
//! server answers. [`probe_outcome`] is that decision, whatever the answer came over.

use std::time::Duration;

use mcpgen_types::{ErrorObject, JsonObject, RawJson, Revision, Value};

use crate::jsonrpc::errors;
use crate::peer::outbox::Closed;
use crate::peer::{CallError, InFlight, Peer};
use crate::protocol::dual::DualProtocol;
use crate::protocol::info::LocalInfo;
use crate::protocol::legacy::InitializeError;
use crate::protocol::modern::ResultRules;

/// How a client opens a connection. An [`LocalInfo`] is one, with the defaults.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// What it says of itself.
    pub ours: LocalInfo,
    /// How it reads results.
    pub reading: ResultRules,
    /// How long to wait for the answer to `server/discover` before the server is taken to be silent; by default 30 seconds,
    /// since a cold start through a package manager takes 15 seconds and more.
    pub patience: Duration,
    /// Whether a silent server is sent `initialize`; otherwise connecting fails. The answer to `server/discover` still
    /// decides if it arrives before the one to `initialize`; after a refusal of `initialize`, the client waits for it for
    /// the patience once more. A server that was started by
    /// [`connect_command`](crate::ClientBuilder::connect_command) is started again instead, so that no process receives
    /// both. `true` by default. HTTP does not use this: there servers of the older revisions answer too.
    pub silence_is_legacy: bool,
    /// The revision that was agreed on with this server before: [`Client::revision`](crate::Client::revision). It is tried
    /// first, so that an older server is not asked what it does not know.
    pub known: Option<Revision>,
    /// Whether a known revision without a handshake is asked for at all. Without it nothing is sent before the first
    /// request, and nothing is known of the server; if it turns out to be another one by now, connect again.
    pub check: bool,
}

impl From<LocalInfo> for ConnectOptions {
    fn from(ours: LocalInfo) -> Self {
        Self {
            ours,
            reading: ResultRules::default(),
            patience: Duration::from_secs(30),
            silence_is_legacy: true,
            known: None,
            check: true,
        }
    }
}

/// Why a connection could not be made.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The server refused, or said nothing.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The server's answer to `initialize` is refused.
    #[error(transparent)]
    Initialize(#[from] InitializeError),
    /// The server wants `initialize`, and the client supports no revision that has it.
    #[error("the server wants `initialize`, and no revision that has it is supported here")]
    NoLegacyRevision,
    /// The server speaks only these revisions.
    #[error("the server speaks {}, none of which is supported here", .0.join(", "))]
    Incompatible(Vec<String>),
    /// The server speaks none of the revisions without a handshake, and we speak no other.
    #[error("the server speaks no revision that is supported here: it answers `server/discover` with {0}")]
    NotModern(String),
    /// What we say of ourselves is not what a request may say.
    #[error("our own introduction: {0}")]
    LocalInfo(mcpgen_types::Error),
}

/// What an answer to `server/discover` says of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// It speaks this revision, which needs no handshake.
    Modern(Revision),
    /// It does not speak the revision that it was asked in, but this one.
    Again(Revision),
    /// It wants `initialize`.
    Legacy,
    /// It speaks only these revisions, and we speak none of them.
    Incompatible(Vec<String>),
    /// It speaks some revision that needs no handshake, and does not take what it was asked.
    Refused,
}

/// What an answer to `server/discover` says of a server, to one who speaks these revisions, best first.
///
/// Whatever is not known to be the answer of a modern server is that of an older one: which error it is, or whether there
/// is an answer at all, makes no difference.
#[must_use]
pub fn probe_outcome(ours: &[Revision], answer: &Result<RawJson, CallError>) -> ProbeOutcome {
    let named = |versions: Option<&Value>| -> Option<Vec<String>> {
        versions?.as_array()?.iter().map(|version| version.as_str().map(str::to_owned)).collect()
    };
    let speaks = |versions: &[String], legacy: bool| {
        let spoken = |revision: &&Revision| versions.iter().any(|version| version == revision.as_str());
        ours.iter().filter(|revision| revision.is_legacy() == legacy).find(spoken).copied()
    };
    match answer {
        Ok(result) => {
            let result: JsonObject = result.decode().unwrap_or_default();
            let is_one = result.get("capabilities").is_some_and(Value::is_object);
            match named(result.get("supportedVersions")).filter(|_| is_one) {
                Some(versions) => match speaks(&versions, false) {
                    Some(revision) => ProbeOutcome::Modern(revision),
                    // It may say so before a handshake, and mean what comes after one.
                    None if knows_legacy(&versions) => ProbeOutcome::Legacy,
                    None => ProbeOutcome::Incompatible(versions),
                },
                None => ProbeOutcome::Legacy,
            }
        }
        Err(CallError::Refused(error)) => match supported(error) {
            Some(versions) => match speaks(&versions, false) {
                Some(revision) => ProbeOutcome::Again(revision),
                None if knows_legacy(&versions) => ProbeOutcome::Legacy,
                None => ProbeOutcome::Incompatible(versions),
            },
            None if is_modern_refusal(error) => ProbeOutcome::Refused,
            None => ProbeOutcome::Legacy,
        },
        Err(_) => ProbeOutcome::Legacy,
    }
}

/// Whether only a server of a modern revision refuses a request like this.
fn is_modern_refusal(error: &ErrorObject) -> bool {
    matches!(error.code.0, errors::HEADER_MISMATCH | errors::MISSING_CAPABILITY)
}

fn knows_legacy(versions: &[String]) -> bool {
    versions.iter().any(|version| version.parse().is_ok_and(Revision::is_legacy))
}

/// What a server says that it speaks, if it refuses a revision as modern ones do.
fn supported(error: &ErrorObject) -> Option<Vec<String>> {
    let data = error.data.as_ref().filter(|_| error.code.0 == errors::UNSUPPORTED_VERSION)?;
    let versions = data.get("supported")?.as_array()?;
    versions.iter().map(|version| version.as_str().map(str::to_owned)).collect()
}

/// How a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// On streams that cannot be opened again.
    Streams,
    /// With a process that can be started again.
    #[cfg(feature = "stdio")]
    Command,
    /// With a process that was started again, with `initialize`.
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
    /// The known revision, if the client accepts it.
    fn accepted_known(&self) -> Option<Revision> {
        self.known.filter(|known| self.ours.revisions.contains(known))
    }

    /// Whether a server that does not answer the first request may be one of a legacy revision.
    pub(crate) fn silence_suggests_legacy(&self) -> bool {
        let accepts = |legacy| self.ours.revisions_of_kind(legacy).next().is_some();
        self.silence_is_legacy && self.accepted_known().is_none() && accepts(false) && accepts(true)
    }

    /// The first request of the handshake.
    pub(crate) fn first_method(&self) -> &'static str {
        let known = self.accepted_known();
        match known.map_or(self.ours.revisions_of_kind(false).next().is_none(), Revision::is_legacy) {
            true => "initialize",
            false => "server/discover",
        }
    }

    /// Whether a server that failed like this may accept `initialize` as its first message.
    pub(crate) fn suggests_restart(&self, error: &HandshakeError) -> bool {
        let is_legacy = match error {
            HandshakeError::Call(CallError::Closed(_) | CallError::Invalid(_))
            | HandshakeError::Initialize(InitializeError::Json(_) | InitializeError::Missing(_)) => true,
            HandshakeError::Call(CallError::Timeout(_)) => self.silence_is_legacy,
            HandshakeError::Call(CallError::Refused(error)) => supported(error).is_none() && !is_modern_refusal(error),
            _ => false,
        };
        is_legacy && self.first_method() == "server/discover" && self.ours.revisions_of_kind(true).next().is_some()
    }
}

/// Finds out which revision is spoken, and sees to it that it can be.
pub(crate) async fn negotiate(
    peer: &Peer,
    protocol: &DualProtocol,
    options: &ConnectOptions,
    start: Start,
) -> Result<Revision, HandshakeError> {
    let ours = &options.ours.revisions;
    let known = options.known.filter(|known| ours.contains(known));
    let speaks_legacy = options.ours.revisions_of_kind(true).next().is_some();
    let mut next = known.filter(|known| !known.is_legacy()).or(options.ours.revisions_of_kind(false).next());
    if let Some(known) = known.filter(|known| !known.is_legacy() && !options.check) {
        protocol.agree(known);
        return Ok(known);
    }
    let mut refusal = None;
    if start.is_restarted() || known.is_some_and(Revision::is_legacy) {
        match initialize(peer, protocol).await {
            Err(error) if next.is_some() && may_be_modern(&error, start) => refusal = Some(error),
            shaken => return shaken,
        }
    }
    for last in [false, true] {
        let Some(revision) = next else { break };
        let answer = match discover(peer, protocol, options, start, revision).await {
            Reply::Discover(answer) => answer,
            // It is a modern one that was too slow to say so.
            Reply::Initialize(Err(error)) if !last && names_supported(&error) => continue,
            Reply::Initialize(shaken) => return shaken,
        };
        match (probe_outcome(ours, &answer), answer) {
            (_, Err(CallError::Closed(closed))) => return Err(refusal.unwrap_or(CallError::Closed(closed).into())),
            (_, Err(CallError::Undelivered(why))) if !why.reached => return Err(CallError::Undelivered(why).into()),
            (_, Err(CallError::Timeout(after))) => return Err(CallError::Timeout(after).into()),
            (ProbeOutcome::Refused, answer) => return Err(answer.err().unwrap_or(Closed.into()).into()),
            (ProbeOutcome::Modern(revision), _) => {
                protocol.agree(revision);
                return Ok(revision);
            }
            (ProbeOutcome::Again(revision), _) if !last => next = Some(revision),
            (ProbeOutcome::Again(revision), _) => return Err(HandshakeError::Incompatible(vec![revision.to_string()])),
            (ProbeOutcome::Incompatible(versions), _) => return Err(HandshakeError::Incompatible(versions)),
            (ProbeOutcome::Legacy, answer) if !speaks_legacy => {
                return Err(HandshakeError::NotModern(match answer {
                    Ok(result) => result.to_string(),
                    Err(error) => error.to_string(),
                }));
            }
            (ProbeOutcome::Legacy, _) => match initialize(peer, protocol).await {
                Err(error) if !last && names_supported(&error) => {}
                shaken => return shaken,
            },
        }
    }
    initialize(peer, protocol).await
}

/// Whether a server that does not accept `initialize` may be a modern one, to be asked on the same connection.
fn may_be_modern(error: &HandshakeError, start: Start) -> bool {
    match error {
        // The process was started again because it seemed not to be.
        error if start.is_restarted() => names_supported(error),
        // A server that was known to be legacy may have been upgraded. Which error it is says nothing.
        HandshakeError::Call(CallError::Refused(_) | CallError::Invalid(_)) => true,
        HandshakeError::Call(CallError::Timeout(_)) => start == Start::Streams,
        HandshakeError::Call(CallError::Undelivered(why)) => why.reached,
        _ => false,
    }
}

/// Whether a server refuses as modern ones do, with the revisions that it supports.
fn names_supported(error: &HandshakeError) -> bool {
    matches!(error, HandshakeError::Call(CallError::Refused(error)) if supported(error).is_some())
}

/// The request that was answered first.
enum Reply {
    Discover(Result<RawJson, CallError>),
    Initialize(Result<Revision, HandshakeError>),
}

/// Sends `server/discover`, and on silence `initialize` too if the opening allows that.
async fn discover(
    peer: &Peer,
    protocol: &DualProtocol,
    options: &ConnectOptions,
    start: Start,
    revision: Revision,
) -> Reply {
    protocol.agree(revision);
    // The probe stays pending for as long as nothing else decides.
    let probe = peer.raw_request("server/discover", None).idle_timeout(None).timeout(None);
    let mut probe = probe.send();
    let sends_both =
        options.silence_is_legacy && start == Start::Streams && options.ours.revisions_of_kind(true).next().is_some();
    match tokio::time::timeout(options.patience, &mut probe).await {
        Ok(answer) => Reply::Discover(answer),
        Err(_) if sends_both => initialize_beside(peer, protocol, options, &mut probe).await,
        Err(_) => Reply::Discover(Err(CallError::Timeout(options.patience))),
    }
}

/// Sends `initialize` while `server/discover` is pending. The answer to the latter decides if it comes first and only a
/// modern server gives it.
///
/// A modern server that answers requests concurrently may refuse `initialize` before its slow answer to the probe. After a
/// refusal the probe has the patience once more.
async fn initialize_beside(
    peer: &Peer,
    protocol: &DualProtocol,
    options: &ConnectOptions,
    probe: &mut InFlight<RawJson>,
) -> Reply {
    let ours = &options.ours.revisions;
    let mut initialized = std::pin::pin!(initialize(peer, protocol));
    let refusal = tokio::select! {
        biased;
        answer = &mut *probe => return match probe_outcome(ours, &answer) {
            ProbeOutcome::Modern(_) | ProbeOutcome::Again(_) | ProbeOutcome::Refused => Reply::Discover(answer),
            ProbeOutcome::Legacy | ProbeOutcome::Incompatible(_) => Reply::Initialize(initialized.await),
        },
        shaken = &mut initialized => match shaken {
            Err(error @ HandshakeError::Call(CallError::Refused(_))) if !names_supported(&error) => error,
            shaken => return Reply::Initialize(shaken),
        },
    };
    match tokio::time::timeout(options.patience, probe).await {
        Ok(answer) if probe_outcome(ours, &answer) != ProbeOutcome::Legacy => Reply::Discover(answer),
        _ => Reply::Initialize(Err(refusal)),
    }
}

/// The handshake of the older revisions, from now on.
async fn initialize(peer: &Peer, protocol: &DualProtocol) -> Result<Revision, HandshakeError> {
    protocol.agree(Revision::V2024_11_05);
    shake(peer, protocol).await
}

/// The handshake of the older revisions.
async fn shake(peer: &Peer, protocol: &DualProtocol) -> Result<Revision, HandshakeError> {
    let legacy = protocol.legacy().ok_or(HandshakeError::NoLegacyRevision)?;
    // What the result says is known before anything after it is looked at: see `Protocol::answered`.
    peer.raw_request("initialize", Some(legacy.introduce())).await?;
    if let Some(error) = legacy.failure() {
        return Err(error.into());
    }
    peer.raw_notify("notifications/initialized", None).await?;
    let peer_info = peer.peer_info().ok_or(CallError::Closed(Closed))?;
    Ok(peer_info.revision)
}
