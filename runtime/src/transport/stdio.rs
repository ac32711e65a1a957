//! The process's own standard input and output, and those of a process that it starts.
//!
//! Pipes and sockets are read and written without blocking a thread; files and terminals, which cannot be, on threads
//! of their own.

use std::io;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::child_process::LastOutput;
use super::{Incoming, Outgoing, lines};

/// Something to read from.
pub type Reader = Pin<Box<dyn AsyncRead + Send>>;
/// Something to write to.
pub type Writer = Pin<Box<dyn AsyncWrite + Send>>;

/// The process's own standard input and output, one message a line of at most so many bytes.
///
/// Nothing else may be written to standard output. Logs go to standard error.
///
/// # Errors
///
/// They cannot be registered with the runtime, which must be one with I/O.
pub fn stdio(longest: usize) -> io::Result<(impl Incoming, impl Outgoing)> {
    let (reader, writer) = own()?;
    Ok((lines::receive(reader, longest), lines::send(writer)))
}

/// The process's own standard input and output.
///
/// # Errors
///
/// They cannot be registered with the runtime.
#[cfg(unix)]
pub fn own() -> io::Result<(Reader, Writer)> {
    use std::fs::File;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixStream as StdStream;

    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    let duplicate = |fd: &dyn AsFd| fd.as_fd().try_clone_to_owned().map(File::from);
    let (input, output) = (duplicate(&io::stdin())?, duplicate(&io::stdout())?);
    let kind = |file: &File| file.metadata().map(|metadata| metadata.file_type());
    let socket = |file: &File| -> io::Result<UnixStream> {
        let stream = StdStream::from(OwnedFd::from(file.try_clone()?));
        stream.set_nonblocking(true)?;
        UnixStream::from_std(stream)
    };
    let reader: Reader = match kind(&input)? {
        kind if kind.is_fifo() => Box::pin(pipe::Receiver::from_file(input)?),
        kind if kind.is_socket() => Box::pin(socket(&input)?),
        _ => Box::pin(tokio::io::stdin()),
    };
    // What shares its end with standard error would make that non-blocking too, and lose what is logged.
    let shared = same_file(&output, &duplicate(&io::stderr())?);
    let writer: Writer = match kind(&output)? {
        kind if kind.is_fifo() && !shared => Box::pin(pipe::Sender::from_file(output)?),
        kind if kind.is_socket() && !shared => Box::pin(socket(&output)?),
        _ => Box::pin(tokio::io::stdout()),
    };
    Ok((reader, writer))
}

#[cfg(unix)]
fn same_file(a: &std::fs::File, b: &std::fs::File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |file: &std::fs::File| file.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
    id(a) == id(b)
}

/// The process's own standard input and output.
///
/// # Errors
///
/// None here.
#[cfg(not(unix))]
pub fn own() -> io::Result<(Reader, Writer)> {
    Ok((Box::pin(tokio::io::stdin()), Box::pin(tokio::io::stdout())))
}

/// A server that runs as a child of this process. Dropping it kills it.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// How long it is waited for at each step of [`close`](Self::close).
    pub patience: Duration,
}

/// A server that was started, and its pipes.
pub(crate) struct Spawned {
    pub(crate) server: Server,
    pub(crate) input: ChildStdin,
    pub(crate) output: ChildStdout,
    /// The end of what it writes to standard error.
    pub(crate) last_output: LastOutput,
    /// Reads standard error to its end.
    pub(crate) logging: JoinHandle<()>,
}

impl Server {
    /// Starts a server. What it writes to standard error is logged, line by line.
    /// [`connect_command`](crate::ClientBuilder::connect_command) also connects to it, and starts it again where that helps.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn start(mut command: Command, longest: usize) -> io::Result<(Self, impl Incoming, impl Outgoing)> {
        let Spawned { server, input, output, .. } = Self::spawn(&mut command)?;
        Ok((server, lines::receive(output, longest), lines::send(input)))
    }

    /// As [`start`](Self::start), with the pipes as they are.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Spawned> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let piped = || io::Error::other("the child has no pipes");
        let input: ChildStdin = child.stdin.take().ok_or_else(piped)?;
        let output: ChildStdout = child.stdout.take().ok_or_else(piped)?;
        let errors = child.stderr.take().ok_or_else(piped)?;
        let id = child.id();
        let last_output = LastOutput::default();
        let kept = last_output.clone();
        let logging = tokio::spawn(async move {
            let mut errors = BufReader::new(errors);
            let mut line = Vec::new();
            // A line without end is logged in pieces.
            while (&mut errors).take(64 << 10).read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
                kept.push(&line);
                tracing::info!(child = id, "{}", String::from_utf8_lossy(&line).trim_end());
                line.clear();
            }
        });
        let server = Self { child, patience: Duration::from_secs(5) };
        Ok(Spawned { server, input, output, last_output, logging })
    }

    /// Waits until the process exits.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Waits for the server to end, now that its input is closed; then asks it to (by `SIGTERM`, where there are
    /// signals), and in the end kills it.
    ///
    /// # Errors
    ///
    /// It cannot be waited for.
    pub async fn close(mut self) -> io::Result<ExitStatus> {
        if let Ok(status) = tokio::time::timeout(self.patience, self.child.wait()).await {
            return status;
        }
        #[cfg(unix)]
        if let Some(id) = self.child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?)) {
            rustix::process::kill_process(id, rustix::process::Signal::TERM)?;
            if let Ok(status) = tokio::time::timeout(self.patience, self.child.wait()).await {
                return status;
            }
        }
        self.child.kill().await?;
        self.child.wait().await
    }
}
