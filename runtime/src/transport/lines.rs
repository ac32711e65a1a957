//! One message a line, over anything that bytes can be read from and written to.

use std::io;

use futures_util::StreamExt;
use memchr::memchr;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::bytes::{Buf, BufMut, BytesMut};
use tokio_util::codec::{Decoder, Encoder, FramedRead, FramedWrite};

use super::scan::Scanner;
use super::seam::{Incoming, Outgoing, ReceiveError};

/// The length that a line may have unless something else is asked for: 64 MiB.
pub const LONGEST: usize = 64 << 20;

/// The messages that arrive on a reader. A line of more than `longest` bytes is an error of its own, and the next one is
/// read; blank lines, carriage returns before the end and a byte order mark in front are no part of messages.
pub fn receive<R: AsyncRead + Send + 'static>(reader: R, longest: usize) -> impl Incoming + use<R> {
    FramedRead::new(reader, Lines::new(longest)).map(|line| match line {
        Ok(line) => line,
        Err(error) => Err(error.into()),
    })
}

/// Where messages leave through a writer. None may contain a line feed.
pub fn send<W: AsyncWrite + Send + 'static>(writer: W) -> impl Outgoing + use<W> {
    FramedWrite::new(writer, Lines::new(0))
}

/// The codec.
#[derive(Debug)]
struct Lines {
    longest: usize,
    /// How much of the buffer is known to have no end of a line.
    searched: usize,
    skip: Skip,
    /// Nothing was read before.
    at_start: bool,
}

/// Whether the current line is skipped because it is too long.
#[derive(Debug, Default)]
enum Skip {
    #[default]
    No,
    /// It is, and not identified yet.
    Scanning(Box<Scanner>),
    /// It is, and the receiver knows.
    Reported,
}

impl Lines {
    fn new(longest: usize) -> Self {
        Self { longest, searched: 0, skip: Skip::No, at_start: true }
    }

    /// A line without its end, and without what is no part of the message; `None` if nothing is left.
    fn message(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let line = self.without_mark(line).trim_ascii();
        (!line.is_empty()).then(|| line.to_vec())
    }

    /// Without the byte order mark that may begin the stream.
    fn without_mark<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        let mark = std::mem::take(&mut self.at_start).then(|| line.strip_prefix(b"\xef\xbb\xbf")).flatten();
        mark.unwrap_or(line)
    }

    fn skips(&self) -> bool {
        !matches!(self.skip, Skip::No)
    }

    /// Skips a part of a line that is too long. Reports the line once, when it is identified.
    fn skip_part(&mut self, bytes: &[u8]) -> Option<<Self as Decoder>::Item> {
        let bytes = self.without_mark(bytes);
        if let Skip::No = self.skip {
            self.skip = Skip::Scanning(Box::default());
        }
        let Skip::Scanning(scanner) = &mut self.skip else { return None };
        let message = scanner.scan(bytes)?;
        self.skip = Skip::Reported;
        Some(Err(ReceiveError::TooLong { limit: self.longest, message }))
    }

    /// Ends a line that is too long. Reports it unless that is done.
    fn skip_end(&mut self) -> Option<<Self as Decoder>::Item> {
        let Skip::Scanning(scanner) = std::mem::take(&mut self.skip) else { return None };
        Some(Err(ReceiveError::TooLong { limit: self.longest, message: scanner.finish() }))
    }
}

impl Decoder for Lines {
    /// A line too long is no error of the stream's, which would end it.
    type Item = Result<Vec<u8>, ReceiveError>;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        loop {
            let Some(end) = memchr(b'\n', &buffer[self.searched..]) else {
                self.searched = buffer.len();
                if !self.skips() && buffer.len() <= self.longest {
                    return Ok(None);
                }
                let reported = self.skip_part(buffer);
                buffer.clear();
                self.searched = 0;
                return Ok(reported);
            };
            let end = std::mem::take(&mut self.searched) + end;
            let line = match self.skips() || end > self.longest {
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

    /// The last line may have no end.
    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        if let Some(item) = self.decode(buffer)? {
            return Ok(Some(item));
        }
        self.searched = 0;
        let rest = buffer.split();
        Ok(self.skip_end().or_else(|| self.message(&rest).map(Ok)))
    }
}

impl Encoder<Vec<u8>> for Lines {
    type Error = io::Error;

    fn encode(&mut self, message: Vec<u8>, buffer: &mut BytesMut) -> io::Result<()> {
        debug_assert!(!message.contains(&b'\n'), "messages are written on one line");
        buffer.reserve(message.len() + 1);
        buffer.put_slice(&message);
        buffer.put_u8(b'\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What arrives if the bytes come in pieces of this size.
    async fn received(bytes: &[u8], piece: usize, longest: usize) -> Vec<String> {
        let (mut writer, reader) = tokio::io::duplex(piece);
        let bytes = bytes.to_vec();
        tokio::spawn(async move {
            use tokio::io::AsyncWriteExt;
            writer.write_all(&bytes).await.expect("the reader is there");
        });
        let words = |item: Result<Vec<u8>, ReceiveError>| match item {
            Ok(message) => String::from_utf8_lossy(&message).into_owned(),
            Err(error) => error.to_string(),
        };
        receive(reader, longest).map(words).collect().await
    }

    #[tokio::test]
    async fn lines_are_messages_however_they_come() {
        let table: &[(&str, &[&str])] = &[
            ("a\nb\n", &["a", "b"]),
            ("a\r\nb\r\n", &["a", "b"]),
            ("\n\r\n  \na\n\n", &["a"]),
            ("\u{feff}a\nb", &["a", "b"]),
            ("\u{feff}", &[]),
            ("", &[]),
            ("a", &["a"]),
            ("12345678\na\n", &["12345678", "a"]),
            ("123456789\na\n", &["a message of more than 8 bytes", "a"]),
            (
                "a\n123456789012345678901234567890\nb\n123456789",
                &["a", "a message of more than 8 bytes", "b", "a message of more than 8 bytes"],
            ),
            ("{\"a\": 123456789}\nb\n", &["a message of more than 8 bytes", "b"]),
            (
                "{\"a\": 123456789\nb\n{\"a\": 12345",
                &["a message of more than 8 bytes", "b", "a message of more than 8 bytes"],
            ),
        ];
        for (bytes, expected) in table {
            for piece in [1, 2, 3, 7, 100] {
                assert_eq!(received(bytes.as_bytes(), piece, 8).await, *expected, "{bytes:?} in pieces of {piece}");
            }
        }
    }
}
