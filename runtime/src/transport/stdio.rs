//! A transport over this process's standard input and output.
//!
//! Pipes and sockets use non-blocking I/O. Files and terminals do not support that and use blocking threads.

use std::io;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};

use super::lines;
use super::seam::{Incoming, Outgoing};

/// A boxed reader.
pub type Reader = Pin<Box<dyn AsyncRead + Send>>;
/// A boxed writer.
pub type Writer = Pin<Box<dyn AsyncWrite + Send>>;

/// Opens a transport over standard input and output, one message per line. `line_limit` is the maximum length of an
/// incoming line, in bytes.
///
/// Standard output must carry nothing else. Log to standard error.
///
/// # Errors
///
/// Fails if standard input or output cannot be registered with the tokio runtime, which must have I/O enabled.
pub fn stdio(line_limit: usize) -> io::Result<(impl Incoming, impl Outgoing)> {
    let (reader, writer) = own()?;
    Ok((lines::receive(reader, line_limit), lines::send(writer)))
}

/// Opens the process's standard input and output.
///
/// # Errors
///
/// Fails if standard input or output cannot be duplicated, inspected or registered with the tokio runtime.
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
    // If standard output and standard error share a file description, non-blocking mode would apply to both, and logs
    // could be lost.
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

/// Opens the process's standard input and output.
///
/// # Errors
///
/// Never fails on this platform.
#[cfg(not(unix))]
pub fn own() -> io::Result<(Reader, Writer)> {
    Ok((Box::pin(tokio::io::stdin()), Box::pin(tokio::io::stdout())))
}
