//! Identifies a message that is too long to keep, while its bytes are skipped.

use mcpgen_types::RequestId;
use memchr::memchr2;

use super::seam::Skipped;

/// Reads only the top-level keys and the `id` of a JSON-RPC message. Memory is bounded: an ID of more than
/// [`LONGEST_ID`] bytes is ignored.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    state: State,
    /// Whether the scanner is in a string, either a key or part of a value.
    in_string: bool,
    is_escaped: bool,
    /// How many arrays and objects are open within the current value.
    depth: usize,
    /// The text of the current key, or of the value of `id`.
    text: Vec<u8>,
    id: Id,
    has_method: bool,
    has_result: bool,
}

/// Longest ID in bytes. A longer one is ignored.
const LONGEST_ID: usize = 1024;
/// Longest key in bytes. The keys that matter fit even with every character escaped.
const LONGEST_KEY: usize = 64;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Start,
    BeforeKey,
    Key,
    Colon,
    Value {
        is_id: bool,
    },
    End,
    /// The message is not a JSON object.
    Invalid,
}

#[derive(Debug, Default)]
enum Id {
    #[default]
    Absent,
    Invalid,
    Known(RequestId),
}

impl Scanner {
    /// Returns the message's identity as soon as it is certain, which may be before the message ends.
    pub(crate) fn scan(&mut self, mut bytes: &[u8]) -> Option<Skipped> {
        while let Some(&byte) = bytes.first() {
            let read = match self.state {
                State::Value { is_id } => self.value(bytes, is_id),
                State::Key => self.key(bytes),
                State::Invalid => return Some(Skipped::Unknown),
                _ => {
                    self.between(byte);
                    1
                }
            };
            bytes = &bytes[read..];
            if let Some(known) = self.known() {
                return Some(known);
            }
        }
        (self.state == State::Invalid).then_some(Skipped::Unknown)
    }

    /// Returns the message's identity. Call this once the message has ended.
    pub(crate) fn finish(&self) -> Skipped {
        match (&self.id, self.state) {
            (Id::Absent, State::End) if self.has_method && !self.has_result => Skipped::Notification,
            _ => self.known().unwrap_or(Skipped::Unknown),
        }
    }

    fn known(&self) -> Option<Skipped> {
        let Id::Known(id) = &self.id else { return None };
        match (self.has_method, self.has_result) {
            (true, false) => Some(Skipped::Request(id.clone())),
            (false, true) => Some(Skipped::Response(id.clone())),
            _ => None,
        }
    }

    /// Reads a byte between keys and values.
    fn between(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (state, byte) if byte.is_ascii_whitespace() => state,
            (State::Start, b'{') => State::BeforeKey,
            (State::BeforeKey, b'"') => {
                self.text.clear();
                self.in_string = true;
                State::Key
            }
            (State::BeforeKey, b'}') => State::End,
            (State::Colon, b':') => {
                let name: String = mcpgen_types::from_slice(&quoted(&self.text)).unwrap_or_default();
                self.text.clear();
                match name.as_str() {
                    "method" => self.has_method = true,
                    "result" | "error" => self.has_result = true,
                    _ => {}
                }
                State::Value { is_id: name == "id" }
            }
            _ => State::Invalid,
        };
    }

    /// Reads part of a key. Returns the number of bytes read.
    fn key(&mut self, bytes: &[u8]) -> usize {
        let read = self.string(bytes);
        let text = if self.in_string { &bytes[..read] } else { &bytes[..read - 1] };
        keep(&mut self.text, text, LONGEST_KEY);
        if !self.in_string {
            self.state = State::Colon;
        }
        read
    }

    /// Reads part of a value. Returns the number of bytes read.
    fn value(&mut self, bytes: &[u8], is_id: bool) -> usize {
        let mut read = 0;
        while let (Some(&byte), State::Value { .. }) = (bytes.get(read), self.state) {
            if self.in_string {
                read += self.string(&bytes[read..]);
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b',' if self.depth == 0 => self.state = State::BeforeKey,
                b'}' if self.depth == 0 => self.state = State::End,
                b']' if self.depth == 0 => self.state = State::Invalid,
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
            read += 1;
        }
        if is_id {
            let ended = !matches!(self.state, State::Value { .. });
            keep(&mut self.text, &bytes[..read - usize::from(ended)], LONGEST_ID);
            if ended {
                self.id = mcpgen_types::from_slice(&self.text).map_or(Id::Invalid, Id::Known);
            }
        }
        read
    }

    /// Reads up to and including the closing quote. Returns the number of bytes read.
    fn string(&mut self, bytes: &[u8]) -> usize {
        let mut read = usize::from(std::mem::take(&mut self.is_escaped));
        while let Some(found) = bytes.get(read..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
            read += found + 1;
            if bytes[read - 1] == b'"' {
                self.in_string = false;
                return read;
            }
            // The character after a backslash cannot end the string.
            if read == bytes.len() {
                self.is_escaped = true;
                return read;
            }
            read += 1;
        }
        bytes.len()
    }
}

/// Appends bytes up to a length of `most`. A longer text gets a NUL byte, so that it does not parse as if it were
/// complete.
fn keep(text: &mut Vec<u8>, bytes: &[u8], most: usize) {
    let room = (most + 1).saturating_sub(text.len());
    text.extend_from_slice(&bytes[..bytes.len().min(room)]);
    if text.len() > most {
        // JSON text cannot contain NUL.
        text[most] = 0;
    }
}

fn quoted(text: &[u8]) -> Vec<u8> {
    [b"\"", text, b"\""].concat()
}
