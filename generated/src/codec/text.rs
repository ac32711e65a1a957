//! Decodes from and encodes to text, bytes and `serde_json` values.

use std::io::{Read, Write};

use serde_json::Value;

use crate::Error;

use super::index::{BriefDocument, position};
use super::{Decode, Encode, Members, Node, write};

/// Decodes JSON text. Only white space may follow the value.
///
/// # Errors
///
/// Returns an error if the text is not JSON, or is not a valid `T`.
pub fn from_str<T: Decode>(text: &str) -> Result<T, Error> {
    match BriefDocument::read(text) {
        Ok(document) => named(document.root().decode_located()),
        Err(error) => named(Err(error)),
    }
}

/// Decodes UTF-8 encoded JSON text. Only white space may follow the value.
///
/// # Errors
///
/// Returns an error if the bytes are not UTF-8, if the text is not JSON, or if it is not a valid `T`.
pub fn from_slice<T: Decode>(bytes: &[u8]) -> Result<T, Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => from_str(text),
        Err(error) => Err(not_utf8(bytes.get(..error.valid_up_to()).unwrap_or(bytes)).with_type_name(T::NAME)),
    }
}

/// Reads to the end, and decodes the bytes like [`from_slice`].
///
/// # Errors
///
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the reader fails, and the errors of [`from_slice`].
pub fn from_reader<T: Decode>(mut reader: impl Read) -> Result<T, Error> {
    let mut bytes = Vec::new();
    match reader.read_to_end(&mut bytes) {
        Ok(_) => from_slice(&bytes),
        Err(error) => Err(Error::io(&error).with_type_name(T::NAME)),
    }
}

/// Decodes a serde_json value.
///
/// # Errors
///
/// Returns an error if the value is not a valid `T`, or is nested more than [`MAX_DEPTH`](crate::codec::MAX_DEPTH)
/// levels deep.
pub fn from_value<T: Decode>(value: Value) -> Result<T, Error> {
    let decoded = match super::record::record_value(&value) {
        Ok(document) => document.root().decode_located(),
        Err(error) => Err(error),
    };
    if decoded.is_err() {
        dismantle(value);
    }
    named(decoded).map_err(Error::without_position)
}

/// Encodes as JSON text, without white space between tokens.
#[must_use]
pub fn to_string<T: Encode + ?Sized>(value: &T) -> String {
    // The encoder writes only UTF-8.
    String::from_utf8(to_vec(value)).unwrap_or_default()
}

/// Encodes as JSON text in UTF-8, without white space between tokens.
#[must_use]
pub fn to_vec<T: Encode + ?Sized>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    write(value.encode(), &mut bytes);
    bytes
}

/// Encodes as UTF-8 JSON text, without white space between tokens, and passes it to `writer` in one call.
///
/// # Errors
///
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the writer fails.
pub fn to_writer<T: Encode + ?Sized>(mut writer: impl Write, value: &T) -> Result<(), Error> {
    writer.write_all(&to_vec(value)).map_err(|error| Error::io(&error))
}

/// Encodes as a serde_json value.
///
/// # Errors
///
/// Returns an error if the value contains a [`Json`](crate::Json) that a `Value` cannot represent: nested too deeply,
/// with a number beyond the range of doubles, or with a lone surrogate.
pub fn to_value<T: Encode + ?Sized>(value: &T) -> Result<Value, Error> {
    node_value(value.encode())
}

pub(crate) fn named<T: Decode>(decoded: Result<T, Error>) -> Result<T, Error> {
    match decoded {
        Ok(value) => Ok(value),
        Err(error) => Err(error.with_type_name(T::NAME)),
    }
}

/// Creates the error for bytes that are not UTF-8. `valid` holds the bytes before the first invalid one.
#[cold]
fn not_utf8(valid: &[u8]) -> Error {
    let text = std::str::from_utf8(valid).unwrap_or_default();
    let (line, column) = position(text, text.len());
    Error::json("invalid UTF-8").at_position((line, column + 1))
}

fn node_value(node: Node<'_>) -> Result<Value, Error> {
    Ok(match node {
        Node::Null => Value::Null,
        Node::Bool(value) => value.into(),
        Node::Unsigned(integer) => integer.into(),
        Node::Signed(integer) => integer.into(),
        Node::Float(float) => float.into(),
        Node::Str(text) => text.into(),
        Node::Number(number) => Value::Number(number.clone()),
        Node::Json(text) => from_str(text)?,
        Node::Array(elements) => {
            let element = |index| node_value(elements.element(index)).map_err(|error| error.at_index(index));
            Value::Array((0..elements.len()).map(element).collect::<Result<_, _>>()?)
        }
        Node::Object(object) => {
            let mut map = serde_json::Map::new();
            let mut result = Ok(());
            object.members(&mut Members::new(&mut |name, node| match node_value(node) {
                Ok(value) => drop(map.insert(name.to_owned(), value)),
                Err(error) => result = Err(error.at_key(name.to_owned())),
            }));
            result?;
            Value::Object(map)
        }
    })
}

/// Drops a value without recursion, because a deeply nested one could overflow the stack.
fn dismantle(value: Value) {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(elements) => pending.extend(elements),
            Value::Object(members) => pending.extend(members.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}

/// Compares strings in `const` contexts, where `==` does not work.
pub(crate) const fn is_equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}
