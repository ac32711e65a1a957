//! Decodes server-sent events.
//!
//! Written by hand, because the sse-stream and eventsource-stream crates do not limit the size of an event: a server
//! could exhaust its clients' memory.

use std::time::Duration;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// The `id` field, or the previous event's ID.
    pub(super) id: Option<String>,
    /// The `event` field. Empty if the field is missing, which is how messages are sent.
    pub(super) kind: String,
    /// The `data` field. Empty if the field is missing.
    pub(super) data: Vec<u8>,
    /// The `retry` field: how long to wait before reconnecting.
    pub(super) retry: Option<Duration>,
}

impl Event {
    pub(super) fn is_message(&self) -> bool {
        !self.data.is_empty() && matches!(self.kind.as_str(), "" | "message")
    }
}

/// Decodes events as specified in the HTML standard.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// Maximum size of an event in bytes.
    longest: usize,
    event: Event,
    /// Whether the current event has a field yet.
    begun: bool,
    /// How many of the buffered bytes are known to contain no line break.
    searched: usize,
    /// Whether the last line ended with a carriage return. A line feed that follows belongs to the same line break.
    after_return: bool,
    /// Whether anything has been read. A byte order mark can only come first.
    started: bool,
}

impl Events {
    pub(super) fn new(longest: usize) -> Self {
        Self { longest, ..Self::default() }
    }

    /// Fails if a line of `line` bytes makes the current event too large.
    fn check(&self, line: usize) -> std::io::Result<()> {
        match self.event.data.len().saturating_add(line) > self.longest {
            true => Err(std::io::Error::other(format!("event is larger than {} bytes", self.longest))),
            false => Ok(()),
        }
    }

    /// Returns the event if the line completes it.
    fn line(&mut self, line: &[u8]) -> Option<Event> {
        if line.is_empty() {
            if !std::mem::take(&mut self.begun) {
                return None;
            }
            // The ID stays in effect for the following events.
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

    /// Discards an incomplete event at the end of the stream.
    fn decode_eof(&mut self, buffer: &mut tokio_util::bytes::BytesMut) -> std::io::Result<Option<Event>> {
        let event = self.decode(buffer)?;
        if event.is_none() {
            buffer.clear();
            self.searched = 0;
        }
        Ok(event)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use tokio_util::codec::FramedRead;

    use super::*;

    /// Decodes events whose bytes arrive in pieces of this size.
    async fn read(bytes: &[u8], piece: usize) -> Vec<String> {
        let (mut writer, reader) = tokio::io::duplex(piece);
        let bytes = bytes.to_vec();
        tokio::spawn(async move {
            use tokio::io::AsyncWriteExt;
            // The reader may close before everything is written.
            let _ = writer.write_all(&bytes).await;
        });
        let describe = |event: std::io::Result<Event>| match event {
            Ok(Event { id, kind, data, retry }) => {
                let retry = retry.map_or_else(String::new, |retry| format!(" {}ms", retry.as_millis()));
                format!("{}|{kind}|{}{retry}", id.unwrap_or_default(), String::from_utf8_lossy(&data))
            }
            Err(error) => error.to_string(),
        };
        FramedRead::new(reader, Events::new(20)).map(describe).collect().await
    }

    #[tokio::test]
    async fn decodes_events_in_pieces_of_any_size() {
        let table: &[(&str, &[&str])] = &[
            ("data: a\n\n", &["||a"]),
            ("data:a\r\n\r\ndata: b\r\rdata:  c\n\n", &["||a", "||b", "|| c"]),
            ("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", &["1||a", "1||b", "||c"]),
            ("id: 7\ndata: \n\n", &["7||"]),
            ("id: 7\ndata\n\n", &["7||"]),
            ("retry: 500\n\n", &["|| 500ms"]),
            ("retry: 5s\n\n: comment\n\n:\n\n\n\n", &[]),
            ("event: endpoint\ndata: a\ndata: b\n\n", &["|endpoint|a\nb"]),
            ("\u{feff}data: a\n\nunknown: x\n\ndata: incomplete", &["||a"]),
            ("", &[]),
            ("data: 0123456789012345678901234567890123456789\n\n", &["event is larger than 20 bytes"]),
            ("data: 01234567890\ndata: 01234567890\n\n", &["event is larger than 20 bytes"]),
        ];
        for (bytes, expected) in table {
            for piece in [1, 2, 3, 7, 1000] {
                assert_eq!(read(bytes.as_bytes(), piece).await, *expected, "{bytes:?} in pieces of {piece}");
            }
        }
    }
}
