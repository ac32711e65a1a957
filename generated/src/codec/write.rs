//! Nodes to JSON text: the structure here, scalars and escapes by serde_json.

use serde::Serialize;
use serde_json::{Number, Value};

use super::{Elements, Members, Node, Object};

/// Writes a value without white space between tokens.
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
        Node::Value(value) => json(value, out),
        Node::Raw(text) => out.extend_from_slice(text.get().as_bytes()),
        Node::Undecoded(raw) => raw.write(out),
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
    let mut mark = b'{';
    object.members(&mut Members::new(&mut |name, node| {
        out.push(mark);
        string(name, out);
        out.push(b':');
        write(node, out);
        mark = b',';
    }));
    close(mark, b"{}", out);
}

fn json(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(value) => scalar(value, out),
        Value::Number(number) => number_of(number, out),
        Value::String(text) => string(text, out),
        Value::Array(elements) => array(elements, out),
        Value::Object(members) => map(members, out),
    }
}

fn number_of(number: &Number, out: &mut Vec<u8>) {
    match number.as_u64() {
        Some(integer) => scalar(&integer, out),
        None => scalar(number, out),
    }
}

/// Ends an array or an object: one of nothing was not even begun.
fn close(mark: u8, [open, close]: &[u8; 2], out: &mut Vec<u8>) {
    if mark == *open {
        out.push(*open);
    }
    out.push(*close);
}

/// Room for what comes after a long text, so that a buffer that has just grown for it need not grow again.
pub(crate) const AFTER: usize = 64;

fn string(text: &str, out: &mut Vec<u8>) {
    if is_escaped(text.as_bytes()) {
        // Prose is escaped at the ends of its lines and at quotations.
        out.reserve(text.len() + text.len() / 8 + AFTER);
        return scalar(text, out);
    }
    out.reserve(text.len() + AFTER);
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Whether a string has to be escaped: it has a quotation mark, a backslash or a control character.
fn is_escaped(text: &[u8]) -> bool {
    let (words, rest) = text.as_chunks::<8>();
    let mut last = [b' '; 8];
    last[..rest.len()].copy_from_slice(rest);
    // All of them, which is quicker than to stop at the first.
    words.iter().chain([&last]).fold(0, |found, word| found | escapes(u64::from_ne_bytes(*word))) != 0
}

/// Eight bytes at once: not 0 if one of them has to be escaped. A subtraction borrows from a byte's highest bit if the
/// byte is less, and what one byte borrows from the next does no harm where something is found anyway.
fn escapes(word: u64) -> u64 {
    const EACH: u64 = u64::MAX / 0xff;
    let less = |word: u64, than: u8| word.wrapping_sub(EACH * u64::from(than)) & !word;
    let is = |byte: u8| less(word ^ (EACH * u64::from(byte)), 1);
    (less(word, b' ') | is(b'"') | is(b'\\')) & (EACH * 0x80)
}

fn scalar<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("a Vec takes all bytes");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_escaped_are_found_wherever_they_stand() {
        for byte in 0..0x80 {
            let escaped = serde_json::to_string(&char::from(byte)).is_ok_and(|text| text.len() > 3);
            for place in 0..20 {
                let mut text = [b'a'; 20];
                text[place] = byte;
                assert_eq!(is_escaped(&text[..place + 1]), escaped, "{byte} at {place}");
                assert_eq!(is_escaped(&text), escaped, "{byte} at {place}");
            }
        }
        assert!(!is_escaped("\u{7f}\u{80}\u{a0}é漢🦀".as_bytes()));
    }
}
