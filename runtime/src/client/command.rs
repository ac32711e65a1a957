//! Connects to a server that the client starts as a child process.

use std::future::Future;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use mcpgen_types::Revision;
use tokio::process::Command;

use super::builder::ClientBuilder;
use super::connect::{Lifecycle, connect_with};
use super::handle::Client;
use super::handshake::{ConnectOptions, HandshakeError, Start};
use crate::peer::CallError;
use crate::peer::outbox::Closed;
use crate::transport::ServerOutput;
use crate::transport::child_process::StderrHandler;
use crate::transport::supervised_process::{Process, STOP, describe, exited};
use crate::util::error_chain::{debug_as_message, error_chain};

debug_as_message!(CommandError);

/// How long each step of stopping a process may take after the connection failed.
const GIVE_UP: Duration = Duration::from_secs(1);

/// The minimum time before the input of a silent process is closed, unless this is more than half of the timeout.
const LEAST_SILENCE: Duration = Duration::from_secs(5);

impl ClientBuilder {
    /// Calls `on_line` for each line that a server that [`connect_command`](Self::connect_command) starts writes to
    /// standard error, without its line end. Lines of more than 64 KiB are passed in pieces. The function must not
    /// block or panic. It is called as soon as a line arrives, also while the client connects; if the server is restarted, for
    /// the lines of each process.
    pub fn on_stderr(mut self, on_line: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_stderr = StderrHandler::new(on_line);
        self
    }

    /// Starts a server as a child process and connects to it over standard input and output. Lines that the server
    /// writes to standard error are logged, and passed to [`on_stderr`](Self::on_stderr).
    ///
    /// The client owns the process. When the connection ends, the client closes the server's input. The server has five
    /// seconds to exit, and five more after `SIGTERM`, before it is killed. [`Client::close`] waits for this.
    ///
    /// The first request is `server/discover`. Many servers of legacy revisions accept only `initialize` as the first
    /// message. A server that exits, or rejects both requests, is restarted and sent `initialize` first. So is a server
    /// that does not respond within [`discover_timeout`](ConnectOptions::discover_timeout); a process that did not
    /// respond is never sent `initialize`. A server whose [`known_revision`](ConnectOptions::known_revision) is a
    /// legacy revision receives `initialize` first.
    ///
    /// Some failed servers exit only when their input is closed. The client therefore closes the input of a silent
    /// process after a sixth of the timeout, but not before five seconds (half of the timeout if that is less). A slow
    /// server that responds afterwards is restarted, with the revision that it supports. The input stays open if a
    /// [`known_revision`](ConnectOptions::known_revision) is set or the client accepts only modern revisions. A command
    /// is run at most three times.
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
    /// Fails if the program cannot be started, if the server exits, or if the handshake fails. Error messages quote the
    /// program and its arguments, so pass secrets in environment variables.
    pub async fn connect_command(self, mut command: Command) -> Result<Client, CommandError> {
        let mut plan = Plan::new(self.options.clone());
        loop {
            let started = Process::start(&mut command, self.line_limit, self.on_stderr.clone());
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
                Ok(mut client) if !input_was_closed => {
                    client.decoder = self.decoder;
                    client.request_log_level(self.options.local_info.level);
                    return Ok(client);
                }
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
            let has_failed = process.has_output() || status.is_some_and(|status| !status.success());
            if plan.may_start_again(&error, input_was_closed && !has_failed) {
                tracing::debug!(program = process.program(), error = error_chain(&error), start = ?plan.start, "restarting the server");
                continue;
            }
            let (program, output, method) = (process.program().into(), process.output(), plan.method());
            return Err(match status {
                Some(status) => CommandError::Exited { program, status, method, output },
                None => CommandError::Handshake { program, output, source: error },
            });
        }
    }
}

/// How to start the server next.
struct Plan {
    options: ConnectOptions,
    start: Start,
    /// The time after which the input of a silent process is closed. `None` keeps the input open.
    close_input_after: Option<Duration>,
}

