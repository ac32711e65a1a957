//! Newline-delimited messages over any reader and writer.

use std::io;

use futures_util::StreamExt;
use memchr::memchr;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::bytes::{Buf, BufMut, BytesMut};
use tokio_util::codec::{Decoder, Encoder, FramedRead};

use super::framed_sink::FramedSink;
use super::inbound::Inbound;
use super::outbound::Outbound;
use super::scan::Scanner;
use super::seam::{Incoming, Outgoing, ReceiveError};

/// The default maximum length of a line, in bytes: 64 MiB.
pub const DEFAULT_LINE_LIMIT: usize = 64 << 20;

/// Creates a stream of the messages on a reader, one per line.
///
/// A line of more than `line_limit` bytes yields [`ReceiveError::TooLong`], and reading continues with the next line.
/// Blank lines, white space around a message and a leading byte order mark are ignored.
pub fn receive<R: AsyncRead + Send + 'static>(reader: R, line_limit: usize) -> impl Incoming + use<R> {
    FramedRead::new(reader, Lines::new(line_limit)).map(|line| match line {
        Ok(line) => line.map(Inbound::new),
        Err(error) => Err(error.into()),
    })
}

/// Creates a sink that writes each message to a writer as one line. Messages must not contain line feeds.
pub fn send<W: AsyncWrite + Send + 'static>(writer: W) -> impl Outgoing + use<W> {
    FramedSink::new(writer, Lines::new(0))
}

#[derive(Debug)]
struct Lines {
    line_limit: usize,
    /// How many bytes of the buffer were searched for a line feed without success.
    searched: usize,
    skip: Skip,
    /// Whether nothing has been read yet, so that a byte order mark may follow.
    at_start: bool,
}

/// Whether the current line is being skipped, because it is too long.
#[derive(Debug, Default)]
enum Skip {
    #[default]
    No,
    /// Skip the line and look for the message's ID.
    Scanning(Box<Scanner>),
    /// Skip the rest of the line; its error has been reported.
    Reported,
}

impl Lines {
    fn new(line_limit: usize) -> Self {
        Self { line_limit, searched: 0, skip: Skip::No, at_start: true }
    }

    /// Trims white space. `None` if the line is blank.
    fn message(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let line = self.without_mark(line).trim_ascii();
        (!line.is_empty()).then(|| line.to_vec())
    }

    /// Strips a byte order mark at the start of the stream.
    fn without_mark<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        let mark = std::mem::take(&mut self.at_start).then(|| line.strip_prefix(b"\xef\xbb\xbf")).flatten();
        mark.unwrap_or(line)
    }

    fn skips(&self) -> bool {
        !matches!(self.skip, Skip::No)
    }

    /// Skips part of a line that is too long. Returns the error once, as soon as the message's ID is known.
    fn skip_part(&mut self, bytes: &[u8]) -> Option<<Self as Decoder>::Item> {
        let bytes = self.without_mark(bytes);
        if let Skip::No = self.skip {
            self.skip = Skip::Scanning(Box::default());
        }
        let Skip::Scanning(scanner) = &mut self.skip else { return None };
        let message = scanner.scan(bytes)?;
        self.skip = Skip::Reported;
        Some(Err(ReceiveError::TooLong { limit: self.line_limit, message }))
    }

    /// Ends a line that is too long. Returns the error unless `skip_part` did.
    fn skip_end(&mut self) -> Option<<Self as Decoder>::Item> {
        let Skip::Scanning(scanner) = std::mem::take(&mut self.skip) else { return None };
        Some(Err(ReceiveError::TooLong { limit: self.line_limit, message: scanner.finish() }))
    }
}

impl Decoder for Lines {
    /// A line that is too long is an item rather than a codec error, which would end the stream.
    type Item = Result<Vec<u8>, ReceiveError>;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        loop {
            let Some(end) = memchr(b'\n', &buffer[self.searched..]) else {
                self.searched = buffer.len();
                if !self.skips() && buffer.len() <= self.line_limit {
                    return Ok(None);
                }
                let reported = self.skip_part(buffer);
                buffer.clear();
                self.searched = 0;
                return Ok(reported);
            };
            let end = std::mem::take(&mut self.searched) + end;
            let line = match self.skips() || end > self.line_limit {
                true => {
                    let reported = self.skip_part(&buffer[..end]);
                    self.skip_end().or(reported)
                }
                false => self.message(&buffer[..end]).map(Ok),
            };
            buffer.advance(end + 1);
            if line.is_some() {
                return Ok(line);
            }
        }
    }

    /// Decodes the last line, which may lack a line feed.
    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        if let Some(item) = self.decode(buffer)? {
            return Ok(Some(item));
        }
        self.searched = 0;
        let rest = buffer.split();
        Ok(self.skip_end().or_else(|| self.message(&rest).map(Ok)))
    }
}

impl Encoder<Outbound> for Lines {
    type Error = io::Error;

    fn encode(&mut self, message: Outbound, buffer: &mut BytesMut) -> io::Result<()> {
        let message = &message.bytes;
        if message.is_empty() {
            return Ok(());
        }
        debug_assert!(!message.contains(&b'\n'), "a message must not contain a line feed");
        buffer.reserve(message.len() + 1);
        buffer.put_slice(message);
        buffer.put_u8(b'\n');
        Ok(())
    }
}
