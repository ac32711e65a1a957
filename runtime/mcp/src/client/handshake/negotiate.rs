//! Sends the requests of the handshake.

use std::time::Duration;

use mcpgen_runtime::Closed;
use mcpgen_runtime::peer::{Call, CallError, Peer};
use mcpgen_runtime::util::error_chain;
use mcpgen_types::{Json, Revision};

use super::error::HandshakeError;
use super::options::ConnectOptions;
use super::probe::{ProbeOutcome, listed, probe_outcome, supported};
use super::start::Start;
use crate::protocol::PeerExt;
use crate::protocol::dual::DualProtocol;

/// Agrees on a revision, and completes the handshake if the revision has one.
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
        protocol.select_revision(known);
        return Ok(known);
    }
    let mut rejection = None;
    if known.is_some_and(Revision::is_legacy) {
        match initialize(peer, protocol).await {
            Err(error) if next.is_some() && may_be_modern(&error, start) => rejection = Some(error),
            initialized => return initialized,
        }
    }
    for last in [false, true] {
        let Some(revision) = next else { break };
        let response = match discover(peer, protocol, options, start, revision).await {
            Reply::Discover(response) => response,
            // The server is modern; its response to `server/discover` was just slow.
            Reply::Initialize(Err(error)) if !last && names_supported(&error) => continue,
            Reply::Initialize(initialized) => return initialized,
        };
        match (probe_outcome(ours, &response), response) {
            (_, Err(CallError::Closed(closed))) => return Err(rejection.unwrap_or(CallError::Closed(closed).into())),
            (_, Err(CallError::Undelivered(why))) if !why.reached => return Err(CallError::Undelivered(why).into()),
            (_, Err(CallError::Timeout { limit, .. })) => return Err(HandshakeError::Timeout(limit)),
            (ProbeOutcome::Rejected, response) => return Err(response.err().unwrap_or(Closed.into()).into()),
            (ProbeOutcome::Modern(revision), _) => {
                protocol.select_revision(revision);
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
                    (None, Err(error)) => HandshakeError::NotModern(error_chain(&error)),
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

/// Returns whether a server that rejected `initialize` may be modern, so that `server/discover` is worth trying on the
/// same connection.
fn may_be_modern(error: &HandshakeError, start: Start) -> bool {
    match error {
        // A server known to be legacy may have been upgraded and respond with any error.
        HandshakeError::Call(CallError::ErrorResponse(_) | CallError::Invalid(_)) => true,
        HandshakeError::InitializeTimeout(_) => start == Start::Streams,
        HandshakeError::Call(CallError::Undelivered(why)) => why.reached,
        _ => false,
    }
}

/// Returns whether an error lists the supported revisions, which only errors of modern servers do.
fn names_supported(error: &HandshakeError) -> bool {
    matches!(error, HandshakeError::Call(CallError::ErrorResponse(error)) if supported(error).is_some())
}

/// Whichever response arrived first.
enum Reply {
    Discover(Result<Json, CallError>),
    Initialize(Result<Revision, HandshakeError>),
}

/// Sends `server/discover` and, if the server stays silent and the options allow it, `initialize`.
async fn discover(
    peer: &Peer,
    protocol: &DualProtocol,
    options: &ConnectOptions,
    start: Start,
    revision: Revision,
) -> Reply {
    protocol.select_revision(revision);
    // No timeout: the probe stays pending until the revision is decided.
    let probe =
        peer.raw_request("server/discover", None).idle_timeout(None).timeout(None).notification_wait(Duration::ZERO);
    let mut probe = probe.takes_unmatched_errors().send();
    let sends_both = options.treats_silence_as_legacy() && options.local_info.revisions_of_kind(true).next().is_some();
    let patience = if sends_both { start.patience(options.discover_timeout) } else { options.discover_timeout };
    match tokio::time::timeout(patience, &mut probe).await {
        Ok(response) => Reply::Discover(response),
        Err(_) if sends_both => initialize_beside(peer, protocol, options, &mut probe).await,
        Err(_) => {
            let (request, limit) = ("server/discover".to_owned(), options.discover_timeout);
            Reply::Discover(Err(CallError::Timeout { request, limit }))
        }
    }
}

/// Sends `initialize` while `server/discover` is pending. The response to `server/discover` decides if it arrives first
/// and can only come from a modern server.
///
/// A modern server that handles requests concurrently may reject `initialize` before it responds to the probe. After a
/// rejection, the client therefore waits for the probe again, for at most `discover_timeout`.
async fn initialize_beside(
    peer: &Peer,
    protocol: &DualProtocol,
    options: &ConnectOptions,
    probe: &mut Call<Json>,
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
    protocol.select_legacy();
    perform_initialize(peer, protocol).await
}

async fn perform_initialize(peer: &Peer, protocol: &DualProtocol) -> Result<Revision, HandshakeError> {
    let legacy = protocol.legacy().ok_or(HandshakeError::NoRevision)?;
    // The result is processed before any later message; see `RevisionRules::process_result`.
    peer.raw_request("initialize", Some(legacy.initialize_params())).notification_wait(Duration::ZERO).await.map_err(
        |error| match error {
            CallError::Timeout { limit, .. } => HandshakeError::InitializeTimeout(limit),
            error => error.into(),
        },
    )?;
    if let Some(error) = legacy.take_error() {
        return Err(error.into());
    }
    peer.raw_notify("notifications/initialized", None).await?;
    let peer_info = peer.peer_info().ok_or(CallError::Closed(Closed))?;
    Ok(peer_info.revision)
}
