//! Names of JSON types, and the type of a value.

use std::ops::BitOr;

use crate::json::{Json, is_integer};

pub use crate::json::JsonTypes;

/// As in JSON Schema, which has no `fraction` (a number that is not an integer).
const NAMES: [(&str, JsonTypes); 7] = [
    ("null", JsonTypes::NULL),
    ("boolean", JsonTypes::BOOLEAN),
    ("integer", JsonTypes::INTEGER),
    ("fraction", JsonTypes::FRACTION),
    ("string", JsonTypes::STRING),
    ("array", JsonTypes::ARRAY),
    ("object", JsonTypes::OBJECT),
];

impl JsonTypes {
    /// Returns the type of a value, as a set of one.
    pub fn of(value: &Json) -> Self {
        match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOLEAN,
            Json::Number(number) if is_integer(number) => Self::INTEGER,
            Json::Number(_) => Self::FRACTION,
            Json::String(_) => Self::STRING,
            Json::Array(_) => Self::ARRAY,
            Json::Object(_) => Self::OBJECT,
        }
    }

    /// Returns the type with this JSON Schema name, or [`Self::NONE`].
    pub fn named(name: &str) -> Self {
        match name {
            "number" => Self::NUMBER,
            "fraction" => Self::NONE,
            _ => NAMES.into_iter().find(|(known, _)| *known == name).map_or(Self::NONE, |(_, one)| one),
        }
    }

    /// Returns the members of the set, each as a set of one.
    pub fn each(self) -> impl Iterator<Item = Self> {
        NAMES.into_iter().map(|(_, one)| one).filter(move |one| self.intersects(*one))
    }

    /// Returns the names of the types in the set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.into_iter().filter(move |(_, one)| self.intersects(*one)).map(|(name, _)| name)
    }

    /// Returns whether the set is empty.
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Returns whether the two sets have a type in common.
    pub fn intersects(self, other: Self) -> bool {
        !self.intersection(other).is_empty()
    }
}

impl BitOr for JsonTypes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl FromIterator<JsonTypes> for JsonTypes {
    fn from_iter<I: IntoIterator<Item = JsonTypes>>(sets: I) -> Self {
        sets.into_iter().fold(Self::NONE, Self::union)
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
            ("1e300", "integer"),
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
    }
}
