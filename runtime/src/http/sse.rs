//! Server-sent events: messages on a response that goes on.

use std::time::Duration;

#[cfg(feature = "http-server")]
use bytes::Bytes;

/// A message as an event. It stands on one line, as all messages do.
#[cfg(feature = "http-server")]
pub(super) fn event(id: Option<&str>, message: &[u8]) -> Bytes {
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    [id.as_bytes(), b"data: ", message, b"\n\n"].concat().into()
}

/// How long to wait before coming back.
#[cfg(feature = "http-server")]
pub(super) fn retry(after: Duration) -> Bytes {
    format!("retry: {}\n\n", after.as_millis()).into()
}

/// What keeps a connection alive on which nothing is said.
#[cfg(feature = "http-server")]
pub(super) const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// What stands in an event.
#[cfg(feature = "http-client")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// The id that it, or the one before it, was given.
    pub(super) id: Option<String>,
    /// What it is, unless it is a message.
    pub(super) kind: String,
    /// Empty if there is none.
    pub(super) data: Vec<u8>,
    /// How long to wait before coming back.
    pub(super) retry: Option<Duration>,
}

/// Reads events, as the HTML standard says.
#[cfg(feature = "http-client")]
#[derive(Debug, Default)]
pub(super) struct Events {
    /// How long an event may be.
    longest: usize,
    event: Event,
    /// Something stands in the event that is not over yet.
    begun: bool,
    /// How much of the buffer is known to have no end of a line.
    searched: usize,
    /// A line feed at the beginning belongs to the line before.
    after_return: bool,
    /// Nothing was read before.
    started: bool,
}

#[cfg(feature = "http-client")]
impl Events {
    pub(super) fn new(longest: usize) -> Self {
        Self { longest, ..Self::default() }
    }

    /// Whether there is room for a line of so many bytes, in an event that has some already.
    fn check(&self, line: usize) -> std::io::Result<()> {
        match self.event.data.len().saturating_add(line) > self.longest {
            true => Err(std::io::Error::other(format!("an event of more than {} bytes", self.longest))),
            false => Ok(()),
        }
    }

    /// One line; the event that it ends, if it ends one.
    fn line(&mut self, line: &[u8]) -> Option<Event> {
        if line.is_empty() {
            if !std::mem::take(&mut self.begun) {
                return None;
            }
            // The last id is that of the events to come, too.
            let id = self.event.id.clone();
            let mut event = std::mem::replace(&mut self.event, Event { id, ..Event::default() });
            if event.data.last() == Some(&b'\n') {
                event.data.pop();
            }
            return Some(event);
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b"data" => {
                self.event.data.extend_from_slice(value);
                self.event.data.push(b'\n');
            }
            b"event" => self.event.kind = text(),
            b"id" if !value.contains(&0) => self.event.id = Some(text()).filter(|id| !id.is_empty()),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                self.event.retry = text().parse().ok().map(Duration::from_millis);
            }
            _ => return None,
        }
        self.begun = true;
        None
    }
}

#[cfg(feature = "http-client")]
impl tokio_util::codec::Decoder for Events {
    type Item = Event;
    type Error = std::io::Error;

    fn decode(&mut self, buffer: &mut tokio_util::bytes::BytesMut) -> std::io::Result<Option<Event>> {
        use tokio_util::bytes::Buf;
        if !self.started {
            const MARK: &[u8] = b"\xef\xbb\xbf";
            if buffer.len() < MARK.len() && MARK.starts_with(buffer) {
                return Ok(None);
            }
            if buffer.starts_with(MARK) {
                buffer.advance(MARK.len());
            }
            self.started = true;
        }
        loop {
            if self.after_return && !buffer.is_empty() {
                self.after_return = false;
                if buffer[0] == b'\n' {
                    buffer.advance(1);
                }
            }
            let end = buffer[self.searched..].iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let Some(end) = end.map(|end| self.searched + end) else {
                self.searched = buffer.len();
                return self.check(buffer.len()).map(|()| None);
            };
            self.searched = 0;
            self.check(end)?;
            let line = buffer.split_to(end);
            self.after_return = buffer[0] == b'\r';
            buffer.advance(1);
            if let Some(event) = self.line(&line) {
                return Ok(Some(event));
            }
        }
    }

    /// What is not over is no event.
    fn decode_eof(&mut self, buffer: &mut tokio_util::bytes::BytesMut) -> std::io::Result<Option<Event>> {
        let event = self.decode(buffer)?;
        if event.is_none() {
            buffer.clear();
            self.searched = 0;
        }
        Ok(event)
    }
}

#[cfg(all(test, feature = "http-client"))]
mod tests {
    use futures_util::StreamExt;
    use tokio_util::codec::FramedRead;

    use super::*;

    /// The events in bytes that come in pieces of this size.
    async fn read(bytes: &[u8], piece: usize) -> Vec<String> {
        let (mut writer, reader) = tokio::io::duplex(piece);
        let bytes = bytes.to_vec();
        tokio::spawn(async move {
            use tokio::io::AsyncWriteExt;
            // A reader that has seen enough goes.
            let _ = writer.write_all(&bytes).await;
        });
        let words = |event: std::io::Result<Event>| match event {
            Ok(Event { id, kind, data, retry }) => {
                let retry = retry.map_or_else(String::new, |retry| format!(" {}ms", retry.as_millis()));
                format!("{}|{kind}|{}{retry}", id.unwrap_or_default(), String::from_utf8_lossy(&data))
            }
            Err(error) => error.to_string(),
        };
        FramedRead::new(reader, Events::new(20)).map(words).collect().await
    }

    #[tokio::test]
    async fn events_are_read_however_they_come() {
        let table: &[(&str, &[&str])] = &[
            ("data: a\n\n", &["||a"]),
            ("data:a\r\n\r\ndata: b\r\rdata:  c\n\n", &["||a", "||b", "|| c"]),
            ("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", &["1||a", "1||b", "||c"]),
            ("id: 7\ndata: \n\n", &["7||"]),
            ("id: 7\ndata\n\n", &["7||"]),
            ("retry: 500\n\n", &["|| 500ms"]),
            ("retry: 5s\n\n: comment\n\n:\n\n\n\n", &[]),
            ("event: endpoint\ndata: a\ndata: b\n\n", &["|endpoint|a\nb"]),
            ("\u{feff}data: a\n\nunknown: x\n\ndata: not over", &["||a"]),
            ("", &[]),
            ("data: 0123456789012345678901234567890123456789\n\n", &["an event of more than 20 bytes"]),
            ("data: 01234567890\ndata: 01234567890\n\n", &["an event of more than 20 bytes"]),
        ];
        for (bytes, expected) in table {
            for piece in [1, 2, 3, 7, 1000] {
                assert_eq!(read(bytes.as_bytes(), piece).await, *expected, "{bytes:?} in pieces of {piece}");
            }
        }
    }
}
