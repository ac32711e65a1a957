//! A serde `Deserializer` for cursors, used by types that are not generated.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::{Error, ErrorKind};

use super::index::Kind;
use super::{Cursor, MemberCursors, Node};

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(ErrorKind::Custom { message: message.to_string() })
    }
}

/// A type with this name asks for JSON text under a key with the same name, as serde_json's `RawValue` does.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

impl<'de> Cursor<'de> {
    /// Decodes the value with serde. Errors have the path and position of the invalid value.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a valid `T`.
    pub fn deserialize<T: de::Deserialize<'de>>(self) -> Result<T, Error> {
        T::deserialize(self).map_err(|error| error.located_from(self))
    }

    /// Visits a number with an integral value, such as `5.0`, as an integer, because JSON Schema regards it as one.
    fn visit_integer<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let number = self.as_number();
        let value = match (number.and_then(|it| it.as_u64()), number.and_then(|it| it.as_i64())) {
            (Some(integer), _) => visitor.visit_u64(integer),
            (None, Some(integer)) => visitor.visit_i64(integer),
            (None, None) => self.visit(visitor),
        };
        value.map_err(|error| self.locate(error))
    }

    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.kind() {
            Kind::Null => visitor.visit_unit(),
            Kind::False => visitor.visit_bool(false),
            Kind::True => visitor.visit_bool(true),
            Kind::Number => match self.number()?.node() {
                Node::Unsigned(integer) => visitor.visit_u64(integer),
                Node::Signed(integer) => visitor.visit_i64(integer),
                Node::Float(float) => visitor.visit_f64(float),
                _ => visitor.visit_unit(),
            },
            Kind::Plain | Kind::Escaped => match self.as_str() {
                Some(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
                text => visitor.visit_string(text.unwrap_or_default().into_owned()),
            },
            // `end` checks that the visitor has read everything.
            Kind::Array => {
                let mut elements = SeqDeserializer::new(self.elements()?);
                let value = visitor.visit_seq(&mut elements)?;
                elements.end().map(|()| value)
            }
            Kind::Object => {
                let mut members = map(self.members()?);
                let value = visitor.visit_map(&mut members)?;
                members.end().map(|()| value)
            }
        }
    }
}

fn map<'de>(
    members: MemberCursors<'de>,
) -> MapDeserializer<'de, impl Iterator<Item = (Name<'de>, Cursor<'de>)>, Error> {
    MapDeserializer::new(members.map(|(name, value)| (Name { name, value }, value)))
}

macro_rules! integers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.visit_integer(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Cursor<'de> {
    type Error = Error;

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit(visitor).map_err(|error| self.locate(error))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        if name == RAW_VALUE {
            return visitor.visit_map(MapDeserializer::new(std::iter::once((RAW_VALUE, self.text()))));
        }
        visitor.visit_newtype_struct(self).map_err(|error| self.locate(error))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let value = match (self.as_str(), self.members()) {
            (Some(variant), _) => visitor.visit_enum(variant.into_deserializer()),
            (None, Ok(members)) if members.clone().count() == 1 => {
                visitor.visit_enum(MapAccessDeserializer::new(map(members)))
            }
            (None, _) => Err(self.mismatch("string or object of one member")),
        };
        value.map_err(|error| self.locate(error))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
    }
}

impl<'de> IntoDeserializer<'de, Error> for Cursor<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// A member's name. Map keys may be numbers or booleans, which are parsed from the name. Errors point to the member's
/// value.
struct Name<'de> {
    name: Cursor<'de>,
    value: Cursor<'de>,
}

impl<'de> IntoDeserializer<'de, Error> for Name<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident: $visit:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.name.as_str().unwrap_or_default().parse() {
                Ok(value) => visitor.$visit(value),
                Err(_) => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Name<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.name.visit(visitor).map_err(|error| self.value.locate(error))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.name.deserialize_enum(name, variants, visitor)
    }

    parsed! {
        deserialize_bool: visit_bool;
        deserialize_i8: visit_i8;
        deserialize_i16: visit_i16;
        deserialize_i32: visit_i32;
        deserialize_i64: visit_i64;
        deserialize_i128: visit_i128;
        deserialize_u8: visit_u8;
        deserialize_u16: visit_u16;
        deserialize_u32: visit_u32;
        deserialize_u64: visit_u64;
        deserialize_u128: visit_u128;
        deserialize_f32: visit_f32;
        deserialize_f64: visit_f64;
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
