//! Connects to a server that runs as a child process of the client.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use mcpgen_runtime::Closed;
use mcpgen_runtime::peer::CallError;
use mcpgen_runtime::util::error_chain;
use tokio::process::Command;
use tokio_util::task::TaskTracker;

use super::builder::ClientBuilder;
use super::connect::{Lifecycle, connect_with};
use super::handle::Client;
use super::handshake::{HandshakeError, Start};
use crate::client::process::{LineHandler, Process, ProcessOptions, STOP, ServerOutput, describe, exited};

/// How long each step of stopping the process may take once connecting has failed.
const GIVE_UP: Duration = Duration::from_secs(1);

impl ClientBuilder {
    /// Sets the maximum line length for servers started by [`connect_command`](Self::connect_command), in bytes.
    /// Defaults to 64 MiB. A call with a longer response fails. Other transports take their limit when they are opened.
    pub fn line_limit(mut self, bytes: usize) -> Self {
        self.process.line_limit = bytes;
        self
    }

    /// Calls `on_line` for each line, without its line ending, that a server started by
    /// [`connect_command`](Self::connect_command) writes to standard error. Lines of more than 64 KiB arrive in pieces.
    /// The function is called as soon as a line arrives, even while the client connects, and for every process if the
    /// server is restarted. It must not block or panic.
    pub fn on_stderr(mut self, on_line: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.process.on_stderr = LineHandler::new(on_line);
        self
    }

    /// Calls `on_line` for each line that a server started by [`connect_command`](Self::connect_command) writes to
    /// standard output and that is not a message, such as a log line that belongs on standard error. Only the first 200
    /// bytes of a line are passed. The function must not block or panic.
    pub fn on_stray_output(mut self, on_line: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.process.on_stray_output = LineHandler::new(on_line);
        self
    }

    /// Sets the tracker for the tasks that stop the processes of [`connect_command`](Self::connect_command).
    ///
    /// A program that ends without waiting for these tasks kills its servers. To let them exit, for example on
    /// `SIGTERM`, drop the client or the future that connects it, then close the tracker and wait for it. That takes at
    /// most ten seconds.
    pub fn process_tracker(mut self, tracker: TaskTracker) -> Self {
        self.process.tracker = tracker;
        self
    }

    /// Starts a server as a child process and connects to it over standard input and output. Lines that the server
    /// writes to standard error are logged, and passed to [`on_stderr`](Self::on_stderr).
    ///
    /// The client owns the process. When the connection ends, it closes the server's input and reads its output until
    /// the server exits. After five seconds the server gets `SIGTERM`, and after five more it is killed.
    /// [`Client::close`] waits for all of this. On Unix, processes that the server has started end with it, so wrappers
    /// such as `npx` leave nothing behind; see [`ChildProcess`](crate::client::process::ChildProcess). To stop the
    /// server when your own program is asked to exit, see [`process_tracker`](Self::process_tracker).
    ///
    /// The first request is `server/discover`. If the server rejects it, or stays silent for five seconds (or
    /// [`discover_timeout`](super::handshake::ConnectOptions::discover_timeout), if that is less), the client also
    /// sends `initialize`, and the first response decides. A slow server therefore need not be restarted. A server that
    /// is silent for longer than [`Limits::idle_timeout`](mcpgen_runtime::Limits::idle_timeout) fails to connect.
    ///
    /// Many servers of legacy revisions exit when anything else precedes `initialize`. A server that exits is therefore
    /// started once more and sent `initialize` first. To avoid the restart, set
    /// [`known_revision`](super::handshake::ConnectOptions::known_revision) to a legacy revision.
    ///
    /// ```no_run
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// use mcpgen_sdk::Client;
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
    /// Fails if the program cannot be started, the server exits, or the handshake fails. Error messages quote the
    /// program and its arguments, so pass secrets in environment variables.
    pub async fn connect_command(mut self, mut command: Command) -> Result<Client, CommandError> {
        loop {
            let ProcessOptions { line_limit, on_stderr, on_stray_output, tracker } = self.process.clone();
            let started = Process::start(&mut command, line_limit, [on_stderr, on_stray_output], &tracker);
            let (process, incoming, outgoing) =
                started.map_err(|source| CommandError::Start { program: describe(&command), source })?;
            let after = {
                let process = process.clone();
                async move { process.stop(STOP).await }
            };
            let (options, handlers, limits) = (self.options.clone(), self.handlers.clone(), self.limits.clone());
            let lifecycle = Lifecycle { start: Start::Command, after };
            let connected =
                connect_with(options, lifecycle, handlers.clone(), handlers, incoming, outgoing, limits).await;
            let error = match connected {
                Ok(client) => return Ok(self.configure(client)),
                Err(error) => error,
            };
            let has_exited = matches!(&error, HandshakeError::Call(CallError::Closed(Closed)));
            let status = if has_exited { process.unexpected_exit().await } else { None };
            process.stop(GIVE_UP).await;
            if has_exited && let Some(revision) = self.options.legacy_fallback() {
                tracing::debug!(program = process.program(), ?status, "the server has exited; restarting it");
                self.options.known_revision = Some(revision);
                continue;
            }
            let (program, output) = (process.program().into(), process.output());
            let method = self.options.first_method();
            return Err(match status {
                Some(status) => CommandError::Exited { program, status, method, output },
                None => CommandError::Handshake { program, output, source: error },
            });
        }
    }
}

/// Why a client could not connect to a server that it starts.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The program could not be started.
    #[error("cannot start `{program}`{}: {source}", hint(source))]
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
    #[error("cannot connect to the server `{program}`: {}{output}", error_chain(source))]
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
