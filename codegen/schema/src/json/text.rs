//! Finds values and their line numbers in JSON text.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

use serde_json::value::RawValue;

use crate::json::pointer::tokens;
use crate::json::value::{Json, without_byte_order_mark};

/// JSON text with lookup by JSON pointer.
///
/// It parses lazily: only the objects and arrays on the way to a requested value, once each. Invalid JSON looks like an
/// empty object or array.
#[derive(Debug, Default)]
pub struct JsonText {
    bytes: Vec<u8>,
    line_ends: Vec<usize>,
    root: Place,
}

#[derive(Debug, Default)]
struct Place {
    range: Range<usize>,
    /// Members by name, or array items by index.
    children: OnceCell<HashMap<String, Place>>,
}

impl JsonText {
    /// Returns the text, including a byte order mark if there is one.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the value at a pointer.
    pub fn value(&self, pointer: &str) -> Option<Json> {
        let place = tokens(pointer).try_fold(&self.root, |place, token| self.children(place).get(&token))?;
        serde_json::from_slice(&self.bytes[place.range.clone()]).ok()
    }

    /// Returns the 1-based line where the value, or its member name, begins. If there is no such value, returns the
    /// line of its nearest existing ancestor.
    pub fn line(&self, pointer: &str) -> usize {
        let mut place = &self.root;
        for token in tokens(pointer) {
            let Some(child) = self.children(place).get(&token) else { break };
            place = child;
        }
        // A JSON string contains no raw line break, so a name begins and ends on one line.
        let name = self.bytes[..place.range.start].trim_ascii_end().strip_suffix(b":").map(<[u8]>::trim_ascii_end);
        let start = name.map_or(place.range.start, <[u8]>::len);
        1 + self.line_ends.partition_point(|end| *end < start)
    }

    fn children<'p>(&self, place: &'p Place) -> &'p HashMap<String, Place> {
        place.children.get_or_init(|| {
            let bytes = &self.bytes[place.range.clone()];
            let items = || serde_json::from_slice::<Vec<&RawValue>>(bytes).unwrap_or_default();
            let values = serde_json::from_slice::<HashMap<String, &RawValue>>(bytes)
                .unwrap_or_else(|_| items().into_iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect());
            values.into_iter().map(|(token, value)| (token, self.place(value.get()))).collect()
        })
    }

    fn place(&self, part: &str) -> Place {
        let start = part.as_ptr().addr() - self.bytes.as_ptr().addr();
        Place { range: start..start + part.len(), children: OnceCell::new() }
    }
}

impl From<Vec<u8>> for JsonText {
    fn from(bytes: Vec<u8>) -> JsonText {
        let root = without_byte_order_mark(&bytes).trim_ascii_start();
        let range = bytes.len() - root.len()..bytes.len();
        let line_ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
        JsonText { bytes, line_ends, root: Place { range, children: OnceCell::new() } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
{ \"a\": {
    \"b\":
      [1, true,
       {\"c/d~\": null}, [
         \"]\\\"{\",
         []
       ]],
    \"\\u0065\\\"\": \"x:,\" },
  \"\": 1, \"z\": {\"0\": 1,
    \"1\": 2}
}
";

    #[test]
    fn finds_lines() {
        let cases = [
            ("", 2),
            ("/a", 2),
            ("/a/b", 3),
            ("/a/b/0", 4),
            ("/a/b/1", 4),
            ("/a/b/2", 5),
            ("/a/b/2/c~1d~0", 5),
            ("/a/b/3", 5),
            ("/a/b/3/0", 6),
            ("/a/b/3/1", 7),
            ("/a/e\"", 9),
            ("/", 10),
            ("/z/0", 10),
            ("/z/1", 11),
            // A missing value has the line of its nearest ancestor.
            ("/a/b/3/1/0", 7),
            ("/a/b/4", 3),
            ("/a/b/2/c", 5),
            ("/a/f/g", 2),
            ("/nothing", 2),
            ("/a/b/0/x", 4),
        ];
        let (text, json) = (JsonText::from(TEXT.as_bytes().to_vec()), Json::parse(TEXT).expect("JSON"));
        for (pointer, line) in cases {
            assert_eq!(text.line(pointer), line, "{pointer}");
            assert_eq!(text.value(pointer).as_ref(), json.pointer(pointer), "{pointer}");
        }
    }

    #[test]
    fn tolerates_invalid_json() {
        for text in ["", "}", "]", "\"", "{\"", "{\"a\\", "[,,", ":::", "{\"a\" \"b\"}", "\u{feff}{\"a\":1}"] {
            assert_eq!(JsonText::from(text.as_bytes().to_vec()).line("/a/0"), 1, "{text:?}");
        }
    }
}
