//! Selects the variant of a union by ordered guards, never by trial decoding.

use crate::error::one_of;
use crate::{Error, ErrorKind};

use super::index::Kind;
use super::{Cursor, Literal};

/// Conditions that select a variant of a union. The first guard whose conditions all hold selects its variant. A guard
/// without conditions always matches.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// The conditions.
    pub when: &'static [Condition],
    /// The index of the variant.
    pub variant: usize,
}

/// A condition on an undecoded value.
///
/// The segments of a path are names of members, or decimal indices (`"0"`) of array elements. There is no value at a
/// path that leads through any other kind of value.
#[derive(Clone, Copy, Debug)]
pub enum Condition {
    /// The value has one of these JSON types.
    Type(JsonTypes),
    /// The value at the path is one of these.
    Value(&'static [&'static str], &'static [Literal]),
    /// The path leads to a value.
    Present(&'static [&'static str]),
    /// The path leads to no value.
    Absent(&'static [&'static str]),
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonTypes(u8);

impl JsonTypes {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// `null`
    pub const NULL: Self = Self(1);
    /// `true` and `false`
    pub const BOOLEAN: Self = Self(2);
    /// Numbers with an integral value.
    pub const INTEGER: Self = Self(4);
    /// Other numbers.
    pub const FRACTION: Self = Self(8);
    /// All numbers.
    pub const NUMBER: Self = Self(4 | 8);
    /// Strings.
    pub const STRING: Self = Self(16);
    /// Arrays.
    pub const ARRAY: Self = Self(32);
    /// Objects.
    pub const OBJECT: Self = Self(64);
    /// Every type.
    pub const ANY: Self = Self(u8::MAX);

    /// Returns the union of both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the intersection of both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns whether this set contains all types of `other`.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    fn of(json: Cursor<'_>) -> Self {
        match json.kind() {
            Kind::Null => Self::NULL,
            Kind::False | Kind::True => Self::BOOLEAN,
            Kind::Number if json.as_number().is_some_and(|number| number.is_integer()) => Self::INTEGER,
            Kind::Number => Self::FRACTION,
            Kind::Plain | Kind::Escaped => Self::STRING,
            Kind::Array => Self::ARRAY,
            Kind::Object => Self::OBJECT,
        }
    }

    /// Returns the names of the types, such as `string or array`.
    fn words(self) -> String {
        let number =
            if self.contains(Self::FRACTION) { (Self::FRACTION, "number") } else { (Self::INTEGER, "integer") };
        let names = [
            (Self::NULL, "null"),
            (Self::BOOLEAN, "boolean"),
            number,
            (Self::STRING, "string"),
            (Self::ARRAY, "array"),
            (Self::OBJECT, "object"),
        ];
        let names = names.iter().filter(|(types, _)| self.contains(*types)).map(|(_, name)| *name);
        names.collect::<Vec<_>>().join(" or ")
    }
}

impl<'a> Cursor<'a> {
    /// Checks that the value has one of these JSON types.
    pub(super) fn has_type(self, types: JsonTypes) -> Result<(), Error> {
        if types.contains(JsonTypes::of(self)) {
            return Ok(());
        }
        let expected = types.words();
        let found = self.describe_type(expected.contains("integer"));
        Err(self.error(ErrorKind::Type { expected: expected.into(), found }))
    }

