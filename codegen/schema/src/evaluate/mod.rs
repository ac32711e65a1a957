//! Evaluates checks and union guards on a document.
//!
//! `mcpgen generate` copies the [`SHARED`] files into the generated crate (`generated/src/codec/evaluate`), so that
//! generator and generated types always agree, down to the messages. This module gives those files access to JSON in
//! memory. Its counterpart in the generated crate uses an index into the text.

mod checks;
mod guards;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde_json::Number;

use crate::check::{Check, Definitions as ByName, MemberChecks, Unevaluated};
use crate::failure::{Failure as Error, Place, describe, describe_type, literal as literal_text};
use crate::guard::{Condition, Guard};
use crate::json::{Json, Json as Literal, Numeric};
use crate::json_types::JsonTypes;
use crate::limits::{Bound, Bounds, Length};
use crate::text::pattern;
use crate::text::words::{self, json_text, one_of, too_many_checks};

/// The files shared with the generated crate: path below `src`, and text.
pub const SHARED: [(&str, &str); 4] = [
    ("evaluate/checks.rs", include_str!("checks.rs")),
    ("evaluate/guards.rs", include_str!("guards.rs")),
    ("json/types.rs", include_str!("../json/types.rs")),
    ("text/words.rs", include_str!("../text/words.rs")),
];

type Name = String;
type Definitions<'c> = &'c ByName;

/// A JSON value or a member name.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'v>(Value<'v>);

#[derive(Clone, Copy, Debug)]
enum Value<'v> {
    Json(&'v Json),
    Name(&'v str),
}

impl<'v> Cursor<'v> {
    fn new(json: &'v Json) -> Self {
        Cursor(Value::Json(json))
    }

    fn place(self) -> Place {
        match self.0 {
            Value::Json(json) => std::ptr::from_ref(json) as usize,
            Value::Name(name) => name.as_ptr() as usize,
        }
    }

    fn types(self) -> JsonTypes {
        match self.0 {
            Value::Json(json) => JsonTypes::of(json),
            Value::Name(_) => JsonTypes::STRING,
        }
    }

    fn is_object(self) -> bool {
        matches!(self.0, Value::Json(Json::Object(_)))
    }

    fn is_array(self) -> bool {
        matches!(self.0, Value::Json(Json::Array(_)))
    }

    fn is_str(self, text: &str) -> bool {
        self.as_str().is_some_and(|own| own == text)
    }

    fn is_any_of(self, literals: &[Literal]) -> bool {
        match self.0 {
            Value::Json(json) => literals.contains(json),
            Value::Name(name) => literals.iter().any(|literal| literal.as_str() == Some(name)),
        }
    }

    fn as_str(self) -> Option<Cow<'v, str>> {
        match self.0 {
            Value::Json(json) => json.as_str().map(Cow::Borrowed),
            Value::Name(name) => Some(Cow::Borrowed(name)),
        }
    }

    fn as_number(self) -> Option<Numeric<'v>> {
        match self.0 {
            Value::Json(Json::Number(number)) => Some(Numeric(number)),
            _ => None,
        }
    }

    fn get(self, name: &str) -> Option<Self> {
        match self.0 {
            Value::Json(Json::Object(members)) => members.get(name).map(Cursor::new),
            Value::Json(Json::Array(items)) => items.get(name.parse::<usize>().ok()?).map(Cursor::new),
            _ => None,
        }
    }

    fn elements(self) -> Result<impl Iterator<Item = Cursor<'v>>, Error> {
        match self.0 {
            Value::Json(Json::Array(items)) => Ok(items.iter().map(Cursor::new)),
            _ => Err(self.mismatch("array")),
        }
    }

    fn members(self) -> Result<impl Iterator<Item = (Cursor<'v>, Cursor<'v>)>, Error> {
        match self.0 {
            Value::Json(Json::Object(members)) => {
                Ok(members.iter().map(|(name, value)| (Cursor(Value::Name(name)), Cursor::new(value))))
            }
            _ => Err(self.mismatch("object")),
        }
    }

    fn members_by_name(self) -> Result<Vec<(Cursor<'v>, Cursor<'v>)>, Error> {
        let mut members: Vec<_> = self.members()?.collect();
        members.sort_by_key(|(name, _)| name.as_str());
        Ok(members)
    }

    fn duplicate(self) -> Option<Self> {
        let Value::Json(Json::Array(items)) = self.0 else { return None };
        let mut seen = HashSet::new();
        items.iter().find(|item| !seen.insert(item.key())).map(Cursor::new)
    }

    fn matches(self, pattern: &str, text: &str) -> Result<bool, Error> {
        matches(pattern, text).map_err(|error| self.locate(error))
    }

    /// There are no message envelopes here.
    fn is_envelope_of(self, _name: Cursor<'_>) -> bool {
        false
    }

    fn literal(self, literals: &[Literal]) -> Result<(), Error> {
        if self.is_any_of(literals) {
            return Ok(());
        }
        let expected: Vec<String> = literals.iter().map(literal_text).collect();
        Err(self.violation(one_of(&expected), self.describe()))
    }

    fn check_type(self, types: JsonTypes) -> Result<(), Error> {
        if types.contains(self.types()) { Ok(()) } else { Err(self.mismatch(&types.words())) }
    }

    fn describe(self) -> String {
        match self.0 {
            Value::Json(json) => describe(json),
            Value::Name(name) => json_text(name),
        }
    }

    fn describe_type(self, is_integer_expected: bool) -> String {
        match self.0 {
            Value::Json(json) => describe_type(json, is_integer_expected),
            Value::Name(_) => "string".to_owned(),
        }
    }

    fn mismatch(self, expected: &str) -> Error {
        self.violation(expected, self.describe_type(expected.contains("integer")))
    }

    fn violation(self, expected: impl fmt::Display, found: impl fmt::Display) -> Error {
        self.locate(Error::expected(expected, found))
    }

    fn no_value(self) -> Error {
        self.locate(Error::new("no value is valid here"))
    }

    fn too_many_checks(self) -> Error {
        self.locate(Error::given_up(too_many_checks()))
    }

    fn unexpected(self) -> Error {
        self.locate(Error::new("unexpected member"))
    }

    fn missing(self, name: &str) -> Error {
        self.locate(Error::new("missing required member").at_key(name))
    }

    fn wrong_name(self, error: &Error) -> Error {
        self.locate(error.clone().in_name())
    }

    fn locate(self, error: Error) -> Error {
        error.at_place(self.place())
    }
}

