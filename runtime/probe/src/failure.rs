//! Errors and exit codes.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use mcpgen_sdk::CallError;
use mcpgen_sdk::client::ServerOutput;
use mcpgen_types::{ErrorObject, Revision, counted};

/// The server or tool reports an error.
const REPORTED: u8 = 1;
/// Wrong usage, or a file cannot be read or written.
const USAGE: u8 = 2;
/// No connection, or no response.
pub(crate) const CONNECTION: u8 = 3;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Failure {
    /// Wrong usage. The text includes the remedy.
    #[error("{0}")]
    Usage(String),
    #[error("cannot connect to {server}: {why}")]
    Connect { server: String, why: String },
    /// A server's command could not be started, or the connection to it failed. The text names the command.
    #[error("{0}")]
    Command(String),
    #[error("{server} speaks revision {speaks}, not {requested}; use --revision {speaks}, or leave it out")]
    Revision { server: String, requested: Revision, speaks: Revision },
    /// The server requires an access token.
    #[error(
        "cannot connect to {server}: it requires an access token; log in with --login, or pass a token with --header \
         'Authorization: Bearer TOKEN'"
    )]
    Unauthorized { server: String },
    #[error("no response within {limit:?} ({activity}); set a longer --timeout{output}")]
    Timeout { limit: Duration, activity: String, output: ServerOutput },
    /// The server exited with an error, and not because of a signal from this command.
    #[error("the server ended: {0}")]
    Exited(ExitStatus),
    #[error("ended by signal {0}")]
    Signal(i32),
    #[error("{method}: the server responded with error {}: {}", error.code.0, error.message)]
    Response { method: String, error: ErrorObject },
    /// A tool failed. Its result has been printed already.
    #[error("the tool `{0}` failed")]
    Tool(String),
    /// Messages did not match the schema. Each of them has been reported already.
    #[error("{}", counted(*.0, "invalid messages"))]
    InvalidMessages(u64),
    #[error("{method}: {why}")]
    Call { method: String, why: String },
    /// The server sent something that the command cannot use.
    #[error("{method}: {why}")]
    Unexpected { method: String, why: String },
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

    /// Removes the URL from `why`, because the message already names the server.
    pub(crate) fn connect(server: &str, why: &str) -> Failure {
        let why =
            ["", "/"].iter().fold(why.to_owned(), |why, end| why.replace(&format!(" for url ({server}{end})"), ""));
        Failure::Connect { server: server.to_owned(), why }
    }

    /// Merges another failure if it has the same cause. Returns whether it does.
    pub(crate) fn merge(&mut self, other: &Failure) -> bool {
        let (method, other) = match (self, other) {
            (Failure::Response { method, error }, Failure::Response { method: other, error: same })
                if error == same =>
            {
                (method, other)
            }
            (Failure::Unexpected { method, why }, Failure::Unexpected { method: other, why: same }) if why == same => {
                (method, other)
            }
            _ => return false,
        };
        method.push_str(&format!(", {other}"));
        true
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
            // The same exit code as in shells.
            Failure::Signal(number) => u8::try_from(128 + number).unwrap_or(CONNECTION),
        }
    }
}

/// An error and its sources, without repetitions.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            // An error may end with the start of its source.
            let parts = more.rmatch_indices(": ").map(|(at, _)| at);
            let said = parts.map(|at| &more[..at]).find(|part| text.ends_with(part)).unwrap_or_default();
            let more = &more[said.len()..];
            text.push_str(if said.is_empty() { ": " } else { "" });
            text.push_str(more);
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Link {
        text: &'static str,
        source: Option<Box<Link>>,
    }

    #[test]
    fn says_each_cause_once() {
        for (chain, expected) in [
            (&["a", "b", "c"][..], "a: b: c"),
            (&["a: b", "b", "c"], "a: b: c"),
            (&["a: b", "b: c"], "a: b: c"),
            (&["a: b: c", "b: c: d", "d"], "a: b: c: d"),
        ] {
            let link = |source, text: &&'static str| Some(Box::new(Link { text, source }));
            let error = chain.iter().rev().fold(None, link).expect("an error");
            assert_eq!(with_sources(&*error), expected, "{chain:?}");
        }
    }
}
