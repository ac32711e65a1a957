//! References to parts of JSON text.

use std::borrow::Cow;
use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::codec::{self, Decode, Encode, Node};
use crate::map::order_of_names;
use crate::{Error, Json, Number};

/// A part of a [`Json`].
#[derive(Clone, Copy)]
pub struct JsonRef<'a>(&'a str);

impl<'a> JsonRef<'a> {
    /// `text` must be JSON.
    pub(crate) fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// Returns the JSON text.
    #[must_use]
    pub fn text(self) -> &'a str {
        self.0
    }

    /// Copies the value.
    #[must_use]
    pub fn to_json(self) -> Json {
        self.into()
    }

    /// Returns the value as a tree.
    #[must_use]
    pub fn to_value(self) -> Value {
        self.decode().unwrap_or_default()
    }

    /// Decodes the value. Lines and columns in errors are relative to the value.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a valid `T`.
    pub fn decode<T: Decode>(self) -> Result<T, Error> {
        crate::from_str(self.0)
    }

    /// Decodes the value with serde. Use this for types that are not generated.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a valid `T`.
    pub fn deserialize<T: DeserializeOwned>(self) -> Result<T, Error> {
        codec::BriefDocument::read(self.0)?.root().deserialize()
    }

    fn begins_with(self, byte: u8) -> bool {
        self.0.as_bytes().first() == Some(&byte)
    }

    /// Returns whether the value is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.begins_with(b'n')
    }

    /// Returns whether the value is an array.
    #[must_use]
    pub fn is_array(self) -> bool {
        self.begins_with(b'[')
    }

    /// Returns whether the value is an object.
    #[must_use]
    pub fn is_object(self) -> bool {
        self.begins_with(b'{')
    }

    /// Returns the boolean, or `None` if the value is not a boolean.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        self.0.parse().ok()
    }

    /// Returns the number, or `None` if the value is not a number.
    #[must_use]
    pub fn as_number(self) -> Option<Number> {
        let is_number = self.0.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        if is_number { Number::parse(self.0) } else { None }
    }

    /// Returns the integer, or `None` if the value is not an integer or is out of range.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// Returns the integer, or `None` if the value is not an integer or is out of range.
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// Returns the nearest double, or `None` if the value is not a number.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        Some(self.as_number()?.as_f64())
    }

    /// Returns the string, or `None` if the value is not a string. It is borrowed unless it contains escapes.
    #[must_use]
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        let text = self.0.strip_prefix('"')?.strip_suffix('"')?;
        Some(if text.contains('\\') { codec::unescaped(text).into() } else { text.into() })
    }

    /// Returns a member by name.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Self> {
        self.pairs().filter(|(key, _)| key.is_name(name)).last().map(|(_, value)| value)
    }

    /// Returns the value at a JSON Pointer such as `/items/0/name`.
    #[must_use]
    pub fn pointer(self, pointer: &str) -> Option<Self> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |value, segment| {
            let is_index = value.is_array() && (segment == "0" || !segment.starts_with(['0', '+']));
            match is_index {
                true => value.elements().nth(segment.parse().ok()?),
                false => value.get(&segment.replace("~1", "/").replace("~0", "~")),
            }
        })
    }

    /// Returns the elements of the array. Empty if the value is not an array.
    pub fn elements(self) -> impl Iterator<Item = Self> + Clone {
        Values(self.inside(b'['))
    }

    /// Returns the members of the object in order. Empty if the value is not an object.
    #[must_use]
    pub fn members(self) -> std::vec::IntoIter<(Cow<'a, str>, Self)> {
        let mut members: Vec<_> = self.pairs().filter_map(|(name, value)| Some((name.as_str()?, value))).collect();
        keep_last(&mut members, |(name, _)| name.as_ref());
        members.into_iter()
    }

    /// Returns the names and values of the object, including repeated names.
    pub(crate) fn pairs(self) -> impl Iterator<Item = (Self, Self)> {
        let mut values = Values(self.inside(b'{'));
        std::iter::from_fn(move || Some((values.next()?, values.next()?)))
    }

    fn is_name(self, name: &str) -> bool {
        let text = self.0.get(1..self.0.len().saturating_sub(1)).unwrap_or_default();
        // With escapes, the text is longer than the string that it stands for.
        (text == name && !text.contains('\\'))
            || (text.len() > name.len() && text.contains('\\') && codec::unescaped(text) == name)
    }

    /// Returns the text after the opening bracket, or an empty text if the value does not begin with this bracket.
    pub(crate) fn inside(self, bracket: u8) -> &'a str {
        if self.begins_with(bracket) { self.0.get(1..).unwrap_or_default() } else { "" }
    }
}

