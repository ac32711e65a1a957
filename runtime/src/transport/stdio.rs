//! The standard input and output of this process.
//!
//! Pipes and sockets are read and written without blocking a thread; files and terminals, which cannot be, on threads
//! of their own.

use std::io;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};

use super::lines;
use super::seam::{Incoming, Outgoing};

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
