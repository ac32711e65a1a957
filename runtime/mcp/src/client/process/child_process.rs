//! Servers that run as child processes and communicate over stdio.

use std::collections::VecDeque;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use mcpgen_runtime::transport::{Incoming, Outgoing, lines};
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::process_group::ProcessGroup;

/// A server that runs as a child process. Dropping this kills the process.
///
/// On Unix, the server leads a process group, so processes that it starts end with it: behind `npx` or `sh -c`, the
/// real server is one of them. A process that leaves the group is not reached. Terminal signals, such as the one for
/// Ctrl-C, do not reach the server, so stop it before your program ends. On other systems, only the process itself
/// is killed.
///
/// If your program is killed, it cannot stop its servers, but their input is closed and most of them exit.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
    group: ProcessGroup,
    /// Reads standard error until it closes.
    stderr: JoinHandle<()>,
    /// How long each step of [`close`](Self::close) waits for the process to exit. Defaults to 5 seconds.
    pub exit_timeout: Duration,
}

/// How long to read standard error after the process has exited. A process outside the group may keep it open.
const LAST_STDERR: Duration = Duration::from_millis(500);

pub(crate) struct Spawned {
    pub(crate) server: ChildProcess,
    pub(crate) input: ChildStdin,
    pub(crate) output: ChildStdout,
    /// The end of what the process wrote to standard error.
    pub(crate) last_output: LastOutput,
}

impl ChildProcess {
    /// Starts a server and returns the process and its two streams. `line_limit` is the maximum length of an incoming
    /// line, in bytes.
    ///
    /// Each line that the server writes to standard error is logged. To connect to the server as well, and to restart
    /// it if needed, use [`connect_command`](crate::ClientBuilder::connect_command).
    ///
    /// # Errors
    ///
    /// Fails if the process cannot be started.
    pub fn start(command: Command, line_limit: usize) -> io::Result<(Self, impl Incoming, impl Outgoing)> {
        Self::start_with_stderr(command, line_limit, |_| {})
    }

    /// Like [`start`](Self::start), and calls `on_line` for each line of standard error, without its line ending. Lines
    /// of more than 64 KiB arrive in pieces. The function must not block or panic.
    ///
    /// # Errors
    ///
    /// Fails if the process cannot be started.
    pub fn start_with_stderr(
        mut command: Command,
        line_limit: usize,
        on_line: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<(Self, impl Incoming, impl Outgoing)> {
        let Spawned { server, input, output, .. } = Self::spawn(&mut command, LineHandler::new(on_line))?;
        Ok((server, lines::receive(output, line_limit), lines::send(input)))
    }

    /// Like [`start`](Self::start), but returns the pipes.
    pub(crate) fn spawn(command: &mut Command, on_line: LineHandler) -> io::Result<Spawned> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let (mut child, group) = ProcessGroup::spawn(command)?;
        let piped = || io::Error::other("the child process has no pipes");
        let input: ChildStdin = child.stdin.take().ok_or_else(piped)?;
        let output: ChildStdout = child.stdout.take().ok_or_else(piped)?;
        let errors = child.stderr.take().ok_or_else(piped)?;
        let id = child.id();
        let last_output = LastOutput::default();
        let kept = last_output.clone();
        let stderr = tokio::spawn(async move {
            let mut errors = BufReader::new(errors);
            let mut line = Vec::new();
            // Lines of more than 64 KiB are logged in pieces.
            while (&mut errors).take(64 << 10).read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
                kept.push(&line);
                let text = String::from_utf8_lossy(&line);
                tracing::info!(child = id, "{}", text.trim_end());
                on_line.call(text.trim_end());
                line.clear();
            }
        });
        let server = Self { child, group, stderr, exit_timeout: Duration::from_secs(5) };
        Ok(Spawned { server, input, output, last_output })
    }

    /// Waits until the process has exited and the rest of its standard error is read.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await;
        if !self.stderr.is_finished() {
            let _ = tokio::time::timeout(LAST_STDERR, &mut self.stderr).await;
        }
        status
    }

    /// Waits for the process and its group to exit. After [`exit_timeout`](Self::exit_timeout), sends `SIGTERM` (on
    /// Unix) and waits as long again; then kills them. Returns the exit status of the process.
    ///
    /// Before you call this, close the server's standard input by dropping the outgoing sink.
    ///
    /// # Errors
    ///
    /// Fails if the process cannot be waited for, signalled or killed.
    pub async fn close(mut self) -> io::Result<ExitStatus> {
        self.end().await
    }

    /// Like [`close`](Self::close), without consuming the process.
    pub(crate) async fn end(&mut self) -> io::Result<ExitStatus> {
        let has_ended = self.has_ended().await? || (self.group.terminate()? && self.has_ended().await?);
        if !has_ended {
            self.group.kill(&mut self.child)?;
        }
        self.wait().await
    }

    /// Waits up to `exit_timeout` for all processes to end, and returns whether they have.
    async fn has_ended(&mut self) -> io::Result<bool> {
        let ended = async {
            self.child.wait().await?;
            self.group.ended().await;
            Ok(())
        };
        tokio::time::timeout(self.exit_timeout, ended).await.map_or(Ok(false), |ended| ended.map(|()| true))
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // If this fails, nothing more can be done.
        let _ = self.group.kill(&mut self.child);
    }
}

/// Called for each line that a process writes. Does nothing by default.
#[derive(Clone)]
pub(crate) struct LineHandler(Arc<dyn Fn(&str) + Send + Sync>);

impl Default for LineHandler {
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl LineHandler {
    pub(crate) fn new(on_line: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(on_line))
    }

    pub(crate) fn call(&self, line: &str) {
        (self.0)(line);
    }
}

impl fmt::Debug for LineHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineHandler").finish_non_exhaustive()
    }
}

/// The last bytes, at most [`LAST_OUTPUT`], that a process wrote to standard error.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastOutput(Arc<Mutex<VecDeque<u8>>>);

const LAST_OUTPUT: usize = 4 << 10;

impl LastOutput {
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock();
        kept.extend(&bytes[bytes.len().saturating_sub(LAST_OUTPUT)..]);
        let excess = kept.len().saturating_sub(LAST_OUTPUT);
        kept.drain(..excess);
    }

    /// Returns the last lines. A first line whose start is lost is left out, unless it is the only one. Control
    /// characters become spaces.
    pub(crate) fn text(&self) -> String {
        let mut kept = self.0.lock();
        let mut bytes: &[u8] = kept.make_contiguous();
        if bytes.len() == LAST_OUTPUT
            && let Some(end) = memchr::memchr(b'\n', bytes).filter(|end| end + 1 < bytes.len())
        {
            bytes = &bytes[end + 1..];
        }
        let text = String::from_utf8_lossy(bytes);
        let printable = text.trim().chars();
        printable.map(|char| if char.is_control() && char != '\n' { ' ' } else { char }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_lines_of_the_output() {
        let output = LastOutput::default();
        output.push(b"one\n\x1btwo\r\n");
        assert_eq!(output.text(), "one\n two");
        output.push(&[b'x'; LAST_OUTPUT - 6]);
        assert_eq!(output.text(), "x".repeat(LAST_OUTPUT - 6), "the earlier line is cut and must be omitted");
        output.push(&[b'y'; 3 * LAST_OUTPUT]);
        assert_eq!(output.text(), "y".repeat(LAST_OUTPUT));
    }
}
