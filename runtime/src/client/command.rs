//! Connecting to a server that the client starts.

use std::future::Future;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use mcpgen_types::Revision;
use tokio::process::Command;

use super::builder::ClientBuilder;
use super::{Client, Lifecycle, connect_with};
use crate::client::handshake::{ConnectOptions, HandshakeError, Start};
use crate::peer::CallError;
use crate::peer::outbox::Closed;
use crate::transport::supervised_process::{Process, STOP, describe, exited, trailer};

/// How long each step of ending a process may take that no connection could be made to.
const GIVE_UP: Duration = Duration::from_secs(1);

/// The input of a silent process is not closed earlier, unless this is more than half of the patience.
const LEAST_SILENCE: Duration = Duration::from_secs(5);

impl ClientBuilder {
    /// Starts a server and connects to it over its standard input and output. What it writes to standard error is logged.
    ///
    /// The process belongs to the client. When the connection ends, the server's input is closed; it has five seconds to
    /// exit and five more after `SIGTERM` before it is killed. [`Client::close`] waits for that.
    ///
    /// The first request is `server/discover`. Many servers of the older revisions accept nothing but `initialize` as the
    /// first message. A server that exits, or refuses both, is started again and sent `initialize` at once. So is one that
    /// does not answer within [`patience`](ConnectOptions::patience); no process receives `initialize` after silence. A server
    /// that is [`known`](ConnectOptions::known) to be one of the older ones never receives `server/discover` first.
    ///
    /// Some servers that have failed exit only when their input is closed. The input of a silent process is therefore closed
    /// after a sixth of the patience, but not before five seconds (half of the patience if that is less). A slow server that
    /// answers afterwards is started again in the revision that it speaks. The input stays open if the revision is
    /// [`known`](ConnectOptions::known) or the client accepts only modern revisions. A command is run three times at most.
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
        let mut plan = Plan::new(self.options.clone());
        loop {
            let started = Process::start(&mut command, self.line_limit);
            let (process, incoming, outgoing) =
                started.map_err(|source| CommandError::Start { program: describe(&command), source })?;
            let after = {
                let process = process.clone();
                async move { process.stop(STOP).await }
            };
            let (handlers, limits) = (self.handlers.clone(), self.limits.clone());
            let (options, lifecycle) = (plan.options.clone(), Lifecycle { start: plan.start, after });
            let connecting = connect_with(options, lifecycle, handlers.clone(), handlers, incoming, outgoing, limits);
            let (connected, input_was_closed) = plan.watch(&process, connecting).await;
            let error = match connected {
                Ok(client) if !input_was_closed => return Ok(self.reader.apply(client)),
                Ok(client) => {
                    client.peer.disconnect();
                    process.stop(GIVE_UP).await;
                    plan.expect(client.revision());
                    continue;
                }
                Err(error) => error,
            };
            let status = match &error {
                HandshakeError::Call(CallError::Closed(Closed)) => process.unexpected_exit().await,
                _ => None,
            };
            process.stop(GIVE_UP).await;
            let has_failed = process.has_spoken() || status.is_some_and(|status| !status.success());
            if plan.may_start_again(&error, input_was_closed && !has_failed) {
                tracing::debug!(program = process.program(), %error, start = ?plan.start, "starts the server again");
                continue;
            }
            let (program, stderr, method) = (process.program().into(), process.last_output(), plan.method());
            return Err(match status {
                Some(status) => CommandError::Exited { program, status, method, stderr },
                None => CommandError::Handshake { program, stderr, source: error },
            });
        }
    }
}

/// How the server is started next.
struct Plan {
    options: ConnectOptions,
    start: Start,
    /// How long a process may be silent before its input is closed. `None` keeps the input open.
    close_input_after: Option<Duration>,
}

impl Plan {
    fn new(options: ConnectOptions) -> Self {
        let silence = (options.patience / 6).max(LEAST_SILENCE.min(options.patience / 2));
        let close_input_after = options.silence_suggests_legacy().then_some(silence);
        Self { options, start: Start::Command, close_input_after }
    }

    /// Connects, and closes the input of a process that stays silent. Returns whether it was closed.
    ///
    /// Some servers fail on an unknown request without exiting: they still wait for their next line. The end of the input
    /// lets them exit. A server that is only slow has the request already, and most answer it before they exit.
    async fn watch<T>(&self, process: &Process, connecting: impl Future<Output = T>) -> (T, bool) {
        let mut connecting = std::pin::pin!(connecting);
        if let Some(silence) = self.close_input_after {
            match tokio::time::timeout(silence, &mut connecting).await {
                Ok(connected) => return (connected, false),
                Err(_) if !process.has_spoken() => {
                    process.close_input();
                    return (connecting.await, true);
                }
                Err(_) => {}
            }
        }
        (connecting.await, false)
    }

    /// Connects next to a server that is known to speak a revision.
    fn expect(&mut self, revision: Revision) {
        (self.options.known, self.options.check, self.close_input_after) = (Some(revision), true, None);
    }

    /// Decides how to start the server again, if that may help. A process that exits with success once its input is closed
    /// may have been slow: it gets as much time as it needs.
    fn may_start_again(&mut self, error: &HandshakeError, may_be_slow: bool) -> bool {
        if self.start != Start::Command || !self.options.suggests_restart(error) {
            return false;
        }
        let is_closed = matches!(error, HandshakeError::Call(CallError::Closed(Closed)));
        if !(may_be_slow && is_closed) {
            self.start = Start::Restarted;
        }
        self.close_input_after = None;
        true
    }

    /// The first request of the last process.
    fn method(&self) -> &'static str {
        match self.start {
            Start::Restarted => "initialize",
            _ => self.options.first_method(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::info::LocalInfo;

    fn close_input_after(change: impl FnOnce(&mut ConnectOptions)) -> Option<Duration> {
        let mut options = ConnectOptions::from(LocalInfo::new("client", "1"));
        change(&mut options);
        Plan::new(options).close_input_after
    }

    #[test]
    fn closes_the_input_after_a_sixth_of_the_patience_but_not_before_five_seconds() {
        let cases = [(60_000, 10_000), (30_000, 5_000), (12_000, 5_000), (10_000, 5_000), (3_000, 1_500), (0, 0)];
        for (patience, silence) in
            cases.map(|(patience, silence)| (Duration::from_millis(patience), Duration::from_millis(silence)))
        {
            assert_eq!(close_input_after(|options| options.patience = patience), Some(silence), "{patience:?}");
        }
        assert_eq!(close_input_after(|options| options.patience = Duration::MAX), Some(Duration::MAX / 6));
    }

    #[test]
    fn keeps_the_input_open_unless_silence_suggests_a_legacy_server() {
        assert_eq!(close_input_after(|options| options.silence_is_legacy = false), None);
        for known in [Revision::V2025_11_25, Revision::V2026_07_28] {
            assert_eq!(close_input_after(|options| options.known = Some(known)), None, "{known}");
        }
        for legacy in [false, true] {
            let change =
                |options: &mut ConnectOptions| options.ours.revisions.retain(|revision| revision.is_legacy() == legacy);
            assert_eq!(close_input_after(change), None, "only legacy revisions: {legacy}");
        }
    }
}
