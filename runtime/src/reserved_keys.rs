//! Finds member names that serde_json reserves for itself.
//!
//! serde_json's `Value` reads an object whose first key is one of these as a number, or as the JSON text in its string,
//! with a new recursion limit for each. Data from outside must not choose that, so [`Envelope`](crate::envelope::Envelope)
//! refuses messages with such a key before any handler sees them.

use mcpgen_types::codec::MAX_DEPTH;
use mcpgen_types::{Error, ErrorKind};
use memchr::{memchr, memmem};

const RESERVED: [&str; 2] = ["$serde_json::private::Number", "$serde_json::private::RawValue"];

/// What both names begin with.
const PREFIX: &[u8] = b"$serde_json::private::";

/// A reserved key, and where it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReservedKey {
    name: &'static str,
    /// Of the key's opening quote.
    offset: usize,
}

/// The first reserved key in JSON text, however it is escaped.
pub(crate) fn find(json: &str) -> Option<ReservedKey> {
    let bytes = json.as_bytes();
    // Almost no text passes this filter.
    if memmem::find(bytes, PREFIX).is_none() && memmem::find(bytes, b"\\u").is_none() {
        return None;
    }
    let mut at = 0;
    while let Some(quote) = memchr(b'"', &bytes[at..]) {
        let start = at + quote;
        let end = string_end(bytes, start);
        at = end;
        let is_key = bytes[end..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
        if is_key && let Some(name) = reserved(&json[start..end]) {
            return Some(ReservedKey { name, offset: start });
        }
    }
    None
}

/// The reserved name that a key spells.
fn reserved(quoted: &str) -> Option<&'static str> {
    // Each character takes six bytes at most.
    if quoted.len() > 6 * 32 {
        return None;
    }
    let key: String = serde_json::from_str(quoted).ok()?;
    RESERVED.into_iter().find(|name| *name == key)
}

/// The position after the closing quote of a string, or the end of the text.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    loop {
        match bytes.get(at) {
            None => return bytes.len(),
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

impl ReservedKey {
    /// The error that names the key and its place in the text that it was found in.
    #[cold]
    pub(crate) fn error(&self, json: &str) -> Error {
        let Some(containers) = containers(&json.as_bytes()[..self.offset]) else {
            return Error::new(ErrorKind::Depth);
        };
        let message = "serde_json reserves this key, so it is not accepted; rename it".to_owned();
        let mut error = Error::new(ErrorKind::Json { message });
        for container in containers.into_iter().rev() {
            error = match container {
                Container::Array(index) => error.at_index(index),
                Container::Object(Some(key)) => error.at_key(serde_json::from_slice::<String>(key).unwrap_or_default()),
                // The innermost one, whose key this is.
                Container::Object(None) => error.at_key(self.name),
            };
        }
        error
    }
}

/// An array or object that is open at some place, and how far it has been read.
enum Container<'a> {
    /// The index of the current element.
    Array(usize),
    /// The key of the current value, in quotes; `None` before the next key.
    Object(Option<&'a [u8]>),
}

/// The arrays and objects that are open at the end of the text, outermost first; `None` if they are nested too deep.
fn containers(json: &[u8]) -> Option<Vec<Container<'_>>> {
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        if open.len() > MAX_DEPTH as usize {
            return None;
        }
        let start = at;
        at += 1;
        match (byte, open.last_mut()) {
            (b'{', _) => open.push(Container::Object(None)),
            (b'[', _) => open.push(Container::Array(0)),
            (b'}' | b']', _) => drop(open.pop()),
            (b',', Some(Container::Array(index))) => *index += 1,
            (b',', Some(Container::Object(key))) => *key = None,
            (b'"', last) => {
                at = string_end(json, start);
                if let Some(Container::Object(key @ None)) = last {
                    *key = Some(&json[start..at]);
                }
            }
            _ => {}
        }
    }
    Some(open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_reserved_keys_however_they_are_spelled() {
        let table = [
            (r#"{"$serde_json::private::Number":"1"}"#, Some("/$serde_json::private::Number")),
            (r#"{"a":1,"$serde_json::private::RawValue" : 1}"#, Some("/$serde_json::private::RawValue")),
            (
                r#"[0,[],{"a":"x","b":[{"\u0024serde_json::private::Number":1}]}]"#,
                Some("/2/b/0/$serde_json::private::Number"),
            ),
            (r#"{"\u0061":{"$serde_json::private\u003a:RawValue":1}}"#, Some("/a/$serde_json::private::RawValue")),
            (r#"{"a":"$serde_json::private::Number"}"#, None),
            (r#"{"$serde_json::private::Numbers":1,"x$serde_json::private::Number":1}"#, None),
            (r#"["$serde_json::private::Number",{"\\":"\u0024"}]"#, None),
            (r#"{"\"$serde_json::private::Number\"":1}"#, None),
            ("", None),
        ];
        for (json, expected) in table {
            let found = find(json).map(|key| key.error(json).path());
            assert_eq!(found.as_deref(), expected, "{json}");
        }
        let deep = format!("{}{{\"$serde_json::private::Number\":1}}{}", "[".repeat(1000), "]".repeat(1000));
        let error = find(&deep).expect("found").error(&deep);
        assert_eq!((error.kind(), error.path().as_str()), (&ErrorKind::Depth, ""));
        // Text that is cut off is refused elsewhere.
        let whole = r#"[{"\u0024serde_json::private::Number":"\u0024"}]"#;
        for end in 0..whole.len() {
            let _ = find(&whole[..end]).map(|key| key.error(&whole[..end]));
        }
    }
}
