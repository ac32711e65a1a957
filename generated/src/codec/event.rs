//! One JSON value on its way from a reader to a slot.

use std::borrow::Cow;

use crate::error::json_text;
use crate::{Error, ErrorKind, Number};

use super::Literal;

/// One JSON value as its reader meets it. Floats are finite.
pub enum Event<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer from 0 up.
    Unsigned(u64),
    /// An integer, as a rule below 0.
    Signed(i64),
    /// Any other number, always finite.
    Float(f64),
    /// A string that belongs to the reader.
    Str(&'a str),
    /// A string that the receiver may keep.
    String(String),
    /// An array; the receiver pulls all elements.
    Array(&'a mut dyn ArrayAccess),
    /// An object; the receiver pulls all members.
    Object(&'a mut dyn ObjectAccess),
}

/// A place for exactly one value.
pub trait Slot {
    /// Receives the value.
    ///
    /// # Errors
    ///
    /// The value does not fit.
    fn put(&mut self, event: Event<'_>) -> Result<(), Error>;
}

/// The elements of an array, in order.
pub trait ArrayAccess {
    /// Gives the next element to `slot`; `false` if there is none.
    ///
    /// # Errors
    ///
    /// The reader's or the slot's; the caller adds the index to its path.
    fn next(&mut self, slot: &mut dyn Slot) -> Result<bool, Error>;
}

/// The members of an object, in order: a key, its value, the next key.
pub trait ObjectAccess {
    /// Shows the next key to `matcher`; `false` if there is none.
    ///
    /// # Errors
    ///
    /// The reader's.
    fn key(&mut self, matcher: &mut dyn FnMut(Cow<'_, str>)) -> Result<bool, Error>;

    /// Gives the value that belongs to the last key to `slot`.
    ///
    /// # Errors
    ///
    /// The reader's or the slot's; the caller adds the key to its path.
    fn value(&mut self, slot: &mut dyn Slot) -> Result<(), Error>;
}

impl Event<'_> {
    /// The string.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Type`] if the value is no string.
    pub fn string(self) -> Result<String, Error> {
        match self {
            Event::Str(text) => Ok(text.to_owned()),
            Event::String(text) => Ok(text),
            other => Err(other.mismatch("string")),
        }
    }

    /// The index in `names` of the string.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Type`] if the value is no string, [`ErrorKind::Value`] if it is none of `names`.
    pub fn variant(self, names: &[&str]) -> Result<usize, Error> {
        let text = match &self {
            Event::Str(text) => text,
            Event::String(text) => text.as_str(),
            other => return Err(other.mismatch("string")),
        };
        names.iter().position(|name| *name == text).ok_or_else(|| no_variant(names, text))
    }

    /// The index in `literals` of the value.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] if the value is none of `literals`.
    pub fn literal(self, literals: &[Literal]) -> Result<usize, Error> {
        super::literal::find(self, literals)?.map_err(|found| {
            let expected = literals.iter().map(ToString::to_string).collect();
            Error::new(ErrorKind::Value { expected, found })
        })
    }

    /// The number, of whatever form.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Type`] if the value is no number.
    pub fn number(self) -> Result<Number, Error> {
        self.as_number().ok_or_else(|| self.mismatch("number"))
    }

    /// A number of integral value from `minimum` to `maximum`, which lie within `i64` and `u64`.
    pub(crate) fn integer(self, minimum: i64, maximum: u64) -> Result<i128, Error> {
        let number = self.as_number().ok_or_else(|| self.mismatch("integer"))?;
        if !number.is_integer() {
            return Err(self.mismatch("integer"));
        }
        if number < Number::from(minimum) {
            return Err(super::bounds::violation("at least", minimum.into(), number));
        }
        if number > Number::from(maximum) {
            return Err(super::bounds::violation("at most", maximum.into(), number));
        }
        let integer = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
        integer.ok_or_else(|| self.mismatch("integer"))
    }

    pub(crate) fn as_number(&self) -> Option<Number> {
        match *self {
            Event::Unsigned(integer) => Some(integer.into()),
            Event::Signed(integer) => Some(integer.into()),
            Event::Float(float) => float.try_into().ok(),
            _ => None,
        }
    }

    /// The error of a receiver that wants `expected` (a JSON type or several, in words) instead.
    #[cold]
    #[must_use]
    pub fn mismatch(&self, expected: &'static str) -> Error {
        let found = match self.as_number() {
            // The type alone would not explain it.
            Some(number) if expected.contains("integer") => format!("number {number}"),
            _ => self.type_name().to_owned(),
        };
        Error::new(ErrorKind::Type { expected: expected.into(), found })
    }

    /// The JSON type in a word.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Event::Null => "null",
            Event::Bool(_) => "boolean",
            Event::Unsigned(_) | Event::Signed(_) | Event::Float(_) => "number",
            Event::Str(_) | Event::String(_) => "string",
            Event::Array(_) => "array",
            Event::Object(_) => "object",
        }
    }
}

#[cold]
fn no_variant(names: &[&str], found: &str) -> Error {
    let expected = names.iter().map(|name| json_text(name)).collect();
    Error::new(ErrorKind::Value { expected, found: json_text(found) })
}

/// The value as an error tells it: JSON text of scalars, the type of others.
#[cold]
pub(crate) fn describe(event: &Event<'_>) -> String {
    match event {
        Event::Bool(value) => value.to_string(),
        Event::Str(text) => json_text(text),
        Event::String(text) => json_text(text),
        other => other.as_number().map_or_else(|| other.type_name().to_owned(), |number| number.to_string()),
    }
}
