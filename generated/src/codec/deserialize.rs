//! A cursor as a serde `Deserializer`, for types that are not generated.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::{Error, ErrorKind};

use super::index::Kind;
use super::{Cursor, ElementCursors, MemberCursors, Node};

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(ErrorKind::Custom { message: message.to_string() })
    }
}

/// The name by which serde_json's `RawValue` asks for JSON text, and the key under which it expects it.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

impl<'de> Cursor<'de> {
    /// Decodes a type with serde. Errors have the path and the position of the value that is wrong.
    ///
    /// # Errors
    ///
    /// The value is not a valid `T`.
    pub fn deserialize<T: de::Deserialize<'de>>(self) -> Result<T, Error> {
        T::deserialize(self).map_err(|error| error.located_from(self))
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
            Kind::Array => visit_elements(self.elements()?, visitor),
            Kind::Object => visit_members(self.members()?, visitor),
        }
    }
}

fn visit_elements<'de, V: Visitor<'de>>(mut elements: ElementCursors<'de>, visitor: V) -> Result<V::Value, Error> {
    let value = visitor.visit_seq(&mut elements)?;
    match elements.next() {
        None => Ok(value),
        Some(element) => Err(element.error(ErrorKind::Custom { message: "unexpected element".to_owned() })),
    }
}

fn visit_members<'de, V: Visitor<'de>>(members: MemberCursors<'de>, visitor: V) -> Result<V::Value, Error> {
    let mut access = MemberAccess { members, value: None };
    let value = visitor.visit_map(&mut access)?;
    match access.members.next() {
        None => Ok(value),
        Some((_, member)) => Err(member.error(ErrorKind::Unexpected)),
    }
}

impl<'de> Deserializer<'de> for Cursor<'de> {
    type Error = Error;

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
        let mut members = self.members();
        let variant = match &mut members {
            Ok(members) => match (members.next(), members.next()) {
                (Some((name, value)), None) => Variant { name, value: Some(value) },
                _ => {
                    return Err(
                        self.error(ErrorKind::Custom { message: "expected an object of one member".to_owned() })
                    );
                }
            },
            Err(_) => Variant { name: self, value: None },
        };
        visitor.visit_enum(variant).map_err(|error| self.locate(error))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier
    }
}

impl<'de> IntoDeserializer<'de, Error> for Cursor<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> de::SeqAccess<'de> for &mut ElementCursors<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.next().map(|element| seed.deserialize(element).map_err(|error| element.locate(error))).transpose()
    }
}

struct MemberAccess<'de> {
    members: MemberCursors<'de>,
    /// Of the member whose name was read last.
    value: Option<Cursor<'de>>,
}

impl<'de> de::MapAccess<'de> for &mut MemberAccess<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.members.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(Name(name)).map(Some).map_err(|error| value.locate(error))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        let Some(value) = self.value.take() else { return Err(de::Error::custom("a value was read before its name")) };
        seed.deserialize(value).map_err(|error| value.locate(error))
    }
}

/// The name of a member, which may stand for a number or a boolean.
struct Name<'de>(Cursor<'de>);

macro_rules! parsed {
    ($($method:ident: $visit:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.as_str().unwrap_or_default().parse() {
                Ok(value) => visitor.$visit(value),
                Err(_) => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Name<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.visit(visitor)
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
        self.0.deserialize_enum(name, variants, visitor)
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

/// A variant of an enum: its name, and its content if it has one.
struct Variant<'de> {
    name: Cursor<'de>,
    value: Option<Cursor<'de>>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        match seed.deserialize(self.name) {
            Ok(variant) => Ok((variant, self)),
            Err(error) => Err(self.value.unwrap_or(self.name).locate(error)),
        }
    }
}

impl<'de> Variant<'de> {
    fn content(&self, expected: &'static str) -> Result<Cursor<'de>, Error> {
        self.value.ok_or_else(|| self.name.mismatch(expected))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.value {
            Some(value) if !value.is_null() => Err(value.mismatch("null")),
            _ => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.content("object with the variant's content")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        visit_elements(self.content("object with the variant's elements")?.elements()?, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.content("object with the variant's members")?.deserialize_any(visitor)
    }
}
