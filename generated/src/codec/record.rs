//! Creates documents from sources other than text: serde_json values, and any serde `Deserializer`.

use std::borrow::Cow;
use std::fmt::{self, Write};

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::{Error, ErrorKind, Number};

use super::index::{Document, Kind, MAX_TEXT, Token};
use super::text::named;
use super::{Decode, MAX_DEPTH};

/// Decodes a value from a `Deserializer` of a self-describing format.
///
/// # Errors
///
/// Returns the errors of the deserializer. A decoding error becomes a custom error with its message.
pub fn deserialize<'de, T: Decode, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let document = record(deserializer)?;
    named(document.root().decode_located()).map_err(|error| D::Error::custom(error.without_position()))
}

/// Separate from [`deserialize`], so that it is compiled for each `Deserializer`, but not for each type.
fn record<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Document<'static>, D::Error> {
    let mut recorder = Recorder::default();
    deserializer.deserialize_any(Seed(&mut recorder))?;
    recorder.finish().map_err(D::Error::custom)
}

pub(super) fn record_value(value: &Value) -> Result<Document<'static>, Error> {
    let mut recorder = Recorder::default();
    recorder.value(value)?;
    recorder.finish()
}

/// Builds the index of a document whose text contains only numbers and strings without escapes.
struct Recorder {
    text: String,
    tokens: Vec<Token>,
    depth: u32,
}

impl Default for Recorder {
    fn default() -> Self {
        // This is enough for most requests.
        Self { text: String::with_capacity(512), tokens: Vec::with_capacity(64), depth: 0 }
    }
}

impl Recorder {
    fn finish(self) -> Result<Document<'static>, Error> {
        if self.text.len() >= MAX_TEXT || self.tokens.len() >= MAX_TEXT {
            return Err(Error::json("values of 512 MiB and more are not supported"));
        }
        Ok(Document { text: Cow::Owned(self.text), tokens: self.tokens, is_recorded: true, ..Document::default() })
    }

    fn value(&mut self, value: &Value) -> Result<(), Error> {
        match value {
            Value::Null => self.word(Kind::Null),
            Value::Bool(value) => self.bool(*value),
            Value::Number(number) if number.as_f64().is_none() => return Err(Error::json(OUT_OF_RANGE)),
            Value::Number(number) => self.number(number),
            Value::String(text) => self.string(text),
            Value::Array(elements) => {
                let open = self.open(Kind::Array)?;
                for (index, element) in elements.iter().enumerate() {
                    self.value(element).map_err(|error| error.at_index(index))?;
                }
                self.close(open);
            }
            Value::Object(members) => {
                let open = self.open(Kind::Object)?;
                for (name, value) in members {
                    self.string(name);
                    self.value(value).map_err(|error| error.at_key(name.clone()))?;
                }
                self.close(open);
            }
        }
        Ok(())
    }

    fn word(&mut self, kind: Kind) {
        self.tokens.push(Token::new(kind, self.text.len(), 0));
    }

    fn bool(&mut self, value: bool) {
        self.word(if value { Kind::True } else { Kind::False });
    }

    fn string(&mut self, text: &str) {
        self.tokens.push(Token::new(Kind::Plain, self.text.len(), text.len()));
        self.text.push_str(text);
    }

    fn number(&mut self, number: impl fmt::Display) {
        let start = self.text.len();
        // Writing to a `String` cannot fail.
        let _ = write!(self.text, "{number}");
        self.tokens.push(Token::new(Kind::Number, start, self.text.len() - start));
    }

    /// Begins an array or object. Returns the index of its entry.
    fn open(&mut self, kind: Kind) -> Result<usize, Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::new(ErrorKind::Depth));
        }
        self.word(kind);
        Ok(self.tokens.len() - 1)
    }

    fn close(&mut self, open: usize) {
        self.depth -= 1;
        self.word(Kind::Null);
        let entries = self.tokens.len() - open;
        if let Some(token) = self.tokens.get_mut(open) {
            *token = Token::new(token.kind(), token.start(), entries);
        }
    }

    /// If the object that begins at `open` stands for a number, replaces it with the number.
    fn replace_number(&mut self, open: usize) -> Result<(), Error> {
        let Some([_, name, value, _]) = self.tokens.get(open..) else { return Ok(()) };
        let text = |token: &Token| self.text.get(token.start()..token.start() + token.length()).unwrap_or_default();
        if text(name) != NUMBER_KEY || value.kind() != Kind::Plain || !arbitrary_precision() {
            return Ok(());
        }
        if text(value).parse::<serde_json::Number>().is_err() {
            return Ok(());
        }
        if Number::parse(text(value)).is_none() {
            return Err(Error::json(OUT_OF_RANGE));
        }
        let number = Token::new(Kind::Number, value.start(), value.length());
        self.tokens.splice(open.., [number]);
        Ok(())
    }
}

/// Only serde_json's `arbitrary_precision` feature allows such numbers.
const OUT_OF_RANGE: &str = "number out of range";

struct Seed<'r>(&'r mut Recorder);

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
        self.0.word(Kind::Null);
        Ok(())
    }

    fn visit_none<E>(self) -> Result<(), E> {
        self.0.word(Kind::Null);
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.0.bool(value);
        Ok(())
    }

    fn visit_u64<E>(self, integer: u64) -> Result<(), E> {
        self.0.number(integer);
        Ok(())
    }

    fn visit_i64<E>(self, integer: i64) -> Result<(), E> {
        self.0.number(integer);
        Ok(())
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
        self.0.number(Number::try_from(float).map_err(E::custom)?);
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.string(text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let recorder = self.0;
        let open = recorder.open(Kind::Array).map_err(A::Error::custom)?;
        while elements.next_element_seed(Seed(recorder))?.is_some() {}
        recorder.close(open);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let recorder = self.0;
        let open = recorder.open(Kind::Object).map_err(A::Error::custom)?;
        while members.next_key_seed(Name(recorder))?.is_some() {
            members.next_value_seed(Seed(recorder))?;
        }
        recorder.close(open);
        recorder.replace_number(open).map_err(A::Error::custom)
    }
}

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
        self.0.string(name);
        Ok(())
    }
}

/// With serde_json's `arbitrary_precision` feature, a number is a map with this key.
const NUMBER_KEY: &str = "$serde_json::private::Number";

/// Returns whether this or any other crate enables serde_json's `arbitrary_precision` feature.
fn arbitrary_precision() -> bool {
    // Without the feature, this is out of range.
    "1e999".parse::<serde_json::Number>().is_ok()
}
