//! A server process and the task that supervises it.

use std::pin::Pin;
use std::process::ExitStatus;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use std::{fmt, io};

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use mcpgen_runtime::transport::{Inbound, Incoming, Outgoing, ReceiveError, lines};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::child_process::{ChildProcess, LastOutput, LineHandler, Spawned};

/// A server process. Dropping the last clone [stops](Self::stop) it.
#[derive(Clone, Debug)]
pub(crate) struct Process(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    program: String,
    input: Input,
    last_output: LastOutput,
    /// The start of the first line on standard output that is not a message.
    stray_output: OnceLock<String>,
    on_stray_output: LineHandler,
    /// How long to wait in each step of stopping. `None` until the process is asked to stop.
    stop: watch::Sender<Option<Duration>>,
    exit: watch::Receiver<Option<Exit>>,
}

#[derive(Clone, Copy, Debug)]
struct Exit {
    /// The exit status. `None` if waiting for the process failed.
    status: Option<ExitStatus>,
    /// Whether the process exited without being asked to.
    is_unexpected: bool,
}

/// How long a process may take to exit once its input is closed, and again after `SIGTERM`.
pub(crate) const STOP: Duration = Duration::from_secs(5);
/// How long a process may take to exit once it has closed its output.
const EXIT: Duration = Duration::from_secs(2);
/// How many bytes of a stray line an error message quotes.
const STRAY_OUTPUT: usize = 200;

impl Shared {
    /// Reports a line on standard output that is not a message, and keeps the first one for error messages.
    fn observe(&self, received: &Result<Inbound, ReceiveError>) {
        let Some(text) = received.as_ref().ok().and_then(Inbound::stray) else { return };
        let line = String::from_utf8_lossy(text.get(..STRAY_OUTPUT).unwrap_or(text));
        self.on_stray_output.call(line.trim_end());
        if self.stray_output.set(line.trim_end().to_owned()).is_ok() {
            tracing::warn!(
                program = self.program,
                line = self.stray_output.get(),
                "the server wrote a line to stdout that is not a message"
            );
        }
    }
}

impl Process {
    /// Starts a server, and a task on `tracker` that will stop it. The incoming stream yields an error if the process
    /// fails without being asked to exit.
    pub(crate) fn start(
        command: &mut Command,
        line_limit: usize,
        [on_stderr, on_stray_output]: [LineHandler; 2],
        tracker: &TaskTracker,
    ) -> io::Result<(Self, impl Incoming + use<>, impl Outgoing + use<>)> {
        let Spawned { server, input, output, last_output } = ChildProcess::spawn(command, on_stderr)?;
        let (stop, stopped) = watch::channel(None);
        let (exited, exit) = watch::channel(None);
        let input: Input = Arc::new(Mutex::new(Some(input)));
        let outgoing =
            lines::send(InputWriter { input: input.clone(), exit: exit.clone(), broken: None, is_reported: false });
        let output = Output { pipe: Some(output), exit: exit.clone() };
        let (program, stray_output) = (describe(command), OnceLock::new());
        let shared = Shared { program, input, last_output, stray_output, on_stray_output, stop, exit };
        tracker.spawn(supervise(server, stopped, exited));
        let process = Self(Arc::new(shared));
        let (on_line, at_end) = (process.clone(), process.clone());
        let incoming = lines::receive(output, line_limit).inspect(move |received| on_line.0.observe(received)).chain(
            stream::once(async move { at_end.failure().await })
                .filter_map(|failure| std::future::ready(failure.map(|error| Err(ReceiveError::Io(error))))),
        );
        Ok((process, incoming, outgoing))
    }

    /// Closes the process's input. Its output is still read.
    fn close_input(&self) {
        self.0.input.lock().take();
    }

    pub(crate) fn program(&self) -> &str {
        &self.0.program
    }

    pub(crate) fn output(&self) -> ServerOutput {
        ServerOutput { stderr: self.0.last_output.text(), stray: self.0.stray_output.get().cloned() }
    }

    /// Closes the input and waits up to `exit_timeout` for the process and its group to exit. Then sends `SIGTERM`,
    /// waits as long again, and kills them. The first call sets the `exit_timeout`.
    pub(crate) async fn stop(&self, exit_timeout: Duration) {
        self.close_input();
        self.0.stop.send_if_modified(|stop| stop.replace(exit_timeout).is_none());
        // The task drops the sender when it ends.
        let mut exit = self.0.exit.clone();
        while exit.changed().await.is_ok() {}
    }

    /// Waits briefly for the process to exit. Returns its status if nobody asked it to exit.
    pub(crate) async fn unexpected_exit(&self) -> Option<ExitStatus> {
        let exit = tokio::time::timeout(EXIT, self.exited()).await.ok()??;
        exit.status.filter(|_| exit.is_unexpected)
    }

    async fn exited(&self) -> Option<Exit> {
        let mut exit = self.0.exit.clone();
        // Waiting fails only if the runtime shuts down, which drops the sender.
        exit.wait_for(Option::is_some).await.ok().and_then(|exit| *exit)
    }

    /// Returns why the output has ended. `None` if the process succeeded or was asked to exit.
    async fn failure(&self) -> Option<io::Error> {
        let status = self.unexpected_exit().await?;
        let exited = ServerExited { program: self.program().to_owned(), status, output: self.output() };
        if status.success() {
            tracing::debug!("{exited}");
            return None;
        }
        tracing::warn!("{exited}");
        Some(io::Error::other(exited))
    }
}

