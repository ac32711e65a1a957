//! Sets of JSON types.

use std::ops::{BitAnd, BitOr, Sub};

use crate::json::{Json, integer};

/// A set of JSON types. Numbers with and without a fraction are different types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JsonTypes(u8);

impl JsonTypes {
    /// No type.
    pub const NONE: Self = Self(0);
    /// `null`
    pub const NULL: Self = Self(1);
    /// `true` and `false`
    pub const BOOLEAN: Self = Self(1 << 1);
    /// Numbers without a fraction.
    pub const INTEGER: Self = Self(1 << 2);
    /// Numbers with a fraction.
    pub const FRACTION: Self = Self(1 << 3);
    /// Strings.
    pub const STRING: Self = Self(1 << 4);
    /// Arrays.
    pub const ARRAY: Self = Self(1 << 5);
    /// Objects.
    pub const OBJECT: Self = Self(1 << 6);
    /// All numbers.
    pub const NUMBER: Self = Self(Self::INTEGER.0 | Self::FRACTION.0);
    /// All types.
    pub const ALL: Self = Self((1 << 7) - 1);

    const NAMES: [(&'static str, Self); 7] = [
        ("null", Self::NULL),
        ("boolean", Self::BOOLEAN),
        ("integer", Self::INTEGER),
        ("fraction", Self::FRACTION),
        ("string", Self::STRING),
        ("array", Self::ARRAY),
        ("object", Self::OBJECT),
    ];

    /// Returns the type of a value.
    pub fn of(value: &Json) -> Self {
        match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOLEAN,
            Json::Number(number) if integer(number).is_some() => Self::INTEGER,
            Json::Number(_) => Self::FRACTION,
            Json::String(_) => Self::STRING,
            Json::Array(_) => Self::ARRAY,
            Json::Object(_) => Self::OBJECT,
        }
    }

    /// Returns the type with this name in JSON Schema, or [`Self::NONE`].
    pub fn named(name: &str) -> Self {
        match name {
            "number" => Self::NUMBER,
            // JSON Schema does not have this name.
            "fraction" => Self::NONE,
            _ => Self::NAMES.into_iter().find(|(known, _)| *known == name).map_or(Self::NONE, |(_, one)| one),
        }
    }

    /// Returns the types in the set.
    pub fn each(self) -> impl Iterator<Item = Self> {
        Self::NAMES.into_iter().map(|(_, one)| one).filter(move |one| self.intersects(*one))
    }

    /// Returns the names of the types in the set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(_, one)| self.intersects(*one)).map(|(name, _)| name)
    }

    /// Describes the set in a message: `integer or null`.
    pub fn words(self) -> String {
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

    /// Returns whether the set is empty.
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Returns whether the two sets have a type in common.
    pub fn intersects(self, other: Self) -> bool {
        !(self & other).is_empty()
    }

    /// Returns whether every type of the other set is in this one.
    pub fn contains(self, other: Self) -> bool {
        (other - self).is_empty()
    }
}

impl BitOr for JsonTypes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for JsonTypes {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Sub for JsonTypes {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl FromIterator<JsonTypes> for JsonTypes {
    fn from_iter<I: IntoIterator<Item = JsonTypes>>(sets: I) -> Self {
        sets.into_iter().fold(Self::NONE, |all, set| all | set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_one_type() {
        for (text, name) in [
            ("null", "null"),
            ("true", "boolean"),
            ("1.0", "integer"),
            ("1.5", "fraction"),
            ("\"x\"", "string"),
            ("[]", "array"),
            ("{}", "object"),
        ] {
            let types = JsonTypes::of(&Json::parse(text).expect("JSON"));
            assert_eq!(types.names().collect::<Vec<_>>(), [name]);
            assert!(JsonTypes::ALL.contains(types));
        }
        assert_eq!(JsonTypes::ALL.each().collect::<JsonTypes>(), JsonTypes::ALL);
        assert_eq!((JsonTypes::NUMBER - JsonTypes::INTEGER), JsonTypes::FRACTION);
    }
}
