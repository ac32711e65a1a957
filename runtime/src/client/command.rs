//! Connecting to a server that the client starts.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::Command;

use super::builder::ClientBuilder;
use super::{Client, Lifecycle, connect_with};
use crate::negotiation::{HandshakeError, Start};
use crate::outbox::Closed;
use crate::peer::CallError;
use crate::transport::process::{Process, STOP, describe, exited, trailer};

/// How long each step of ending a process may take that no connection could be made to.
const GIVE_UP: Duration = Duration::from_secs(1);

impl ClientBuilder {
    /// Starts a server and connects to it over its standard input and output. What it writes to standard error is logged.
    ///
    /// The process belongs to the client. When the connection ends, the server's input is closed; it has five seconds to
    /// exit and five more after `SIGTERM` before it is killed. [`Client::close`] waits for that.
    ///
    /// A server that has not answered `server/discover` within [`patience`](crate::negotiation::Opening::patience), exits on
    /// it, or refuses it and then `initialize` too is ended and started once more, this time with `initialize`: many
    /// servers of the older revisions accept nothing else as the first message. A server that is
    /// [`known`](crate::negotiation::Opening::known) to be one of them is sent `initialize` at once.
    ///
    /// ```no_run
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// use mcpgen_runtime::Client;
    /// use tokio::process::Command;
    ///
    /// let mut command = Command::new("npx");
    /// command.args(["-y", "@modelcontextprotocol/server-everything"]);
    /// let client = Client::builder("visitor", "1.0.0").connect_command(command).await?;
    /// println!("{:?}", client.tools().await?);
    /// client.close().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The program cannot be started, the server exits, or no revision can be agreed on. Errors quote the program and its
    /// arguments: pass secrets in environment variables.
    pub async fn connect_command(self, mut command: Command) -> Result<Client, CommandError> {
        let opening = self.opening.clone();
        let mut start = Start::Command;
        loop {
            let started = Process::start(&mut command, self.line_limit);
            let (process, incoming, outgoing) =
                started.map_err(|source| CommandError::Start { program: describe(&command), source })?;
            let after = {
                let process = process.clone();
                async move { process.stop(STOP).await }
            };
            let (handlers, limits) = (self.handlers.clone(), self.limits.clone());
            let lifecycle = Lifecycle { start, after };
            let connected =
                connect_with(opening.clone(), lifecycle, handlers.clone(), handlers, incoming, outgoing, limits).await;
            let error = match connected {
                Ok(client) => return Ok(self.reader.apply(client)),
                Err(error) => error,
            };
            let status = match &error {
                HandshakeError::Call(CallError::Closed(Closed)) => process.unexpected_exit().await,
                _ => None,
            };
            process.stop(GIVE_UP).await;
            if start == Start::Command && opening.suggests_restart(&error) {
                tracing::debug!(program = process.program(), %error, "restarts the server with `initialize`");
                start = Start::Restarted;
                continue;
            }
            let (program, stderr) = (process.program().to_owned(), process.last_output());
            let method = if start == Start::Restarted { "initialize" } else { opening.first_method() };
            return Err(match status {
                Some(status) => CommandError::Exited { program, status, method, stderr },
                None => CommandError::Handshake { program, stderr, source: error },
            });
        }
    }
}

/// Why a client could not connect to a server that it starts.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The program could not be started.
    #[error("cannot start `{program}`: {source}{}", hint(source))]
    Start {
        /// The program and its arguments, shortened.
        program: String,
        /// The reason.
        source: io::Error,
    },
    /// The process exited before the connection was ready.
    #[error("the server `{program}` {} before it answered `{method}`{}", exited(*.status), trailer(stderr))]
    Exited {
        /// The program and its arguments, shortened.
        program: String,
        /// The status of the process.
        status: ExitStatus,
        /// The request that the process was started with: `server/discover` or `initialize`.
        method: &'static str,
        /// The last lines that it wrote to standard error, at most 4 KiB.
        stderr: String,
    },
    /// The handshake failed. The process has been ended.
    #[error("the server `{program}`: {source}{}", trailer(stderr))]
    Handshake {
        /// The program and its arguments, shortened.
        program: String,
        /// The last lines that it wrote to standard error, at most 4 KiB.
        stderr: String,
        /// The reason.
        source: HandshakeError,
    },
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; is it installed and on PATH?",
        _ => "",
    }
}