/// Removes members whose name occurs again later.
pub(super) fn keep_last<M>(members: &mut Vec<M>, name_of: impl Fn(&M) -> &str) {
    let names: Vec<&str> = members.iter().map(name_of).collect();
    let Some(order) = order_of_names(&names) else { return };
    let mut is_last = vec![false; members.len()];
    order.into_iter().for_each(|index| is_last[index] = true);
    let mut is_last = is_last.into_iter();
    members.retain(|_| is_last.next().unwrap_or(true));
}

/// Iterates over the values after an opening bracket. In an object, names and values alternate.
#[derive(Clone, Copy)]
struct Values<'a>(&'a str);

impl<'a> Iterator for Values<'a> {
    type Item = JsonRef<'a>;

    fn next(&mut self) -> Option<JsonRef<'a>> {
        let is_between = |byte: &u8| matches!(byte, b' ' | b',' | b':');
        let start = self.0.bytes().take_while(is_between).count();
        let text = self.0.get(start..)?;
        let (value, rest) = text.split_at_checked(value_end(text.as_bytes())?)?;
        self.0 = rest;
        Some(JsonRef(value))
    }
}

/// Returns the length of the value at the beginning of the text, or `None` if the array or object ends there.
fn value_end(text: &[u8]) -> Option<usize> {
    let is_after = |byte: &u8| matches!(byte, b',' | b':' | b']' | b'}' | b' ');
    match text.first()? {
        b']' | b'}' => None,
        b'"' => Some(string_end(text)),
        b'[' | b'{' => {
            let (mut depth, mut at) = (0_usize, 0);
            while let Some(byte) = text.get(at) {
                match byte {
                    b'"' => at += string_end(text.get(at..).unwrap_or_default()) - 1,
                    b'[' | b'{' => depth += 1,
                    b']' | b'}' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    break;
                }
            }
            Some(at)
        }
        _ => Some(text.iter().position(is_after).unwrap_or(text.len())),
    }
}

/// Returns the length of the string at the beginning of the text, including its quotes.
fn string_end(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

pub(crate) fn compact(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(quote) = rest.find('"') {
        let (before, string) = rest.split_at(quote);
        out.extend(before.split_ascii_whitespace());
        let (string, after) = string.split_at(string_end(string.as_bytes()));
        out.push_str(string);
        rest = after;
    }
    out.extend(rest.split_ascii_whitespace());
    out.shrink_to(2 * out.len());
    out
}

impl Encode for JsonRef<'_> {
    fn encode(&self) -> Node<'_> {
        Node::Json(self.0)
    }
}

/// Compares like [`Json`].
impl PartialEq for JsonRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.to_json() == other.to_json()
    }
}

impl PartialEq<Value> for JsonRef<'_> {
    fn eq(&self, other: &Value) -> bool {
        self.to_json() == *other
    }
}

macro_rules! reference_equals {
    ($($type:ty: $read:ident;)*) => {$(
        impl PartialEq<$type> for JsonRef<'_> {
            fn eq(&self, other: &$type) -> bool {
                self.$read().is_some_and(|value| value == *other)
            }
        }
    )*};
}

reference_equals! {
    str: as_str;
    &str: as_str;
    bool: as_bool;
    i64: as_i64;
    u64: as_u64;
    f64: as_f64;
}

/// For integer literals without a suffix.
impl PartialEq<i32> for JsonRef<'_> {
    fn eq(&self, other: &i32) -> bool {
        *self == i64::from(*other)
    }
}

/// Writes the JSON text.
impl fmt::Display for JsonRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Writes the JSON text.
impl fmt::Debug for JsonRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl serde::Serialize for JsonRef<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        codec::serialize(self, serializer)
    }
}