/// A server that the client had started exited while it was connected. [`CallError::downcast_ref`] finds this in
/// [`CallError::ConnectionFailed`].
///
/// [`CallError::ConnectionFailed`]: mcpgen_runtime::CallError::ConnectionFailed
/// [`CallError::downcast_ref`]: mcpgen_runtime::CallError::downcast_ref
#[derive(Clone, Debug, thiserror::Error)]
#[error("the server `{program}` {}{output}", exited(*.status))]
#[non_exhaustive]
pub struct ServerExited {
    /// The program and its arguments, shortened.
    pub program: String,
    /// The exit status of the process.
    pub status: ExitStatus,
    /// What the process wrote besides messages.
    pub output: ServerOutput,
}

/// Standard input. It can be closed while the connection still exists.
type Input = Arc<Mutex<Option<ChildStdin>>>;

struct InputWriter {
    input: Input,
    exit: watch::Receiver<Option<Exit>>,
    /// Completes when a failed write may be reported.
    broken: Option<BoxFuture<'static, ()>>,
    is_reported: bool,
}

/// How long a failed write waits once the process has exited.
const AFTER_EXIT: Duration = Duration::from_millis(100);

impl InputWriter {
    /// Usually, a write fails because the process has exited. Reading its output then fails with the exit status, so
    /// this delays the error of the write, which only says that the pipe is broken.
    fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        poll: impl FnOnce(Pin<&mut ChildStdin>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let mut input = self.input.lock();
        let Some(input) = input.as_mut() else { return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())) };
        let polled = poll(Pin::new(input), context);
        if !self.is_reported && matches!(polled, Poll::Ready(Err(_))) {
            let mut exit = self.exit.clone();
            let broken = self.broken.get_or_insert_with(|| {
                Box::pin(async move {
                    let exited = exit.wait_for(Option::is_some);
                    if tokio::time::timeout(EXIT, exited).await.is_ok() {
                        tokio::time::sleep(AFTER_EXIT).await;
                    }
                })
            });
            ready!(broken.as_mut().poll(context));
            self.is_reported = true;
        }
        polled
    }
}

impl AsyncWrite for InputWriter {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll(context, |input, context| input.poll_write(context, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(context, |input, context| input.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.input.lock().take();
        Poll::Ready(Ok(()))
    }
}

/// Standard output. Once the connection stops reading, the rest is read and discarded until the process exits, so that
/// a process with more to write does not fail.
#[derive(Debug)]
struct Output {
    pipe: Option<ChildStdout>,
    exit: watch::Receiver<Option<Exit>>,
}

impl AsyncRead for Output {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.pipe.as_mut().map_or(Poll::Ready(Ok(())), |pipe| Pin::new(pipe).poll_read(context, buffer))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let (Some(mut pipe), mut exit) = (self.pipe.take(), self.exit.clone()) else { return };
        // Without a runtime, the process is about to be killed anyway.
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(async move {
            let mut nowhere = tokio::io::sink();
            tokio::select! {
                _ = tokio::io::copy(&mut pipe, &mut nowhere) => {}
                // A process outside the group may keep the pipe open.
                () = async { while exit.changed().await.is_ok() {} } => {}
            }
        });
    }
}

/// Reports when the server exits, and stops it and its group on request.
async fn supervise(
    mut server: ChildProcess,
    mut stop: watch::Receiver<Option<Duration>>,
    exited: watch::Sender<Option<Exit>>,
) {
    let mut asked = std::pin::pin!(async {
        let exit_timeout = stop.wait_for(Option::is_some).await;
        exit_timeout.ok().and_then(|exit_timeout| *exit_timeout).unwrap_or(STOP)
    });
    let exit = |status: io::Result<ExitStatus>, is_unexpected| {
        let failed = |error: &io::Error| tracing::warn!(%error, "cannot wait for a server process to exit");
        exited.send_replace(Some(Exit { status: status.inspect_err(failed).ok(), is_unexpected }));
    };
    tokio::select! {
        biased;
        status = server.wait() => {
            exit(status, true);
            // A launcher may have exited and left the server behind in its group.
            server.exit_timeout = asked.await;
            let _ = server.end().await;
        }
        exit_timeout = &mut asked => {
            server.exit_timeout = exit_timeout;
            exit(server.end().await, false);
        }
    }
}

/// Describes an exit status, such as `exited with status 1`.
pub(crate) fn exited(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("was killed by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("exited with status {code}"),
        None => format!("exited ({status})"),
    }
}

/// What a server process wrote besides messages. Displays as the end of an error message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerOutput {
    /// The last lines of standard error, at most 4 KiB.
    pub stderr: String,
    /// The start of the first line on standard output that is not a message.
    pub stray: Option<String>,
}

impl fmt::Display for ServerOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = &self.stray {
            write!(f, "; it wrote a line to stdout that is not a message: {line:?} (servers must log to stderr)")?;
        }
        match self.stderr.as_str() {
            "" => Ok(()),
            stderr => write!(f, "; its last output on stderr was: {stderr}"),
        }
    }
}

/// How many characters of a command an error message quotes.
const LONGEST_COMMAND: usize = 120;

pub(crate) fn describe(command: &Command) -> String {
    let command = command.as_std();
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let text = words.map(std::ffi::OsStr::to_string_lossy).collect::<Vec<_>>().join(" ");
    let mut printable = text.chars().map(|char| if char.is_control() { ' ' } else { char });
    let shown: String = printable.by_ref().take(LONGEST_COMMAND).collect();
    if printable.next().is_some() { format!("{shown}…") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_a_command_in_one_short_line() {
        let mut command = Command::new("node");
        assert_eq!(describe(command.args(["server.js", "a\nb"])), "node server.js a b");
        let shown = describe(command.arg("é".repeat(1000)));
        assert_eq!((shown.chars().count(), shown.ends_with("é…")), (LONGEST_COMMAND + 1, true));
    }
}
