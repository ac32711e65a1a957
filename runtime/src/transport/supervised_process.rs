//! A server process and the task that waits for it.

use std::io;
use std::pin::Pin;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::io::AsyncWrite;
use tokio::process::{ChildStdin, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::child_process::{ChildProcess, LastOutput, Spawned};
use super::lines;
use super::seam::{Incoming, Outgoing, ReceiveError};

use crate::util::lock::Mutex;

/// A server process. It is [stopped](Self::stop) when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Process(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    program: String,
    input: Input,
    last_output: LastOutput,
    has_spoken: AtomicBool,
    /// How long the process has for each step of its end, once it is to end.
    stop: watch::Sender<Option<Duration>>,
    exit: watch::Receiver<Option<Exit>>,
}

#[derive(Clone, Copy, Debug)]
struct Exit {
    /// `None` if it could not be found out.
    status: Option<ExitStatus>,
    /// Before it was asked to.
    is_unexpected: bool,
}

/// How long a process has to exit once its input is closed, and again after `SIGTERM`.
pub(crate) const STOP: Duration = Duration::from_secs(5);
/// How long a process has to exit after it has closed its output.
const EXIT: Duration = Duration::from_secs(1);
/// How long to read on in standard error after the exit. A grandchild may keep it open.
const OUTPUT: Duration = Duration::from_millis(200);

impl Process {
    /// Starts a server. The streams fail if it exits with an error.
    pub(crate) fn start(
        command: &mut Command,
        line_limit: usize,
    ) -> io::Result<(Self, impl Incoming + use<>, impl Outgoing + use<>)> {
        let Spawned { server, input, output, last_output, logging } = ChildProcess::spawn(command)?;
        let input = Input(Arc::new(Mutex::new(Some(input))));
        let outgoing = lines::send(input.clone());
        let (stop, stopped) = watch::channel(None);
        let (exited, exit) = watch::channel(None);
        let (program, has_spoken) = (describe(command), AtomicBool::new(false));
        let shared = Shared { program, input, last_output, has_spoken, stop, exit };
        tokio::spawn(async move {
            let exit = supervise(server, logging, stopped).await;
            exited.send_replace(Some(exit));
        });
        let process = Self(Arc::new(shared));
        let (speaks, ends) = (process.clone(), process.clone());
        let incoming = lines::receive(output, line_limit)
            .inspect(move |_| speaks.0.has_spoken.store(true, Ordering::Relaxed))
            .chain(
                stream::once(async move { ends.failure().await })
                    .filter_map(|failure| std::future::ready(failure.map(|error| Err(ReceiveError::Io(error))))),
            );
        Ok((process, incoming, outgoing))
    }

    /// Closes the input of the process, whose output is still read. Nothing can be sent from then on.
    pub(crate) fn close_input(&self) {
        self.0.input.lock().take();
    }

    /// Whether it has written a line.
    pub(crate) fn has_spoken(&self) -> bool {
        self.0.has_spoken.load(Ordering::Relaxed)
    }

    /// Its program and arguments.
    pub(crate) fn program(&self) -> &str {
        &self.0.program
    }

    /// The last lines that it wrote to standard error.
    pub(crate) fn last_output(&self) -> String {
        self.0.last_output.text()
    }

    /// Closes the input, waits this long for the process to exit, and as long again after `SIGTERM`; then kills it. The
    /// patience of the first call counts.
    pub(crate) async fn stop(&self, patience: Duration) {
        self.close_input();
        self.0.stop.send_if_modified(|stop| stop.replace(patience).is_none());
        self.exited().await;
    }

    /// The status of a process that exits soon, without having been asked to.
    pub(crate) async fn unexpected_exit(&self) -> Option<ExitStatus> {
        let exit = tokio::time::timeout(EXIT, self.exited()).await.ok()??;
        exit.status.filter(|_| exit.is_unexpected)
    }

    async fn exited(&self) -> Option<Exit> {
        let mut exit = self.0.exit.clone();
        // The sender is dropped only with the runtime.
        exit.wait_for(Option::is_some).await.ok().and_then(|exit| *exit)
    }

    /// Why the output of the process has ended, unless it exits with success.
    async fn failure(&self) -> Option<io::Error> {
        let status = self.unexpected_exit().await?;
        let words = format!("the server `{}` {}{}", self.program(), exited(status), trailer(&self.last_output()));
        if status.success() {
            tracing::debug!("{words}");
            return None;
        }
        tracing::warn!("{words}");
        Some(io::Error::other(words))
    }
}

/// The input of a process, which can be closed from outside of the connection.
#[derive(Clone, Debug)]
struct Input(Arc<Mutex<Option<ChildStdin>>>);

impl Input {
    fn lock(&self) -> MutexGuard<'_, Option<ChildStdin>> {
        self.0.lock()
    }

    fn poll<T>(&self, poll: impl FnOnce(Pin<&mut ChildStdin>) -> Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.lock().as_mut().map_or(Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())), |input| poll(Pin::new(input)))
    }
}

impl AsyncWrite for Input {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll(|input| input.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(|input| input.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.lock().take();
        Poll::Ready(Ok(()))
    }
}

async fn supervise(
    mut server: ChildProcess,
    mut logging: JoinHandle<()>,
    mut stop: watch::Receiver<Option<Duration>>,
) -> Exit {
    let asked = async {
        let patience = stop.wait_for(Option::is_some).await;
        patience.ok().and_then(|patience| *patience).unwrap_or(STOP)
    };
    let (status, is_unexpected) = tokio::select! {
        biased;
        status = server.wait() => (status, true),
        patience = asked => {
            server.patience = patience;
            (server.close().await, false)
        }
    };
    let _ = tokio::time::timeout(OUTPUT, &mut logging).await;
    let status = status.inspect_err(|error| tracing::warn!(%error, "cannot wait for a server")).ok();
    Exit { status, is_unexpected }
}

/// A phrase such as `exited with status 1`.
pub(crate) fn exited(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("was ended by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("exited with status {code}"),
        None => format!("exited ({status})"),
    }
}

/// The end of an error message about a server that wrote this to standard error.
pub(crate) fn trailer(output: &str) -> String {
    match output {
        "" => String::new(),
        output => format!("; its last output on stderr was: {output}"),
    }
}

/// The most characters of a command that an error quotes.
const LONGEST_COMMAND: usize = 120;

/// The program and its arguments.
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
