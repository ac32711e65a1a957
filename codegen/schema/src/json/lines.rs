//! Finds the lines of places in a JSON text.

use std::collections::HashMap;

use crate::json::pointer::tokens;

/// The lines of some places in a text.
///
/// Reads the text once, and does not store it.
#[derive(Debug)]
pub struct Lines {
    /// The places and their ancestors, as a tree. The root of the document is the first node.
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    line: Option<usize>,
    children: HashMap<String, usize>,
}

impl Lines {
    /// Finds the places of these JSON pointers in a text. The text must be JSON.
    pub fn find<'p>(text: &[u8], pointers: impl IntoIterator<Item = &'p str>) -> Lines {
        let mut lines = Lines { nodes: vec![Node::default()] };
        for pointer in pointers {
            tokens(pointer).fold(0, |node, token| lines.child_or_new(node, token));
        }
        lines.read(text);
        lines
    }

    /// Returns the 1-based line of a place, or of its nearest ancestor if the text does not have the place.
    pub fn line(&self, pointer: &str) -> usize {
        let mut node = &self.nodes[0];
        let mut line = node.line.unwrap_or(1);
        for token in tokens(pointer) {
            let Some(child) = node.children.get(&token) else { break };
            node = &self.nodes[*child];
            let Some(deeper) = node.line else { break };
            line = deeper;
        }
        line
    }

    fn child_or_new(&mut self, node: usize, token: String) -> usize {
        let next = self.nodes.len();
        let child = *self.nodes[node].children.entry(token).or_insert(next);
        if child == next {
            self.nodes.push(Node::default());
        }
        child
    }

    /// Reads the text and follows the tree. `here` is the node of the next value, if the tree has one.
    fn read(&mut self, text: &[u8]) {
        struct Open {
            node: Option<usize>,
            /// The next item, if this is an array.
            item: Option<usize>,
        }
        let (mut at, mut line, mut here) = (0, 1, Some(0));
        let mut open: Vec<Open> = Vec::new();
        // Whether the next string is the key of a member.
        let mut key = false;
        while let Some(byte) = text.get(at) {
            let start = at;
            at += 1;
            match byte {
                b'\n' => line += 1,
                b' ' | b'\t' | b'\r' => {}
                b':' => key = false,
                b'{' | b'[' => {
                    self.mark(here, line);
                    key = *byte == b'{';
                    open.push(Open { node: here, item: (!key).then_some(0) });
                    here = if key { None } else { self.item(here, 0) };
                }
                b'}' | b']' => {
                    open.pop();
                    here = None;
                }
                b',' => match open.last_mut() {
                    Some(Open { node, item: Some(item) }) => {
                        *item += 1;
                        here = self.item(*node, *item);
                    }
                    _ => key = true,
                },
                b'"' => {
                    at = end_of_string(text, at);
                    if key {
                        here = self.member(open.last().and_then(|open| open.node), &text[start..at]);
                    }
                    self.mark(here, line);
                }
                _ => self.mark(here, line),
            }
        }
    }

    /// Records the line of a node: the line of its key if it is a member, otherwise of its first byte.
    fn mark(&mut self, node: Option<usize>, line: usize) {
        if let Some(node) = node {
            self.nodes[node].line.get_or_insert(line);
        }
    }

    fn item(&self, node: Option<usize>, item: usize) -> Option<usize> {
        let children = &self.nodes[node?].children;
        if children.is_empty() { None } else { children.get(&item.to_string()).copied() }
    }

    fn member(&self, node: Option<usize>, key: &[u8]) -> Option<usize> {
        let children = &self.nodes[node?].children;
        if children.is_empty() { None } else { children.get(&serde_json::from_slice::<String>(key).ok()?).copied() }
    }
}

/// Returns the index after the closing quote.
fn end_of_string(text: &[u8], mut at: usize) -> usize {
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
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
            // A missing place has the line of its nearest ancestor.
            ("/a/b/3/1/0", 7),
            ("/a/b/4", 3),
            ("/a/b/2/c", 5),
            ("/a/f/g", 2),
            ("/nothing", 2),
            ("/a/b/0/x", 4),
        ];
        let lines = Lines::find(TEXT.as_bytes(), cases.iter().map(|(pointer, _)| *pointer));
        for (pointer, line) in cases {
            assert_eq!(lines.line(pointer), line, "{pointer}");
        }
    }

    #[test]
    fn finds_every_line_of_a_schema() {
        // In indented text every member and every item is on a separate line, in the order of the traversal.
        fn walk(json: &crate::json::Json, pointer: String, found: &mut Vec<Option<String>>) {
            use crate::json::Json;
            use crate::json::pointer::escape;
            found.push(Some(pointer.clone()));
            match json {
                Json::Array(items) => {
                    items.iter().enumerate().for_each(|(at, item)| walk(item, format!("{pointer}/{at}"), found));
                }
                Json::Object(members) => {
                    members.iter().for_each(|(key, value)| walk(value, format!("{pointer}/{}", escape(key)), found));
                }
                _ => return,
            }
            // The closing bracket is on a separate line unless the value is empty.
            if found.last() != Some(&Some(pointer)) {
                found.push(None);
            }
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../schema/2025-11-25/schema.json");
        let Ok(text) = std::fs::read_to_string(path) else {
            eprintln!("skipped: no vendored schemas beside this crate");
            return;
        };
        let json = crate::json::Json::parse(&text).expect("JSON");
        let mut places = Vec::new();
        walk(&json, String::new(), &mut places);
        assert_eq!(places.len(), text.lines().count(), "the vendored schema is indented");
        let lines = Lines::find(text.as_bytes(), places.iter().flatten().map(String::as_str));
        for (at, pointer) in places.iter().enumerate() {
            if let Some(pointer) = pointer {
                assert_eq!(lines.line(pointer), at + 1, "{pointer}");
            }
        }
    }

    #[test]
    fn tolerates_invalid_json() {
        for text in ["", "}", "]", "\"", "{\"", "{\"a\\", "[,,", ":::", "{\"a\" \"b\"}", "\u{feff}{\"a\":1}"] {
            assert_eq!(Lines::find(text.as_bytes(), ["/a/0"]).line("/a/0"), 1, "{text:?}");
        }
    }
}
