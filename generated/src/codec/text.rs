//! From and to text, bytes and `serde_json` values.

use std::io::{Read, Write};

use serde_json::Value;

use crate::{Error, ErrorKind, JsonObject};

use super::index::{Document, position};
use super::{Decode, Encode, Members, Node, write};

/// Decodes a JSON text. Nothing but white space may follow the value.
///
/// # Errors
///
/// The text is not JSON, or not a valid `T`.
pub fn from_str<T: Decode>(text: &str) -> Result<T, Error> {
    // Without closures, into which the value would be moved.
    let decoded = match Document::read(text) {
        Ok(document) => document.root().decode_located(),
        Err(error) => Err(error),
    };
    named(decoded)
}

/// Decodes a JSON text in UTF-8. Nothing but white space may follow the value.
///
/// # Errors
///
/// The bytes are not UTF-8, the text is not JSON, or not a valid `T`.
pub fn from_slice<T: Decode>(bytes: &[u8]) -> Result<T, Error> {
    match utf8(bytes) {
        Ok(text) => from_str(text),
        Err(error) => Err(error.with_type_name(T::NAME)),
    }
}

/// Reads to the end, and decodes what was read as [`from_slice`] does.
///
/// # Errors
///
/// The reader's ([`ErrorKind::Io`]), and those of [`from_slice`].
pub fn from_reader<T: Decode>(mut reader: impl Read) -> Result<T, Error> {
    let mut bytes = Vec::new();
    match reader.read_to_end(&mut bytes) {
        Ok(_) => from_slice(&bytes),
        Err(error) => Err(Error::io(&error).with_type_name(T::NAME)),
    }
}

/// Decodes a value of serde_json's.
///
/// # Errors
///
/// The value is not a valid `T`, or nested more than [`MAX_DEPTH`](crate::codec::MAX_DEPTH) deep.
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
    // Nothing but UTF-8 is written.
    String::from_utf8(to_vec(value)).unwrap_or_default()
}

/// Encodes as JSON text in UTF-8, without white space between tokens.
#[must_use]
pub fn to_vec<T: Encode + ?Sized>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    write(value.encode(), &mut bytes);
    bytes
}

/// Encodes as JSON text in UTF-8, without white space between tokens, to `writer`. Give it a
/// buffered one.
///
/// # Errors
///
/// The writer's ([`ErrorKind::Io`]).
pub fn to_writer<T: Encode + ?Sized>(mut writer: impl Write, value: &T) -> Result<(), Error> {
    writer.write_all(&to_vec(value)).map_err(|error| Error::io(&error))
}

/// Encodes as a value of serde_json's.
///
/// # Errors
///
/// A [`RawJson`](crate::RawJson) inside is text that a `Value` cannot hold: nested too deep, with a number
/// beyond the range of doubles, or with half of a surrogate pair.
pub fn to_value<T: Encode + ?Sized>(value: &T) -> Result<Value, Error> {
    node_value(value.encode())
}

/// The same result, whose error names the type.
pub(crate) fn named<T: Decode>(decoded: Result<T, Error>) -> Result<T, Error> {
    match decoded {
        Ok(value) => Ok(value),
        Err(error) => Err(error.with_type_name(T::NAME)),
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes.get(..error.valid_up_to()).unwrap_or(bytes)))
}

#[cold]
fn not_utf8(valid: &[u8]) -> Error {
    let text = std::str::from_utf8(valid).unwrap_or_default();
    let (line, column) = position(text, text.len());
    Error::new(ErrorKind::Json { message: "invalid UTF-8".to_owned() }).at_position((line, column + 1))
}

fn node_value(node: Node<'_>) -> Result<Value, Error> {
    Ok(match node {
        Node::Null => Value::Null,
        Node::Bool(value) => value.into(),
        Node::Unsigned(integer) => integer.into(),
        Node::Signed(integer) => integer.into(),
        Node::Float(float) => float.into(),
        Node::Str(text) => text.into(),
        Node::Value(value) => value.clone(),
        Node::Json(text) => from_str(text)?,
        Node::Array(elements) => {
            let element = |index| node_value(elements.element(index)).map_err(|error| error.at_index(index));
            Value::Array((0..elements.len()).map(element).collect::<Result<_, _>>()?)
        }
        Node::Object(object) => {
            let mut map = JsonObject::new();
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

/// Drops a value that may be nested too deep for the stack that its own drop would need.
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
