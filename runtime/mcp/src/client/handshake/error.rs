//! Handshake errors.

use std::time::Duration;

use mcpgen_runtime::peer::CallError;
use mcpgen_types::Revision;

use crate::protocol::legacy::InitializeError;

/// Why a handshake failed.
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
    #[error("no response to `initialize` within {0:?}; raise `Limits::idle_timeout` if the server starts slowly")]
    InitializeTimeout(Duration),
    /// The server's result of `initialize` is invalid, or its revision is not supported.
    #[error(transparent)]
    Initialize(#[from] InitializeError),
    /// The client supports no revision.
    #[error("this client supports no revision; add one to `LocalInfo::revisions`")]
    NoRevision,
    /// The server supports only these revisions, none of which the client supports.
    #[error("{}", incompatible(.0))]
    Incompatible(Vec<String>),
    /// The server lists a revision that the client supports, but rejected the last attempt.
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
    /// The response to `server/discover` does not come from a modern server, and the client supports no legacy
    /// revision. Contains the response.
    #[error(
        "this client supports only modern revisions, and the response to `server/discover` is not that of a modern \
         server: {0}"
    )]
    NotModern(String),
    /// The local info cannot be encoded as request metadata.
    #[error("`LocalInfo` cannot be sent as request metadata: {0}")]
    LocalInfo(#[source] mcpgen_types::Error),
}

fn incompatible(revisions: &[String]) -> String {
    match revisions {
        [] => "the server lists no supported revision".to_owned(),
        [one] => format!("the server supports only revision {one}, which this client does not support"),
        many => {
            format!("the server supports only revisions {}, none of which this client supports", many.join(", "))
        }
    }
}
