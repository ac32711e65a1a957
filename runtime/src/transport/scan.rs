//! Identifies a message that is too long to keep while its bytes are skipped.

use mcpgen_types::RequestId;
use memchr::memchr2;

use super::seam::Skipped;

/// Reads the top-level keys and the `id` of a JSON-RPC message. Memory is bounded: it ignores an ID of more than
/// [`LONGEST_ID`] bytes and keeps nothing else.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    state: State,
    /// Whether the scanner is inside a string, either a key or part of a value.
    in_string: bool,
    /// Whether the last byte was a backslash.
    is_escaped: bool,
    /// How many arrays and objects are open within a value.
    depth: usize,
    /// The text of the current key, or of the value of `id`.
    text: Vec<u8>,
    id: Id,
    has_method: bool,
    has_result: bool,
}

/// The maximum length of an ID, in bytes. Longer IDs are ignored.
const LONGEST_ID: usize = 1024;
/// The maximum length of a key, in bytes. The keys that matter fit even if each of their characters is escaped.
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
    /// Not a JSON object.
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
    /// Reads the next bytes. Returns the message's identity as soon as it is certain, which may be before the end.
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

    /// Returns the identity of a message that has ended.
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

    /// Reads more of a key. Returns the number of bytes read.
    fn key(&mut self, bytes: &[u8]) -> usize {
        let read = self.string(bytes);
        let text = if self.in_string { &bytes[..read] } else { &bytes[..read - 1] };
        keep(&mut self.text, text, LONGEST_KEY);
        if !self.in_string {
            self.state = State::Colon;
        }
        read
    }

    /// Reads more of a value. Returns the number of bytes read.
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

    /// Reads more of a string, up to and including its closing quote. Returns the number of bytes read.
    fn string(&mut self, bytes: &[u8]) -> usize {
        let mut read = usize::from(std::mem::take(&mut self.is_escaped));
        while let Some(found) = bytes.get(read..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
            read += found + 1;
            if bytes[read - 1] == b'"' {
                self.in_string = false;
                return read;
            }
            // The character after a backslash does not end the string.
            if read == bytes.len() {
                self.is_escaped = true;
                return read;
            }
            read += 1;
        }
        bytes.len()
    }
}

/// Appends bytes up to a length of `most`. Marks a longer text with a NUL byte, so that it does not parse as a complete
/// one.
fn keep(text: &mut Vec<u8>, bytes: &[u8], most: usize) {
    let room = (most + 1).saturating_sub(text.len());
    text.extend_from_slice(&bytes[..bytes.len().min(room)]);
    if text.len() > most {
        // Invalid in any JSON text.
        text[most] = 0;
    }
}

fn quoted(text: &[u8]) -> Vec<u8> {
    [b"\"", text, b"\""].concat()
}

#[cfg(test)]
mod tests {
    use mcpgen_types::ErrorId;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::jsonrpc::envelope::{Envelope, scan};

    /// Scans the bytes in pieces of these lengths, and then the rest.
    fn scanned(mut bytes: &[u8], pieces: &[usize]) -> Skipped {
        let mut scanner = Scanner::default();
        for piece in pieces {
            let (first, rest) = bytes.split_at((*piece).min(bytes.len()));
            if let Some(known) = scanner.scan(first) {
                return known;
            }
            bytes = rest;
        }
        scanner.scan(bytes).unwrap_or_else(|| scanner.finish())
    }

    /// Identifies the whole message with the envelope reader.
    fn read(text: &str) -> Skipped {
        let Ok(document) = scan(text) else { return Skipped::Unknown };
        match Envelope::read(&document) {
            Ok(Envelope::Request { id, .. }) => Skipped::Request(id),
            Ok(Envelope::Notification { .. }) => Skipped::Notification,
            Ok(Envelope::Response { id, .. } | Envelope::Error { id: ErrorId::Id(id), .. }) => Skipped::Response(id),
            Ok(Envelope::Error { .. }) | Err(_) => Skipped::Unknown,
        }
    }

