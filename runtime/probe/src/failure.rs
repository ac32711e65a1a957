//! Errors, and the exit codes of the command.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use mcpgen_sdk::CallError;
use mcpgen_sdk::client::ServerOutput;
use mcpgen_types::{ErrorObject, Revision, counted};

/// The server, or the tool, reports an error.
const REPORTED: u8 = 1;
/// The usage is wrong, or a file cannot be read or written.
const USAGE: u8 = 2;
/// There is no connection, or no response.
pub(crate) const CONNECTION: u8 = 3;

/// A reason why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Failure {
    /// The usage is wrong. The text includes the remedy.
    #[error("{0}")]
    Usage(String),
    /// The connection could not be established.
    #[error("cannot connect to {server}: {why}")]
    Connect { server: String, why: String },
    /// A command could not be started as a server, or the connection to it failed. The text names the command.
    #[error("{0}")]
    Command(String),
    /// The server does not support the requested revision.
    #[error("{server} speaks revision {speaks}, not {requested}; use --revision {speaks}, or leave it out")]
    Revision { server: String, requested: Revision, speaks: Revision },
    /// The server requires an access token.
    #[error(
        "cannot connect to {server}: it requires an access token; log in with --login, or pass a token with --header \
         'Authorization: Bearer TOKEN'"
    )]
    Unauthorized { server: String },
    /// The server did not respond in time.
    #[error("no response within {limit:?} ({activity}); set a longer --timeout{output}")]
    Timeout { limit: Duration, activity: String, output: ServerOutput },
    /// The server exited by itself, and not successfully.
    #[error("the server ended: {0}")]
    Exited(ExitStatus),
    /// A signal has ended the command.
    #[error("ended by signal {0}")]
    Signal(i32),
    /// The server responded with an error.
    #[error("{method}: the server responded with error {}: {}", error.code.0, error.message)]
    Response { method: String, error: ErrorObject },
    /// A tool failed, and its result was written.
    #[error("the tool `{0}` failed")]
    Tool(String),
    /// Messages did not match the schema, and were reported.
    #[error("{}", counted(*.0, "invalid messages"))]
    InvalidMessages(u64),
    /// A call failed.
    #[error("{method}: {why}")]
    Call { method: String, why: String },
    /// The server sent something that this command cannot use.
    #[error("{method}: {why}")]
    Unexpected { method: String, why: String },
    /// A file or a stream could not be read or written.
    #[error("{action}: {source}")]
    Io { action: String, source: io::Error },
}

impl Failure {
    pub(crate) fn call(method: &str, error: CallError) -> Failure {
        let method = method.to_owned();
        match error {
            CallError::ErrorResponse(error) => Failure::Response { method, error },
            other => Failure::Call { method, why: with_sources(&other) },
        }
    }

    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Failure {
        let action = action.into();
        move |source| Failure::Io { action, source }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Usage(_) | Failure::Io { .. } => USAGE,
            Failure::Response { .. }
            | Failure::Tool(_)
            | Failure::InvalidMessages(_)
            | Failure::Unexpected { .. }
            | Failure::Exited(_) => REPORTED,
            Failure::Connect { .. }
            | Failure::Command(_)
            | Failure::Revision { .. }
            | Failure::Unauthorized { .. }
            | Failure::Timeout { .. }
            | Failure::Call { .. } => CONNECTION,
            // As shells do.
            Failure::Signal(number) => u8::try_from(128 + number).unwrap_or(CONNECTION),
        }
    }
}

/// Returns the text of an error and of its sources. A source that the text already contains is left out.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(&format!(": {more}"));
        }
        source = error.source();
    }
    text
}
