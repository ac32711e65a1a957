//! JSON values that keep the order of members. Duplicate keys are rejected.

use std::cmp::Ordering;
use std::fmt;

use indexmap::IndexMap;
use indexmap::map::Entry;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Number;

use crate::error::Error;
use crate::json::pointer::tokens;
use crate::text::visible_json;

/// A JSON value. Objects are equal regardless of member order, numbers if they have the same value (`1 == 1.0`).
#[derive(Clone, Debug)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as serde_json reads it.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object, in document order.
    Object(IndexMap<String, Json>),
}

impl Json {
    /// Parses JSON text. The error has the line and column.
    pub fn parse(text: &str) -> Result<Json, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Parses the contents of a file, with or without a byte order mark. Errors mention `file`.
    ///
    /// # Errors
    /// Returns [`Error::Json`], with line and column.
    pub fn read(file: &str, bytes: &[u8]) -> Result<Json, Error> {
        serde_json::from_slice(without_byte_order_mark(bytes)).map_err(|error| Error::Json {
            file: file.to_owned(),
            line: error.line(),
            column: error.column(),
            why: error.to_string(),
        })
    }

    /// Returns the members, if this is an object.
    pub fn as_object(&self) -> Option<&IndexMap<String, Json>> {
        match self {
            Json::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number, if this is an integer that fits into an `i64`.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Json::Number(number) => i64::try_from(integer(number)?).ok(),
            _ => None,
        }
    }

    /// Returns a member, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.as_object()?.get(key)
    }

    /// Returns the value at a JSON pointer (RFC 6901).
    pub fn pointer(&self, pointer: &str) -> Option<&Json> {
        tokens(pointer).try_fold(self, |here, token| match here {
            Json::Object(members) => members.get(&token),
            Json::Array(items) => items.get(token.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Returns the value at a JSON pointer (RFC 6901) for modification.
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Json> {
        tokens(pointer).try_fold(self, |here, token| match here {
            Json::Object(members) => members.get_mut(&token),
            Json::Array(items) => items.get_mut(token.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Returns a text that is the same for equal values and differs for all others.
    pub fn key(&self) -> String {
        match self {
            Json::Number(number) => match integer(number) {
                Some(value) => value.to_string(),
                None => number.to_string(),
            },
            Json::Array(items) => format!("[{}]", items.iter().map(Json::key).collect::<Vec<_>>().join(",")),
            Json::Object(members) => {
                let mut pairs: Vec<String> = members
                    .iter()
                    .map(|(name, value)| format!("{}:{}", Json::String(name.clone()), value.key()))
                    .collect();
                pairs.sort();
                format!("{{{}}}", pairs.join(","))
            }
            other => other.to_string(),
        }
    }

    /// Returns strings as they are, and other values as JSON.
    pub fn plain(&self) -> String {
        self.as_str().map_or_else(|| self.to_string(), str::to_owned)
    }

    /// Returns the JSON Schema name of the value's type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }

    /// Returns indented JSON with a final newline, the format of vendored files.
    pub fn to_pretty(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("JSON values always serialize");
        text.push('\n');
        visible_json(text)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Null, Json::Null) => true,
            (Json::Bool(a), Json::Bool(b)) => a == b,
            (Json::Number(a), Json::Number(b)) => compare(a, b) == Ordering::Equal,
            (Json::String(a), Json::String(b)) => a == b,
            (Json::Array(a), Json::Array(b)) => a == b,
            (Json::Object(a), Json::Object(b)) => a == b,
            _ => false,
        }
    }
}

/// Strips a UTF-8 byte order mark.
pub fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Compares two JSON numbers exactly.
pub fn compare(a: &Number, b: &Number) -> Ordering {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(a), None) => compare_mixed(a, float(b)),
        (None, Some(b)) => compare_mixed(b, float(a)).reverse(),
        (None, None) => float(a).partial_cmp(&float(b)).unwrap_or(Ordering::Equal),
    }
}

/// Returns the number as an integer if it has no fractional part (`1.0` has none).
pub fn integer(number: &Number) -> Option<i128> {
    if let Some(value) = number.as_i64() {
        return Some(value.into());
    }
    if let Some(value) = number.as_u64() {
        return Some(value.into());
    }
    let value = number.as_f64()?;
    // Larger doubles are integers too, but fit neither `i64` nor `u64`, and compare exactly as floats.
    (value.fract() == 0.0 && value.abs() < 1.2e30).then_some(value as i128)
}

/// Returns whether the number has no fractional part.
pub fn is_integer(number: &Number) -> bool {
    integer(number).is_some() || float(number).fract() == 0.0
}

#[derive(Clone, Copy)]
pub(crate) struct Numeric<'n>(pub(crate) &'n Number);

impl PartialEq for Numeric<'_> {
    fn eq(&self, other: &Self) -> bool {
        compare(self.0, other.0).is_eq()
    }
}

impl PartialOrd for Numeric<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(compare(self.0, other.0))
    }
}

