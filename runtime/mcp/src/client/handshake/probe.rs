//! Interprets the response to `server/discover`.

use mcpgen_runtime::peer::CallError;
use mcpgen_types::{ErrorObject, Json, JsonRef, Revision};

use crate::protocol;

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
pub fn probe_outcome(ours: &[Revision], response: &Result<Json, CallError>) -> ProbeOutcome {
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
pub(super) fn is_modern_rejection(error: &ErrorObject) -> bool {
    matches!(error.code.0, protocol::errors::HEADER_MISMATCH | protocol::errors::MISSING_CAPABILITY)
}

fn knows_legacy(versions: &[String]) -> bool {
    versions.iter().any(|version| version.parse().is_ok_and(Revision::is_legacy))
}

/// Returns the supported revisions from the response of a modern server to `server/discover`.
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

/// Returns the supported revisions from the error with which modern servers reject a revision.
pub(super) fn supported(error: &ErrorObject) -> Option<Vec<String>> {
    let data = error.data.as_ref().filter(|_| error.code.0 == protocol::errors::UNSUPPORTED_VERSION)?;
    strings(data.get("supported")?)
}
