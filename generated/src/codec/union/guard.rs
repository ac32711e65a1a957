//! What can be asked about a value before it is decoded.

use crate::codec::{Event, Literal};

/// If all conditions hold, and no guard before decided, the union's member of this index is
/// responsible. No conditions: otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// All of these hold.
    pub when: &'static [Condition],
    /// The index of the member.
    pub member: usize,
}

/// Something that can be seen of a value without decoding it.
///
/// A path's segments are keys of objects, and in arrays decimal indices (`"0"`). Where a segment
/// meets another kind of value, nothing is there.
#[derive(Clone, Copy, Debug)]
pub enum Condition {
    /// The value is of one of these JSON types.
    Type(JsonTypes),
    /// There is a value at the path, and it is one of these.
    Value {
        /// Where.
        path: &'static [&'static str],
        /// The values.
        any_of: &'static [Literal],
    },
    /// There is a value at the path.
    Present {
        /// Where.
        path: &'static [&'static str],
    },
    /// There is no value at the path.
    Absent {
        /// Where.
        path: &'static [&'static str],
    },
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonTypes(u8);

impl JsonTypes {
    /// No type.
    pub const NONE: Self = Self(0);
    /// `null`
    pub const NULL: Self = Self(1);
    /// `true` and `false`
    pub const BOOLEAN: Self = Self(2);
    /// Numbers of integral value.
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

    /// The types of both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all types of `other` are in this set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) fn of(event: &Event<'_>) -> Self {
        match event {
            Event::Null => Self::NULL,
            Event::Bool(_) => Self::BOOLEAN,
            Event::Unsigned(_) | Event::Signed(_) => Self::INTEGER,
            Event::Float(float) if float.fract() == 0.0 => Self::INTEGER,
            Event::Float(_) => Self::FRACTION,
            Event::Str(_) | Event::String(_) => Self::STRING,
            Event::Array(_) => Self::ARRAY,
            Event::Object(_) => Self::OBJECT,
        }
    }

    /// `string or array`
    pub(super) fn words(self) -> String {
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

impl JsonTypes {
    /// Every type.
    pub const ANY: Self = Self(u8::MAX);

    /// The types that are in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl std::ops::BitOr for JsonTypes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl Condition {
    pub(super) fn path(&self) -> &'static [&'static str] {
        match *self {
            Self::Type(_) => &[],
            Self::Value { path, .. } | Self::Present { path } | Self::Absent { path } => path,
        }
    }

    /// The JSON types of which a value can fulfil the condition.
    pub(super) fn types(&self) -> JsonTypes {
        match *self {
            Self::Type(types) => types,
            Self::Absent { .. } => JsonTypes::ANY,
            Self::Value { path: [], any_of } => {
                any_of.iter().fold(JsonTypes::NONE, |types, literal| types | literal.types())
            }
            Self::Present { path: [] } => JsonTypes::ANY,
            Self::Value { path: [head, ..], .. } | Self::Present { path: [head, ..] } => match head.parse::<usize>() {
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
            Self::Float(float) => JsonTypes::of(&Event::Float(float)),
            Self::Str(_) => JsonTypes::STRING,
            Self::Json(text) if text.trim_start().starts_with('[') => JsonTypes::ARRAY,
            Self::Json(_) => JsonTypes::OBJECT,
        }
    }
}

impl Condition {
    pub(super) fn value(&self) -> Option<(&'static [&'static str], &'static [Literal])> {
        match *self {
            Self::Value { path, any_of } => Some((path, any_of)),
            _ => None,
        }
    }
}

impl Guard {
    /// The JSON types of which a value can fulfil all conditions.
    pub(super) fn types(&self) -> JsonTypes {
        self.when.iter().fold(JsonTypes::ANY, |types, condition| types.intersection(condition.types()))
    }
}
