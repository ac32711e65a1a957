//! Interprets the response to `server/discover`.

use mcpgen_runtime::peer::CallError;
use mcpgen_types::{ErrorObject, Json, JsonRef, Revision};

use crate::protocol;

/// What a client learns from `server/discover`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// The server supports this modern revision.
    Modern(Revision),
    /// The server does not support the requested revision, but supports this one.
    Retry(Revision),
    /// The server requires `initialize`.
    Legacy,
    /// The server supports only these revisions, none of which the client supports.
    Incompatible(Vec<String>),
    /// The server supports a modern revision, but rejected the request.
    Rejected,
}

/// Decides how to continue after `server/discover`. `ours` are the client's revisions, best first.
///
/// Anything that does not certainly come from a modern server counts as legacy, including other errors and silence.
#[must_use]
pub fn probe_outcome(ours: &[Revision], response: &Result<Json, CallError>) -> ProbeOutcome {
    let supports = |versions: &[String], legacy: bool| {
        let is_listed = |revision: &&Revision| versions.iter().any(|version| version == revision.as_str());
        ours.iter().filter(|revision| revision.is_legacy() == legacy).find(is_listed).copied()
    };
    match response {
        Ok(_) => match listed(response) {
            Some(versions) => match supports(&versions, false) {
                Some(revision) => ProbeOutcome::Modern(revision),
                // The server may list legacy revisions, which it supports after a handshake.
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

/// Returns whether an error can only come from a modern server.
pub(super) fn is_modern_rejection(error: &ErrorObject) -> bool {
    matches!(error.code.0, protocol::errors::HEADER_MISMATCH | protocol::errors::MISSING_CAPABILITY)
}

fn knows_legacy(versions: &[String]) -> bool {
    versions.iter().any(|version| version.parse().is_ok_and(Revision::is_legacy))
}

/// Returns the supported revisions from a modern server's result of `server/discover`.
pub(super) fn listed(response: &Result<Json, CallError>) -> Option<Vec<String>> {
    match response {
        Ok(result) => {
            result.get("capabilities").filter(|capabilities| capabilities.is_object())?;
            strings(result.get("supportedVersions")?)
        }
        Err(CallError::ErrorResponse(error)) => supported(error),
        Err(_) => None,
    }
}

fn strings(array: JsonRef<'_>) -> Option<Vec<String>> {
    array.decode().ok()
}

pub(super) fn supported(error: &ErrorObject) -> Option<Vec<String>> {
    let data = error.data.as_ref().filter(|_| error.code.0 == protocol::errors::UNSUPPORTED_VERSION)?;
    strings(data.get("supported")?)
}