fn no_variant(expected: String, found: Option<String>) -> Error {
    match found {
        Some(found) => Error::expected(expected, found),
        None => Error::new(format!("missing required member: expected {expected}")),
    }
}

fn at_segment(error: Error, segment: &Name) -> Error {
    match segment.parse() {
        Ok(index) => error.at_index(index),
        Err(_) => error.at_key(segment),
    }
}

fn definition<'c>(name: &str, definitions: Definitions<'c>) -> Option<&'c Check> {
    definitions.get(name)
}

fn source(pattern: &str) -> &str {
    pattern
}

fn literal_types(literal: &Literal) -> JsonTypes {
    JsonTypes::of(literal)
}

/// Returns whether some part of the text matches the pattern.
///
/// # Errors
/// Fails if matching takes too many steps.
pub fn matches(pattern: &str, text: &str) -> Result<bool, Error> {
    pattern::matches(pattern, text).map_err(|_| Error::too_expensive(pattern))
}

fn as_number(number: &Number) -> Option<Numeric<'_>> {
    Some(Numeric(number))
}

impl Numeric<'_> {
    /// Returns the absolute value in decimal.
    fn magnitude(self) -> String {
        match (self.0.as_u64(), self.0.as_i64()) {
            (Some(value), _) => value.to_string(),
            (None, Some(value)) => value.unsigned_abs().to_string(),
            (None, None) => self.0.as_f64().map_or_else(String::new, |value| value.abs().to_string()),
        }
    }
}

impl Bounds {
    fn check_number(&self, number: Numeric<'_>) -> Result<(), Error> {
        fn end(bound: Option<&Bound>) -> Option<(Numeric<'_>, bool)> {
            bound.map(|bound| (Numeric(&bound.value), bound.exclusive))
        }
        match words::violated_bound(&number, end(self.min.as_ref()), end(self.max.as_ref())) {
            Some(expected) => Err(Error::expected(expected, number)),
            None => Ok(()),
        }
    }

    /// Checks that a number is within the bounds.
    ///
    /// # Errors
    /// Returns the violated bound.
    pub fn check(&self, number: &Number) -> Result<(), Error> {
        self.check_number(Numeric(number))
    }
}

impl Length {
    /// Checks a number of characters, items or members. `unit` is a plural.
    ///
    /// # Errors
    /// Returns the violated limit.
    pub fn check_length(&self, found: usize, unit: &str) -> Result<(), Error> {
        match words::violated_length(found as u64, self.min, self.max, unit) {
            Some(expected) => Err(Error::expected(expected, found)),
            None => Ok(()),
        }
    }
}

impl Check {
    /// Returns whether a value passes the check.
    pub fn accepts(&self, value: &Json, definitions: &ByName) -> bool {
        self.evaluate(Cursor::new(value), definitions).is_ok()
    }

    /// Checks a value.
    ///
    /// # Errors
    /// Returns the first violation, with its path.
    pub fn check(&self, value: &Json, definitions: &ByName) -> Result<(), Error> {
        self.evaluate(Cursor::new(value), definitions).map_err(|error| error.located_from(value))
    }
}

/// Returns the index of the variant that a union's guards select for a value.
///
/// # Errors
/// Fails if no guard matches. The message says what the closest guards expect.
pub fn choose(guards: &[Guard], value: &Json) -> Result<usize, Error> {
    Cursor::new(value).union(guards).map_err(|error| error.located_from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_are_exact() {
        let number = |text: &str| text.parse::<Number>().expect("a number");
        for (value, divisor, expected) in [
            ("4.5", "1.5", true),
            ("35", "1.5", false),
            ("0.0075", "0.0001", true),
            ("0.00751", "0.0001", false),
            ("0.3", "0.1", true),
            ("1e300", "3", false),
            ("1e300", "10", true),
            ("12391239123", "1e-8", true),
            ("-7", "7", true),
            ("0", "5", true),
            ("18446744073709551615", "5", true),
            ("1", "2.0", false),
            ("1e308", "0.123456789", false),
            ("1e-300", "1e-301", true),
        ] {
            let check = Check::MultipleOf(number(divisor));
            assert_eq!(check.accepts(&Json::Number(number(value)), &ByName::new()), expected, "{value} of {divisor}");
        }
    }
}
