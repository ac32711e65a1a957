//! Free-form JSON objects.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde_json::Value;

use super::reference::keep_last;
use super::{Json, JsonRef};
use crate::codec::{self, Cursor, Decode, DecodeInPlace, Encode, Members, Node, OtherMembers, Unread};
use crate::{Error, ErrorKind};

/// A JSON object with any members, as text.
///
/// All functions of [`Json`] are available. Members keep their order. If a name occurs more than once in the text, the
/// last member counts.
///
/// [`get`](Json::get), [`insert`](Self::insert), [`remove`](Self::remove), [`len`](Self::len) and [`iter`](Self::iter)
/// read the whole text each time. To write many members, collect them into an object. To read many members, decode
/// the object.
///
/// ```
/// use mcpgen_types::JsonObject;
/// use serde_json::json;
///
/// let mut place = JsonObject::from([("city", "Rome".into()), ("at", json!([41.9, 12.5]).into())]);
/// place.insert("country", "Italy");
/// assert_eq!(place.pointer("/at/0").and_then(|at| at.as_f64()), Some(41.9));
/// assert_eq!(place.text(), r#"{"city":"Rome","at":[41.9,12.5],"country":"Italy"}"#);
/// ```
#[derive(Clone, PartialEq)]
pub struct JsonObject(Json);

impl JsonObject {
    /// Creates an object without members.
    #[must_use]
    pub fn new() -> Self {
        Self(Json::from_text("{}"))
    }

    /// Encodes a value with serde. Use this for types that are not generated.
    ///
    /// # Errors
    ///
    /// Returns an error if the value cannot be represented in JSON, or is not an object.
    pub fn serialize<T: serde::Serialize + ?Sized>(value: &T) -> Result<Self, Error> {
        Json::serialize(value)?.try_into()
    }

    /// Returns the number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members().len()
    }

    /// Returns whether there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text().len() <= 2
    }

    /// Returns whether there is a member with this name.
    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns the members in order.
    pub fn iter(&self) -> std::vec::IntoIter<(Cow<'_, str>, JsonRef<'_>)> {
        self.members()
    }

    /// Inserts a member at the end. Returns the previous value of the name.
    pub fn insert(&mut self, name: impl AsRef<str>, value: impl Into<Json>) -> Option<Json> {
        let (name, value) = (name.as_ref(), value.into());
        let previous = self.remove(name);
        push(self.0.text_mut(), |text| {
            codec::write(Node::Str(name), text);
            text.push(b':');
            text.extend_from_slice(value.text().as_bytes());
        });
        previous
    }

    /// Inserts a member at the end, unless there is one with this name.
    pub fn insert_if_absent(&mut self, name: impl AsRef<str>, value: impl Into<Json>) {
        if !self.contains_key(name.as_ref()) {
            self.insert(name, value);
        }
    }

    /// Removes a member and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        let removed = self.get(name)?.to_json();
        *self = Self::of_members(self.members().filter(|(known, _)| known != name));
        Some(removed)
    }

    fn of_members<N: AsRef<str>, V: Encode>(members: impl IntoIterator<Item = (N, V)>) -> Self {
        let mut members: Vec<_> = members.into_iter().collect();
        keep_last(&mut members, |(name, _)| name.as_ref());
        let mut bytes = Vec::new();
        for (name, value) in &members {
            bytes.push(if bytes.is_empty() { b'{' } else { b',' });
            codec::write(Node::Str(name.as_ref()), &mut bytes);
            bytes.push(b':');
            codec::write(value.encode(), &mut bytes);
        }
        if bytes.is_empty() {
            bytes.push(b'{');
        }
        bytes.push(b'}');
        Self(Json::from_utf8(bytes))
    }
}

/// Writes a member at the end of an object's text.
fn push(text: &mut String, write: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::mem::take(text).into_bytes();
    bytes.pop();
    if bytes.len() > 1 {
        bytes.push(b',');
    }
    write(&mut bytes);
    bytes.push(b'}');
    *text = String::from_utf8(bytes).unwrap_or_default();
}

impl Deref for JsonObject {
    type Target = Json;

    fn deref(&self) -> &Json {
        &self.0
    }
}

impl Default for JsonObject {
    fn default() -> Self {
        Self::new()
    }
}

impl Decode for JsonObject {
    const NAME: &'static str = "object";

    #[inline]
    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        Self::check(json)?;
        Ok(Self(json.to_json()))
    }

    fn check(json: Cursor<'_>) -> Result<(), Error> {
        if json.is_object() { Ok(()) } else { Err(json.mismatch("object")) }
    }
}

