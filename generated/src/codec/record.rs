//! Documents from other sources than text: serde_json's values, and any serde `Deserializer`.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::{Error, ErrorKind, NotFinite, Number};

use super::index::{Document, Kind, MAX_TEXT, Token};
use super::text::named;
use super::{Decode, MAX_DEPTH, Node, write};

/// Reads one value with a `Deserializer` of any self-describing format.
///
/// # Errors
///
/// Those of the deserializer. An error of the type itself is its message.
pub fn deserialize<'de, T: Decode, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let document = record(deserializer)?;
    named(document.root().decode_located()).map_err(|error| D::Error::custom(error.without_position()))
}

/// Compiled once for each `Deserializer`, and not for each type.
fn record<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Document<'static>, D::Error> {
    let mut recorder = Recorder::default();
    deserializer.deserialize_any(Seed(&mut recorder))?;
    recorder.finish().map_err(D::Error::custom)
}

/// Records a value of serde_json's.
pub(super) fn record_value(value: &Value) -> Result<Document<'static>, Error> {
    let mut recorder = Recorder::default();
    recorder.value(value)?;
    recorder.finish()
}

/// Writes the text of a document, and its index beside it.
struct Recorder {
    text: Vec<u8>,
    tokens: Vec<Token>,
    depth: u32,
}

impl Default for Recorder {
    fn default() -> Self {
        // Enough for most requests, and not worth growing to.
        Self { text: Vec::with_capacity(512), tokens: Vec::with_capacity(64), depth: 0 }
    }
}

impl Recorder {
    fn finish(self) -> Result<Document<'static>, Error> {
        if self.text.len() >= MAX_TEXT {
            return Err(json_error("values of 512 MiB and more are not supported"));
        }
        let text = String::from_utf8(self.text).map_err(|_| json_error("invalid UTF-8"))?;
        Ok(Document { text: Cow::Owned(text), tokens: self.tokens, ..Document::default() })
    }

    fn value(&mut self, value: &Value) -> Result<(), Error> {
        match value {
            Value::Array(elements) => {
                let open = self.open(Kind::Array)?;
                for (index, element) in elements.iter().enumerate() {
                    self.separate();
                    self.value(element).map_err(|error| error.at_index(index))?;
                }
                self.close(open);
            }
            Value::Object(members) => {
                let open = self.open(Kind::Object)?;
                for (name, value) in members {
                    self.name(name);
                    self.value(value).map_err(|error| error.at_key(name.clone()))?;
                }
                self.close(open);
            }
            Value::Number(number) if number.as_f64().is_none() => return Err(out_of_range()),
            scalar => self.scalar(Node::Value(scalar)),
        }
        Ok(())
    }

    /// Adds a string, number, boolean or null.
    fn scalar(&mut self, node: Node<'_>) {
        let start = self.text.len();
        write(node, &mut self.text);
        let written = self.text.get(start..).unwrap_or_default();
        let token = match written.first() {
            Some(b'"') => {
                let kind = if written.contains(&b'\\') { Kind::Escaped } else { Kind::Plain };
                Token::new(kind, start + 1, written.len() - 2)
            }
            Some(b'n') => Token::new(Kind::Null, start, written.len()),
            Some(b't') => Token::new(Kind::True, start, written.len()),
            Some(b'f') => Token::new(Kind::False, start, written.len()),
            _ => Token::new(Kind::Number, start, written.len()),
        };
        self.tokens.push(token);
    }

    fn name(&mut self, name: &str) {
        self.separate();
        self.scalar(Node::Str(name));
        self.text.push(b':');
    }

    /// Begins an array or object. Returns its entry.
    fn open(&mut self, kind: Kind) -> Result<usize, Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::new(ErrorKind::Depth));
        }
        self.tokens.push(Token::new(kind, self.text.len(), 0));
        self.text.push(if kind == Kind::Array { b'[' } else { b'{' });
        Ok(self.tokens.len() - 1)
    }

    /// Writes a comma, unless this is the first element or member.
    fn separate(&mut self) {
        if !matches!(self.text.last(), Some(b'[' | b'{')) {
            self.text.push(b',');
        }
    }

    fn close(&mut self, open: usize) {
        self.depth -= 1;
        let entries = self.tokens.len() + 1 - open;
        if let Some(token) = self.tokens.get_mut(open) {
            self.text.push(if token.kind() == Kind::Array { b']' } else { b'}' });
            *token = Token::new(token.kind(), token.start(), entries);
        }
        self.tokens.push(Token::new(Kind::Null, self.text.len(), 0));
    }
}

