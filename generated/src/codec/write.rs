//! Writes nodes as JSON text. serde_json formats the numbers.

use serde::Serialize;

use crate::JsonRef;

use super::encode::Sink;
use super::scan::{EACH, first_byte, special};
use super::{Elements, Members, Node, Object};

pub(crate) fn write(node: Node<'_>, out: &mut Vec<u8>) {
    match node {
        Node::Null => out.extend_from_slice(b"null"),
        Node::Bool(value) => scalar(&value, out),
        Node::Unsigned(integer) => scalar(&integer, out),
        Node::Signed(integer) => scalar(&integer, out),
        Node::Float(float) => scalar(&float, out),
        Node::Str(text) => string(text, out),
        Node::Array(elements) => array(elements, out),
        Node::Object(object) => map(object, out),
        Node::Number(number) => match number.as_u64() {
            Some(integer) => scalar(&integer, out),
            None => scalar(number, out),
        },
        Node::Json(text) => {
            out.reserve(text.len() + AFTER);
            out.extend_from_slice(text.as_bytes());
        }
    }
}

fn array(elements: &dyn Elements, out: &mut Vec<u8>) {
    let mut mark = b'[';
    for index in 0..elements.len() {
        out.push(mark);
        write(elements.element(index), out);
        mark = b',';
    }
    close(mark, b"[]", out);
}

fn map(object: &dyn Object, out: &mut Vec<u8>) {
    let mut members = Members::of_text(TextMembers { out, mark: b'{' });
    object.members(&mut members);
    if let Sink::Text(TextMembers { out, mark }) = members.sink {
        close(mark, b"{}", out);
    }
}

pub(super) struct TextMembers<'a> {
    out: &'a mut Vec<u8>,
    /// The byte before the next member: `{` or `,`.
    mark: u8,
}

impl TextMembers<'_> {
    /// Writes the JSON-RPC version, the first member.
    pub(super) fn version(&mut self) {
        self.out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
        self.mark = b',';
    }

    pub(super) fn members_of(&mut self, object: JsonRef<'_>) {
        let members = object.inside(b'{').strip_suffix('}').unwrap_or_default();
        if !members.is_empty() {
            self.out.reserve(members.len() + AFTER);
            self.out.push(self.mark);
            self.out.extend_from_slice(members.as_bytes());
            self.mark = b',';
        }
    }

    #[inline]
    pub(super) fn member(&mut self, name: &str, node: Node<'_>) {
        quoted([self.mark, b'"'], name, *b"\":", self.out);
        write(node, self.out);
        self.mark = b',';
    }
}

/// Ends an array or object. If it is empty, this also writes the opening bracket.
fn close(mark: u8, [open, close]: &[u8; 2], out: &mut Vec<u8>) {
    if mark == *open {
        out.push(*open);
    }
    out.push(*close);
}

/// The room to reserve after a long text, so that a buffer that has grown for it does not grow again.
pub(crate) const AFTER: usize = 64;

#[inline(never)]
fn string(text: &str, out: &mut Vec<u8>) {
    quoted([b'"'], text, [b'"'], out);
}

/// Writes a member's name, preceded by `mark` (`{` or `,`).
#[cfg(feature = "convert")]
pub(crate) fn write_name(mark: u8, name: &str, out: &mut Vec<u8>) {
    quoted([mark, b'"'], name, *b"\":", out);
}

/// Writes a string between the given bytes, which include the quotes.
#[inline(always)]
fn quoted<const B: usize, const A: usize>(before: [u8; B], text: &str, after: [u8; A], out: &mut Vec<u8>) {
    out.reserve(text.len() + AFTER);
    out.extend_from_slice(&before);
    if is_escaped(text.as_bytes()) {
        escaped(text.as_bytes(), out);
    } else {
        out.extend_from_slice(text.as_bytes());
    }
    out.extend_from_slice(&after);
}

/// Writes a string that needs escapes, exactly like serde_json. Copies the parts between escapes as a whole.
fn escaped(mut text: &[u8], out: &mut Vec<u8>) {
    // Prose has line breaks and quotes, each of which grows by a byte.
    out.reserve(text.len() + text.len() / 8 + AFTER);
    while let Some((plain, byte, rest)) = next_escape(text) {
        out.extend_from_slice(plain);
        match byte {
            b'"' => out.extend_from_slice(br#"\""#),
            b'\\' => out.extend_from_slice(br"\\"),
            b'\n' => out.extend_from_slice(br"\n"),
            b'\r' => out.extend_from_slice(br"\r"),
            b'\t' => out.extend_from_slice(br"\t"),
            0x08 => out.extend_from_slice(br"\b"),
            0x0c => out.extend_from_slice(br"\f"),
            control => {
                let digit = |digit: u8| b"0123456789abcdef"[usize::from(digit)];
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(control >> 4), digit(control & 0xf)]);
            }
        }
        text = rest;
    }
    out.extend_from_slice(text);
}

/// Returns everything before the next byte to escape, that byte, and the rest. Returns `None` if there is no such byte.
fn next_escape(text: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    let (words, last) = text.as_chunks::<8>();
    let found = words.iter().map(|word| special(u64::from_le_bytes(*word))).enumerate().find(|(_, found)| *found != 0);
    let at = match found {
        Some((index, found)) => index * 8 + first_byte(found),
        None => text.len() - last.len() + last.iter().position(|byte| is_escaped_word(&[*byte]))?,
    };
    let (plain, rest) = text.split_at(at);
    rest.split_first().map(|(byte, rest)| (plain, *byte, rest))
}

/// Returns whether a string needs escapes, because of a quote, a backslash or a control character.
#[inline]
fn is_escaped(text: &[u8]) -> bool {
    // The first and the last eight bytes may overlap. Together they cover most names.
    let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) else { return is_escaped_word(text) };
    let ends = special(u64::from_ne_bytes(*first)) | special(u64::from_ne_bytes(*last));
    ends != 0 || text.len() > 16 && is_escaped_text(text)
}

/// Like [`is_escaped`], for fewer than eight bytes.
#[inline]
fn is_escaped_word(text: &[u8]) -> bool {
    let word = match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => u64::from(u32::from_ne_bytes(*first)) | u64::from(u32::from_ne_bytes(*last)) << 32,
        _ => text.iter().fold(EACH * u64::from(b' '), |word, byte| word << 8 | u64::from(*byte)),
    };
    special(word) != 0
}

/// Like [`is_escaped`], for whole words of eight bytes. Ignores the bytes after the last word.
fn is_escaped_text(text: &[u8]) -> bool {
    let (words, _) = text.as_chunks::<8>();
    // Checking many words at once is faster than stopping at the first match. But long prose has a match near its
    // beginning, so this checks one chunk after the other.
    let found = |words: &[[u8; 8]]| words.iter().fold(0, |found, word| found | special(u64::from_ne_bytes(*word))) != 0;
    words.chunks(32).any(found)
}

fn scalar<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("writing to a Vec cannot fail");
}