    #[test]
    fn identifies_messages_like_the_envelope_reader() {
        let long_id = format!(r#"{{"jsonrpc":"2.0","method":"m","id":"{}"}}"#, "i".repeat(LONGEST_ID - 2));
        let messages = [
            r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#,
            r#" { "jsonrpc" : "2.0" , "\u0069d" : "a\"b\\" , "m\u0065thod" : "m" , "params" : [ { "id" : 2 } ] } "#,
            r#"{"jsonrpc":"2.0","method":"m","params":{"id":1,"result":{}}}"#,
            r#"{"jsonrpc":"2.0","result":{"id":2,"method":"m"},"id":-9223372036854775808}"#,
            r#"{"jsonrpc":"2.0","error":{"code":1,"message":"}"},"id":"x"}"#,
            r#"{"jsonrpc":"2.0","error":{"code":1,"message":""},"id":null}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":{"a":1},"result":1}"#,
            r#"{"jsonrpc":"2.0"}"#,
            "{}",
            "[]",
            "1",
            &long_id,
        ];
        for text in messages {
            for piece in 1..5 {
                assert_eq!(scanned(text.as_bytes(), &vec![piece; text.len()]), read(text), "{text} in {piece}s");
            }
        }
    }

    #[test]
    fn does_not_identify_broken_messages_or_huge_ids() {
        let huge_id = format!(r#"{{"method":"m","id":"{}"}}"#, "i".repeat(LONGEST_ID));
        let long_key = format!(r#"{{"method{}":"m"}}"#, " ".repeat(LONGEST_KEY));
        let broken =
            [r#"{"method":"m""#, r#"{"method":"m"}}"#, r#"{"method":"m"]"#, "{method:1}", "", &huge_id, &long_key];
        for text in broken {
            assert_eq!(scanned(text.as_bytes(), &[]), Skipped::Unknown, "{text}");
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~äß\"\\\\{}:,]{0,9}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inside| {
            let key = prop_oneof![Just("id".to_owned()), Just("method".to_owned()), "[a-c\"\\\\{}:, ]{0,3}"];
            prop_oneof![
                prop::collection::vec(inside.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(key, inside, 0..4).prop_map(|members| json!(members)),
            ]
        })
    }

    /// Generates the members that identify a message and some others, in any order.
    fn members() -> impl Strategy<Value = Vec<(String, Value)>> {
        let id = prop_oneof![any::<i64>().prop_map(Value::from), ".{0,6}".prop_map(Value::from)];
        let id = prop_oneof![4 => id.prop_map(|id| vec![("id", id)]), 1 => Just(vec![])];
        let kind = prop_oneof![
            "[a-z/\"]{0,6}".prop_map(|method| ("method", json!(method))),
            json().prop_map(|result| ("result", result)),
            json().prop_map(|data| ("error", json!({ "code": 1, "message": "", "data": data }))),
        ];
        let others = prop::collection::btree_map("[a-d\"\\\\]{1,3}", json(), 0..4);
        let members = (id, kind, others).prop_map(|(id, kind, others)| {
            let known = id.into_iter().chain([kind, ("jsonrpc", json!("2.0"))]);
            known.map(|(name, value)| (name.to_owned(), value)).chain(others).collect::<Vec<_>>()
        });
        members.prop_shuffle()
    }

    /// Formats a message, with or without white space and escapes.
    fn written(members: &[(String, Value)], spaced: bool, escaped: bool) -> String {
        let space = if spaced { " \t" } else { "" };
        let member = |(name, value): &(String, Value)| {
            let value = if spaced { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
            format!("{space}{}{space}:{space}{}{space}", Value::from(name.as_str()), value.expect("JSON"))
        };
        let text = format!("{space}{{{}}}{space}", members.iter().map(member).collect::<Vec<_>>().join(","));
        if escaped { text.replace("\"id\"", "\"i\\u0064\"").replace("\"result\"", "\"\\u0072esult\"") } else { text }
    }

    proptest! {
        #[test]
        fn identifies_any_message_in_any_pieces(
            members in members(), spaced in any::<bool>(), escaped in any::<bool>(),
            pieces in prop::collection::vec(0..20_usize, 0..40),
        ) {
            let text = written(&members, spaced, escaped);
            prop_assert_eq!(scanned(text.as_bytes(), &pieces), read(&text), "{}", text);
        }

        #[test]
        fn reads_arbitrary_bytes(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'"'), Just(b'{'), Just(b'\\'), Just(b':')], 0..60),
            pieces in prop::collection::vec(0..9_usize, 0..20),
        ) {
            scanned(&bytes, &pieces);
        }
    }
}