    /// Selects the variant of the value and returns its index.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NoVariant`] if no guard matches.
    pub fn union(self, guards: &[Guard]) -> Result<usize, Error> {
        // Consecutive guards mostly use the same path.
        let mut last: (&[&str], Option<Cursor<'a>>) = (&[], Some(self));
        for guard in guards {
            let matches = guard.when.iter().all(|condition| {
                if condition.path() != last.0 {
                    last = (condition.path(), self.descend(condition.path()));
                }
                condition.holds(last.1)
            });
            if matches {
                return Ok(guard.variant);
            }
        }
        Err(self.refusal(guards))
    }

    fn descend(self, path: &[&str]) -> Option<Self> {
        path.iter().try_fold(self, |value, segment| value.get(segment))
    }

    /// Creates the error of an invalid variant index.
    #[doc(hidden)]
    #[cold]
    #[must_use]
    pub fn no_such_variant(self) -> Error {
        self.no_variant("the index of a variant".to_owned(), None)
    }

    #[cold]
    fn refusal(self, guards: &[Guard]) -> Error {
        let own = JsonTypes::of(self);
        let types = guards.iter().fold(JsonTypes::NONE, |types, guard| types.union(guard.types()));
        if !types.contains(own) {
            return self.no_variant(types.words(), Some(self.describe_type(types.contains(JsonTypes::INTEGER))));
        }
        let possible = guards.iter().filter(|guard| guard.types().contains(own));
        let fails = |condition: &Condition| !condition.holds(self.descend(condition.path()));
        let failed = possible.filter_map(|guard| guard.when.iter().enumerate().find(|(_, condition)| fails(condition)));
        let failed: Vec<_> = failed.collect();
        // Reports the guards whose first failing condition comes last: they are closest to the intended variant.
        let most = failed.iter().map(|(first, _)| *first).max();
        let closest = failed.into_iter().filter(|(first, _)| Some(*first) == most).map(|(_, condition)| condition);
        let closest: Vec<_> = closest.collect();
        self.wrong_value(&closest).unwrap_or_else(|| self.wrong_members(&closest))
    }

    /// Creates the error if the guards expect certain values at a path.
    fn wrong_value(self, failed: &[&'static Condition]) -> Option<Error> {
        let (path, _) = failed.iter().find_map(|condition| condition.value())?;
        let values = failed.iter().filter_map(|condition| condition.value()).filter(|(other, _)| *other == path);
        let mut expected = Vec::new();
        for value in values.flat_map(|(_, any_of)| any_of).map(ToString::to_string) {
            if !expected.contains(&value) {
                expected.push(value);
            }
        }
        let expected = one_of(&expected);
        if let Some(value) = self.descend(path) {
            return Some(value.no_variant(expected, Some(value.describe())));
        }
        let error = Error::new(ErrorKind::NoVariant { expected, found: None });
        let error = path.iter().rev().fold(error, |error, segment| match segment.parse() {
            Ok(index) => error.at_index(index),
            Err(_) => error.at_key(*segment),
        });
        Some(self.locate(error))
    }

    /// Creates the error if the guards expect members to be present or absent.
    fn wrong_members(self, failed: &[&Condition]) -> Error {
        let mut wanted = Vec::new();
        let mut unwanted = Vec::new();
        for condition in failed {
            let (names, path) = match condition {
                Condition::Present(path) => (&mut wanted, path),
                Condition::Absent(path) => (&mut unwanted, path),
                _ => continue,
            };
            let name = format!("`{}`", path.join("."));
            if !names.contains(&name) {
                names.push(name);
            }
        }
        match (wanted.is_empty(), unwanted.is_empty()) {
            (false, _) => self.no_variant(format!("a member {}", or(&wanted)), Some("none".to_owned())),
            (true, false) => self.no_variant(format!("no member {}", or(&unwanted)), Some("one".to_owned())),
            (true, true) => self.no_variant("nothing".to_owned(), Some("a value".to_owned())),
        }
    }

    fn no_variant(self, expected: String, found: Option<String>) -> Error {
        self.error(ErrorKind::NoVariant { expected, found })
    }
}

fn or(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.concat(),
    }
}

impl Condition {
    fn value(&self) -> Option<(&'static [&'static str], &'static [Literal])> {
        match *self {
            Self::Value(path, any_of) => Some((path, any_of)),
            _ => None,
        }
    }

    pub(crate) fn path(&self) -> &'static [&'static str] {
        match *self {
            Self::Type(_) => &[],
            Self::Value(path, _) | Self::Present(path) | Self::Absent(path) => path,
        }
    }

    /// Returns whether the condition holds, given the value at its path.
    fn holds(&self, value: Option<Cursor<'_>>) -> bool {
        match *self {
            Self::Type(types) => value.is_some_and(|value| types.contains(JsonTypes::of(value))),
            Self::Present(_) => value.is_some(),
            Self::Absent(_) => value.is_none(),
            Self::Value(_, any_of) => value.is_some_and(|value| any_of.iter().any(|literal| literal.is(value))),
        }
    }

    /// Returns the JSON types of values that can satisfy the condition.
    fn types(&self) -> JsonTypes {
        match *self {
            Self::Type(types) => types,
            Self::Absent(_) => JsonTypes::ANY,
            Self::Value([], any_of) => {
                any_of.iter().fold(JsonTypes::NONE, |types, literal| types.union(literal.types()))
            }
            Self::Present([]) => JsonTypes::ANY,
            Self::Value([head, ..], _) | Self::Present([head, ..]) => match head.parse::<usize>() {
                Ok(_) => JsonTypes::ARRAY,
                Err(_) => JsonTypes::OBJECT,
            },
        }
    }
}

impl Literal {
    fn types(&self) -> JsonTypes {
        match *self {
            Self::Null => JsonTypes::NULL,
            Self::Bool(_) => JsonTypes::BOOLEAN,
            Self::Integer(_) | Self::Unsigned(_) => JsonTypes::INTEGER,
            Self::Float(float) if float.fract() == 0.0 => JsonTypes::INTEGER,
            Self::Float(_) => JsonTypes::FRACTION,
            Self::Str(_) => JsonTypes::STRING,
            Self::Json(text) if text.trim_start().starts_with('[') => JsonTypes::ARRAY,
            Self::Json(_) => JsonTypes::OBJECT,
        }
    }
}

impl Guard {
    /// Returns the JSON types of values that can satisfy all conditions.
    fn types(&self) -> JsonTypes {
        self.when.iter().fold(JsonTypes::ANY, |types, condition| types.intersection(condition.types()))
    }
}