impl Plan {
    fn new(options: ConnectOptions) -> Self {
        let silence = (options.discover_timeout / 6).max(LEAST_SILENCE.min(options.discover_timeout / 2));
        let close_input_after = options.silence_suggests_legacy().then_some(silence);
        Self { options, start: Start::Command, close_input_after }
    }

    /// Connects, and closes the input of a process that stays silent. Returns whether the input was closed.
    ///
    /// Some servers fail on an unknown request without exiting, because they still wait for the next line. They exit
    /// when their input ends. A server that is only slow has already received the request, and most respond before they
    /// exit.
    async fn watch<T>(&self, process: &Process, connecting: impl Future<Output = T>) -> (T, bool) {
        let mut connecting = std::pin::pin!(connecting);
        if let Some(silence) = self.close_input_after {
            match tokio::time::timeout(silence, &mut connecting).await {
                Ok(connected) => return (connected, false),
                Err(_) if !process.has_output() => {
                    process.close_input();
                    return (connecting.await, true);
                }
                Err(_) => {}
            }
        }
        (connecting.await, false)
    }

    /// Makes the next attempt connect with this revision.
    fn expect(&mut self, revision: Revision) {
        (self.options.known_revision, self.options.check_known_revision, self.close_input_after) =
            (Some(revision), true, None);
    }

    /// Returns whether a restart may help, and decides how to start the server then. A process that exits successfully
    /// once its input is closed may only have been slow, so the next attempt keeps the input open.
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

    /// Returns the first request that the last process received.
    fn method(&self) -> &'static str {
        match self.start {
            Start::Restarted => "initialize",
            _ => self.options.first_method(),
        }
    }
}

/// The reason why a client could not connect to a server that it starts.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The program could not be started.
    #[error("cannot start `{program}`{}", hint(source))]
    Start {
        /// The program and its arguments, shortened.
        program: String,
        /// The reason.
        source: io::Error,
    },
    /// The process exited before the connection was ready.
    #[error("the server `{program}` {} before it responded to `{method}`{}", exited(*.status), output)]
    Exited {
        /// The program and its arguments, shortened.
        program: String,
        /// The exit status of the process.
        status: ExitStatus,
        /// The first request to the process: `server/discover` or `initialize`.
        method: &'static str,
        /// What the process wrote besides messages.
        output: ServerOutput,
    },
    /// The handshake failed. The process has been stopped.
    #[error("cannot connect to the server `{program}`{output}")]
    Handshake {
        /// The program and its arguments, shortened.
        program: String,
        /// What the process wrote besides messages.
        output: ServerOutput,
        /// The reason.
        source: HandshakeError,
    },
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; install it or add its directory to PATH",
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
    fn closes_the_input_after_a_sixth_of_the_timeout_but_not_before_five_seconds() {
        let cases = [(60_000, 10_000), (30_000, 5_000), (12_000, 5_000), (10_000, 5_000), (3_000, 1_500), (0, 0)];
        for (timeout, silence) in
            cases.map(|(timeout, silence)| (Duration::from_millis(timeout), Duration::from_millis(silence)))
        {
            assert_eq!(close_input_after(|options| options.discover_timeout = timeout), Some(silence), "{timeout:?}");
        }
        assert_eq!(close_input_after(|options| options.discover_timeout = Duration::MAX), Some(Duration::MAX / 6));
    }

    #[test]
    fn keeps_the_input_open_unless_silence_suggests_a_legacy_server() {
        assert_eq!(close_input_after(|options| options.silence_is_legacy = Some(false)), None);
        for &known in Revision::ALL {
            assert_eq!(close_input_after(|options| options.known_revision = Some(known)), None, "{known}");
        }
        for legacy in [false, true] {
            let change = |options: &mut ConnectOptions| {
                options.local_info.revisions.retain(|revision| revision.is_legacy() == legacy)
            };
            assert_eq!(close_input_after(change), None, "only legacy revisions: {legacy}");
        }
    }
}