/// Formats like the generated types: `1e300`, not `1e+300`.
impl fmt::Display for Numeric<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_string().replace("e+", "e"))
    }
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

fn compare_mixed(a: i128, b: f64) -> Ordering {
    if b.abs() >= 1.2e30 {
        return if b > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    // `b` has a fraction here, so equality is impossible.
    if a <= b.floor() as i128 { Ordering::Less } else { Ordering::Greater }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tree;

        impl<'de> Visitor<'de> for Tree {
            type Value = Json;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
                Ok(Json::Bool(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
                Ok(Json::Number(value.into()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
                Ok(Json::Number(value.into()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Json, E> {
                Number::from_f64(value).map(Json::Number).ok_or_else(|| E::custom("the number is out of range"))
            }
            fn visit_str<E>(self, value: &str) -> Result<Json, E> {
                Ok(Json::String(value.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = access.next_element()? {
                    items.push(item);
                }
                Ok(Json::Array(items))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
                let mut members = IndexMap::new();
                while let Some(key) = access.next_key::<String>()? {
                    let value = access.next_value()?;
                    match members.entry(key) {
                        Entry::Vacant(entry) => drop(entry.insert(value)),
                        Entry::Occupied(entry) => {
                            return Err(de::Error::custom(format!("duplicate key {:?}", entry.key())));
                        }
                    }
                }
                Ok(Json::Object(members))
            }
        }

        deserializer.deserialize_any(Tree)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Number(value) => value.serialize(serializer),
            Json::String(value) => serializer.serialize_str(value),
            Json::Array(items) => serializer.collect_seq(items),
            Json::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_by_value() {
        let parse = |text: &str| match Json::parse(text) {
            Ok(Json::Number(number)) => number,
            other => panic!("{text}: {other:?}"),
        };
        for (a, b, order) in [
            ("1", "1.0", Ordering::Equal),
            ("9007199254740993", "9007199254740992.0", Ordering::Greater),
            ("-1", "0.5", Ordering::Less),
            ("18446744073709551615", "1e20", Ordering::Less),
            ("-9223372036854775808", "-1e300", Ordering::Greater),
            ("0", "-0.0", Ordering::Equal),
            ("1", "1.5", Ordering::Less),
            ("2", "1.5", Ordering::Greater),
            ("-1", "-1.5", Ordering::Greater),
        ] {
            assert_eq!(compare(&parse(a), &parse(b)), order, "{a} against {b}");
            assert_eq!(compare(&parse(b), &parse(a)), order.reverse(), "{b} against {a}");
        }
    }

    #[test]
    fn rejects_repeated_keys() {
        let error = Json::parse(r#"{"a": 1, "b": {"c": 1, "c": 2}}"#).expect_err("twice");
        assert!(error.to_string().contains("duplicate key \"c\""), "{error}");
    }
}
