//! Evaluates checks and union guards on a document.
//!
//! `checks`, `guards`, `types` and `words` are copies of files in `codegen/schema/src`, so that `mcpgen validate`
//! always agrees with the types, down to the message. This module defines how those files access values: here
//! through an index of the text, there as JSON in memory.

mod checks;
mod guards;
mod types;
pub(crate) mod words;

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::marker::PhantomData;

use super::index::{Document, Kind, Place};
use super::{
    Bound, Bounds, Check, Condition, Cursor, Encode, Guard, Length, Literal, MemberChecks, Pattern, Unevaluated,
};
use crate::{Error, ErrorKind, Number};

pub use types::JsonTypes;

/// A step of a path.
type Name = &'static str;

/// Placeholder for a table of definitions: here, a check refers to each definition by function.
#[derive(Clone, Copy, Default)]
struct Definitions<'c>(PhantomData<&'c Check>);

fn definition<'c>(check: &fn() -> &'static Check, _: Definitions<'c>) -> Option<&'c Check> {
    Some(check())
}

const fn source(pattern: &Pattern) -> &'static str {
    pattern.source()
}

fn as_number(literal: &Literal) -> Option<Number> {
    literal.as_number()
}

fn literal_text(literal: &Literal) -> String {
    literal.to_string()
}

fn literal_types(literal: &Literal) -> JsonTypes {
    match *literal {
        Literal::Null => JsonTypes::NULL,
        Literal::Bool(_) => JsonTypes::BOOLEAN,
        Literal::Integer(_) | Literal::Unsigned(_) => JsonTypes::INTEGER,
        Literal::Float(float) if float.fract() == 0.0 => JsonTypes::INTEGER,
        Literal::Float(_) => JsonTypes::FRACTION,
        Literal::Str(_) => JsonTypes::STRING,
        Literal::Json(text) if text.trim_start().starts_with('[') => JsonTypes::ARRAY,
        Literal::Json(_) => JsonTypes::OBJECT,
    }
}

/// Creates the error for a value that no guard accepts.
fn no_variant(expected: String, found: Option<String>) -> Error {
    Error::new(ErrorKind::NoVariant { expected, found })
}

fn at_segment(error: Error, segment: &Name) -> Error {
    match segment.parse() {
        Ok(index) => error.at_index(index),
        Err(_) => error.at_key(*segment),
    }
}

impl Error {
    /// Returns whether evaluation stopped at a limit, so that it is unknown whether the value is valid.
    fn is_given_up(&self) -> bool {
        matches!(self.kind(), ErrorKind::PatternTooExpensive { .. } | ErrorKind::TooManyChecks)
    }
}

impl Cursor<'_> {
    fn types(self) -> JsonTypes {
        match self.kind() {
            Kind::Null => JsonTypes::NULL,
            Kind::False | Kind::True => JsonTypes::BOOLEAN,
            Kind::Number if self.as_number().is_some_and(|number| number.is_integer()) => JsonTypes::INTEGER,
            Kind::Number => JsonTypes::FRACTION,
            Kind::Plain | Kind::Escaped => JsonTypes::STRING,
            Kind::Array => JsonTypes::ARRAY,
            Kind::Object => JsonTypes::OBJECT,
        }
    }

    fn is_any_of(self, literals: &[Literal]) -> bool {
        literals.iter().any(|literal| literal.is(self))
    }

    fn check_type(self, types: JsonTypes) -> Result<(), Error> {
        if types.contains(self.types()) {
            return Ok(());
        }
        let expected = types.words();
        let found = self.describe_type(expected.contains("integer"));
        Err(self.error(ErrorKind::Type { expected: expected.into(), found }))
    }

    /// Returns the first item that equals an earlier one.
    fn duplicate(self) -> Option<Self> {
        // Compare only items with equal hashes.
        let (state, mut first) = (RandomState::new(), HashMap::<u64, Vec<Self>>::new());
        self.elements().into_iter().flatten().find(|item| {
            let mut hasher = state.build_hasher();
            item.hash(&mut hasher);
            let alike = first.entry(hasher.finish()).or_default();
            let is_known = alike.iter().any(|other| other.is_same(*item));
            alike.push(*item);
            is_known
        })
    }

    fn matches(self, pattern: &Pattern, text: &str) -> Result<bool, Error> {
        pattern.matches_in(self, text)
    }

    /// Returns whether the object is the body of a message, and the member belongs to its envelope.
    fn is_envelope_of(self, name: Cursor<'_>) -> bool {
        self.is_body && name.is_of_envelope()
    }

    #[cold]
    fn violation(self, expected: impl fmt::Display, found: impl fmt::Display) -> Error {
        self.error(ErrorKind::Assertion { message: format!("expected {expected}, found {found}") })
    }

    #[cold]
    fn no_value(self) -> Error {
        self.error(ErrorKind::Uninhabited)
    }

    #[cold]
    fn too_many_checks(self) -> Error {
        self.error(ErrorKind::TooManyChecks)
    }

    #[cold]
    fn unexpected(self) -> Error {
        self.error(ErrorKind::Unexpected)
    }

    /// Creates the error for a member whose name violates a check.
    #[cold]
    fn wrong_name(self, error: &Error) -> Error {
        self.error(match error.kind() {
            kind if error.is_given_up() => kind.clone(),
            kind => ErrorKind::Assertion { message: format!("name: {kind}") },
        })
    }

    /// Creates the error for an invalid variant index.
    #[doc(hidden)]
    #[cold]
    #[must_use]
    pub fn no_such_variant(self) -> Error {
        self.locate(no_variant("the index of a variant".to_owned(), None))
    }
}

impl Number {
    /// Returns the absolute value in decimal.
    fn magnitude(self) -> String {
        match (self.as_u64(), self.as_i64()) {
            (Some(value), _) => value.to_string(),
            (None, Some(value)) => value.unsigned_abs().to_string(),
            (None, None) => self.as_f64().abs().to_string(),
        }
    }
}

impl Bounds {
    /// Checks that `number` is within the bounds.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Bound`] with the violated bound and the number.
    pub fn check_number(&self, number: Number) -> Result<(), Error> {
        let end = |bound: Bound| Some((bound.value.as_number()?, bound.exclusive));
        match words::violated_bound(&number, self.minimum.and_then(end), self.maximum.and_then(end)) {
            Some(expected) => Err(Error::new(ErrorKind::Bound { expected, found: number.to_string() })),
            None => Ok(()),
        }
    }
}

impl Length {
    /// Checks a length. `unit` is a plural for the error message, such as `items`.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Length`] with the violated limit and the length.
    pub fn check_length(&self, length: usize, unit: &str) -> Result<(), Error> {
        let found = length as u64;
        match words::violated_length(found, self.min, self.max, unit) {
            Some(expected) => Err(Error::new(ErrorKind::Length { expected, found })),
            None => Ok(()),
        }
    }
}

impl Check {
    /// Checks a value.
    ///
    /// # Errors
    ///
    /// Returns the first violation, with its place, or [`ErrorKind::PatternTooExpensive`] or
    /// [`ErrorKind::TooManyChecks`].
    pub fn check(&self, json: Cursor<'_>) -> Result<(), Error> {
        self.evaluate(json, Definitions::default())
    }

    /// Checks a value that was not decoded from a document.
    ///
    /// # Errors
    ///
    /// Returns the first violation, with its path.
    pub fn check_value<T: Encode + ?Sized>(&self, value: &T) -> Result<(), Error> {
        let text = crate::to_string(value);
        let document = Document::read(&text)?;
        let root = document.root();
        self.check(root).map_err(|error| error.located_from(root).without_position())
    }
}