/// A number of serde_json's feature `arbitrary_precision` that no double can hold.
#[cold]
fn out_of_range() -> Error {
    json_error("number out of range")
}

#[cold]
fn json_error(message: &str) -> Error {
    Error::new(ErrorKind::Json { message: message.to_owned() })
}

/// Records the value that a deserializer is asked for.
struct Seed<'r>(&'r mut Recorder);

impl Seed<'_> {
    fn scalar<E>(self, node: Node<'_>) -> Result<(), E> {
        self.0.scalar(node);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.scalar(Node::Null)
    }

    fn visit_none<E>(self) -> Result<(), E> {
        self.scalar(Node::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.scalar(Node::Bool(value))
    }

    fn visit_u64<E>(self, integer: u64) -> Result<(), E> {
        self.scalar(Node::Unsigned(integer))
    }

    fn visit_i64<E>(self, integer: i64) -> Result<(), E> {
        self.scalar(Node::Signed(integer))
    }

    fn visit_u128<E: serde::de::Error>(self, integer: u128) -> Result<(), E> {
        match u64::try_from(integer) {
            Ok(integer) => self.visit_u64(integer),
            Err(_) => self.visit_f64(integer as f64),
        }
    }

    fn visit_i128<E: serde::de::Error>(self, integer: i128) -> Result<(), E> {
        match (u64::try_from(integer), i64::try_from(integer)) {
            (Ok(integer), _) => self.visit_u64(integer),
            (_, Ok(integer)) => self.visit_i64(integer),
            _ => self.visit_f64(integer as f64),
        }
    }

    fn visit_f64<E: serde::de::Error>(self, float: f64) -> Result<(), E> {
        if float.is_finite() { self.scalar(Node::Float(float)) } else { Err(E::custom(NotFinite)) }
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.scalar(Node::Str(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let recorder = self.0;
        let open = recorder.open(Kind::Array).map_err(A::Error::custom)?;
        while elements.next_element_seed(Element(recorder))?.is_some() {}
        recorder.close(open);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let recorder = self.0;
        let first = members.next_key::<Cow<'_, str>>()?;
        if first.as_deref() == Some(NUMBER_KEY) && arbitrary_precision() {
            return number(recorder, members);
        }
        let open = recorder.open(Kind::Object).map_err(A::Error::custom)?;
        if let Some(name) = first {
            recorder.name(&name);
            members.next_value_seed(Seed(recorder))?;
            while members.next_key_seed(Name(recorder))?.is_some() {
                members.next_value_seed(Seed(recorder))?;
            }
        }
        recorder.close(open);
        Ok(())
    }
}

/// Records an element, after a comma if it is not the first.
struct Element<'r>(&'r mut Recorder);

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.separate();
        Seed(self.0).deserialize(deserializer)
    }
}

/// Records the name of a member.
struct Name<'r>(&'r mut Recorder);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string as the key")
    }

    fn visit_str<E>(self, name: &str) -> Result<(), E> {
        self.0.name(name);
        Ok(())
    }
}

/// The key of the map that represents a number when serde_json's feature `arbitrary_precision` is enabled.
const NUMBER_KEY: &str = "$serde_json::private::Number";

/// Records the number that such a map represents, or the object if it only looks like one.
fn number<'de, A: MapAccess<'de>>(recorder: &mut Recorder, mut members: A) -> Result<(), A::Error> {
    let (start, first) = (recorder.text.len(), recorder.tokens.len());
    let open = recorder.open(Kind::Object).map_err(A::Error::custom)?;
    recorder.name(NUMBER_KEY);
    let value = recorder.text.len();
    members.next_value_seed(Seed(recorder))?;
    let text = recorder.text.get(value + 1..recorder.text.len() - 1).and_then(|text| std::str::from_utf8(text).ok());
    if let Some(text) = text.filter(|text| text.parse::<serde_json::Number>().is_ok()).map(ToOwned::to_owned) {
        if Number::parse(&text).is_none() {
            return Err(A::Error::custom(out_of_range()));
        }
        recorder.text.truncate(start);
        recorder.tokens.truncate(first);
        recorder.depth -= 1;
        recorder.tokens.push(Token::new(Kind::Number, start, text.len()));
        recorder.text.extend_from_slice(text.as_bytes());
        return Ok(());
    }
    while members.next_key_seed(Name(recorder))?.is_some() {
        members.next_value_seed(Seed(recorder))?;
    }
    recorder.close(open);
    Ok(())
}

/// Whether serde_json's feature `arbitrary_precision` is enabled, by this or another crate.
fn arbitrary_precision() -> bool {
    // Otherwise the number is out of range.
    "1e999".parse::<serde_json::Number>().is_ok()
}
