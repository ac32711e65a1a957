//! Messages with a header, as in the [Language Server Protocol], over any reader and writer.
//!
//! Each message follows a line `Content-Length: <bytes>`, possibly other headers, and a blank line.
//!
//! [Language Server Protocol]: https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#baseProtocol

use std::io;

use futures_util::StreamExt;
use memchr::memmem;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::bytes::{Buf, BufMut, BytesMut};
use tokio_util::codec::{Decoder, Encoder, FramedRead};

use super::framed_sink::FramedSink;
use super::inbound::Inbound;
use super::outbound::Outbound;
use super::scan::Scanner;
use super::seam::{Incoming, Outgoing, ReceiveError, Skipped};

/// The maximum length of the header of a message, in bytes.
const HEADER_LIMIT: usize = 4 << 10;

/// Creates a stream of the messages on a reader.
///
/// A message of more than `message_limit` bytes yields [`ReceiveError::TooLong`], and reading continues after it. The
/// stream ends with an error if it breaks off within a message, or if a header has no valid `Content-Length` or is
/// longer than 4 KiB, because the start of the next message is then unknown.
pub fn receive<R: AsyncRead + Send + 'static>(reader: R, message_limit: usize) -> impl Incoming + use<R> {
    FramedRead::new(reader, ContentLength { message_limit, body: None }).map(|message| match message {
        Ok(message) => message.map(Inbound::new),
        Err(error) => Err(error.into()),
    })
}

/// Creates a sink that writes each message to a writer, preceded by its header.
pub fn send<W: AsyncWrite + Send + 'static>(writer: W) -> impl Outgoing + use<W> {
    FramedSink::new(writer, ContentLength { message_limit: 0, body: None })
}

#[derive(Debug)]
struct ContentLength {
    message_limit: usize,
    /// The message whose header was read, until it is complete.
    body: Option<Body>,
}

#[derive(Debug)]
struct Body {
    /// Bytes left to read.
    length: usize,
    /// Set while the message is skipped because it is too long.
    skipped: Option<Box<SkippedBody>>,
}

/// Looks for the ID in a message that is skipped.
#[derive(Debug, Default)]
struct SkippedBody {
    scanner: Scanner,
    found: Option<Skipped>,
}

impl ContentLength {
    /// Takes a header from the buffer and returns the message's length, or `None` if the header is incomplete.
    fn header(&self, buffer: &mut BytesMut) -> io::Result<Option<usize>> {
        const END: &[u8] = b"\r\n\r\n";
        let Some(end) = memmem::find(buffer.get(..HEADER_LIMIT.min(buffer.len())).unwrap_or_default(), END) else {
            return match buffer.len() >= HEADER_LIMIT {
                true => Err(invalid(format!("the header of a message is longer than {HEADER_LIMIT} bytes"))),
                false => Ok(None),
            };
        };
        let header = buffer.split_to(end + END.len());
        let header = String::from_utf8_lossy(&header);
        let fields = header.lines().filter_map(|line| line.split_once(':'));
        let lengths: Vec<&str> = fields
            .filter(|(name, _)| name.trim().eq_ignore_ascii_case("content-length"))
            .map(|(_, length)| length.trim())
            .collect();
        match lengths.as_slice() {
            [length] => match length.parse() {
                Ok(size) if length.bytes().all(|byte| byte.is_ascii_digit()) => Ok(Some(size)),
                _ => Err(invalid(format!("{length:?} is not a valid Content-Length"))),
            },
            [] => Err(invalid("the header of a message has no Content-Length".to_owned())),
            _ => Err(invalid("the header of a message has more than one Content-Length".to_owned())),
        }
    }
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

impl Decoder for ContentLength {
    /// A message that is too long is an item rather than a codec error, which would end the stream.
    type Item = Result<Vec<u8>, ReceiveError>;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        if self.body.is_none() {
            let Some(length) = self.header(buffer)? else { return Ok(None) };
            let skipped = (length > self.message_limit).then(Box::default);
            self.body = Some(Body { length, skipped });
        }
        let Some(body) = &mut self.body else { return Ok(None) };
        let Some(skipped) = &mut body.skipped else {
            if buffer.len() < body.length {
                return Ok(None);
            }
            let message = buffer.split_to(body.length);
            self.body = None;
            return Ok(Some(Ok(message.to_vec())));
        };
        let part = buffer.split_to(buffer.len().min(body.length));
        body.length -= part.len();
        if skipped.found.is_none() {
            skipped.found = skipped.scanner.scan(&part);
        }
        if body.length > 0 {
            return Ok(None);
        }
        let SkippedBody { scanner, found } = std::mem::take(&mut **skipped);
        let message = found.unwrap_or_else(|| scanner.finish());
        self.body = None;
        Ok(Some(Err(ReceiveError::TooLong { limit: self.message_limit, message })))
    }

    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        match self.decode(buffer)? {
            None if self.body.is_some() || buffer.has_remaining() => Err(io::ErrorKind::UnexpectedEof.into()),
            message => Ok(message),
        }
    }
}

impl Encoder<Outbound> for ContentLength {
    type Error = io::Error;

    fn encode(&mut self, message: Outbound, buffer: &mut BytesMut) -> io::Result<()> {
        let message = &message.bytes;
        if message.is_empty() {
            return Ok(());
        }
        let header = format!("Content-Length: {}\r\n\r\n", message.len());
        buffer.reserve(header.len() + message.len());
        buffer.put_slice(header.as_bytes());
        buffer.put_slice(message);
        Ok(())
    }
}