impl DecodeInPlace for JsonObject {
    fn blank(_: Unread) -> Self {
        Self(Json::blank())
    }

    #[inline]
    fn read(&mut self, json: Cursor<'_>, _: Unread) -> Result<(), Error> {
        codec::set(self, Self::decode(json)?);
        Ok(())
    }
}

impl Encode for JsonObject {
    fn encode(&self) -> Node<'_> {
        self.0.encode()
    }
}

/// The closing brace is missing until `finish`.
impl OtherMembers for JsonObject {
    fn blank(_: Unread) -> Self {
        Self(Json::blank())
    }

    fn add(&mut self, name: Cursor<'_>, value: Cursor<'_>, _: Unread) -> Result<(), Error> {
        let text = self.0.text_mut();
        codec::push_member(text, if text.is_empty() { '{' } else { ',' }, name, value);
        Ok(())
    }

    fn finish(&mut self) {
        let text = self.0.text_mut();
        text.push('}');
        text.shrink_to(text.len() + text.len() / 8);
    }

    fn write(&self, out: &mut Members<'_>) {
        out.members_of(self.as_ref());
    }
}

impl From<JsonObject> for Json {
    fn from(object: JsonObject) -> Self {
        object.0
    }
}

impl From<JsonObject> for Value {
    fn from(object: JsonObject) -> Self {
        object.to_value()
    }
}

impl From<JsonObject> for serde_json::Map<String, Value> {
    fn from(object: JsonObject) -> Self {
        object.decode().unwrap_or_default()
    }
}

impl From<serde_json::Map<String, Value>> for JsonObject {
    fn from(members: serde_json::Map<String, Value>) -> Self {
        Self(Json::from(&members))
    }
}

macro_rules! object_from {
    ($($type:ty),*) => {$(
        /// Fails if the value is not an object.
        impl TryFrom<$type> for JsonObject {
            type Error = Error;

            fn try_from(value: $type) -> Result<Self, Error> {
                Self::of(value.into())
            }
        }
    )*};
}

object_from!(Json, JsonRef<'_>, Value, &Value);

impl JsonObject {
    fn of(json: Json) -> Result<Self, Error> {
        if json.is_object() {
            return Ok(Self(json));
        }
        let found = json.read(|json| json.type_name().to_owned())?;
        Err(Error::new(ErrorKind::Type { expected: "object".into(), found }).with_type_name(Self::NAME))
    }
}

/// If a name occurs more than once, the last member is kept.
impl<N: AsRef<str>> FromIterator<(N, Json)> for JsonObject {
    fn from_iter<I: IntoIterator<Item = (N, Json)>>(members: I) -> Self {
        Self::of_members(members)
    }
}

/// If a name occurs more than once, the last member is kept.
impl<N: AsRef<str>, const COUNT: usize> From<[(N, Json); COUNT]> for JsonObject {
    fn from(members: [(N, Json); COUNT]) -> Self {
        members.into_iter().collect()
    }
}

/// Replaces members with the same names.
impl<N: AsRef<str>> Extend<(N, Json)> for JsonObject {
    fn extend<I: IntoIterator<Item = (N, Json)>>(&mut self, members: I) {
        let old = std::mem::take(self);
        let added: Vec<_> = members.into_iter().collect();
        let added = added.iter().map(|(name, value)| (Cow::Borrowed(name.as_ref()), value.as_ref()));
        *self = Self::of_members(old.members().chain(added));
    }
}

impl<'a> IntoIterator for &'a JsonObject {
    type Item = (Cow<'a, str>, JsonRef<'a>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.members()
    }
}

/// Copies the members.
impl IntoIterator for JsonObject {
    type Item = (String, Json);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        let members = self.members().map(|(name, value)| (name.into_owned(), value.to_json()));
        members.collect::<Vec<_>>().into_iter()
    }
}

impl PartialEq<Value> for JsonObject {
    fn eq(&self, other: &Value) -> bool {
        self.0 == *other
    }
}

impl PartialEq<JsonObject> for Value {
    fn eq(&self, other: &JsonObject) -> bool {
        other.0 == *self
    }
}

impl PartialEq<Json> for JsonObject {
    fn eq(&self, other: &Json) -> bool {
        self.0 == *other
    }
}

/// Writes the JSON text.
impl fmt::Display for JsonObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Writes the JSON text.
impl fmt::Debug for JsonObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

crate::codec::serde_impls!(JsonObject);
