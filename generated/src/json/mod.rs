//! Free-form JSON, as text.

mod object;
mod reference;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::codec::{self, BriefDocument, Cursor, Decode, DecodeInPlace, Document, Encode, Node, Place, Unread};
use crate::{Error, Number};

pub use object::JsonObject;
pub use reference::JsonRef;
pub(crate) use reference::compact;

/// A JSON value of any type, as its text.
///
/// It is the type of everything that the schema leaves open, and of params and results whose type is known only later.
/// No tree is built, so a value takes about as much memory as its text. The text has been checked. The order of members
/// and the spelling of numbers and strings are kept; white space between values is not. Nesting depth counts from the
/// root of the document that the value was part of.
///
/// [`decode`](Self::decode), [`deserialize`](Self::deserialize) and [`read`](Self::read) scan the text once. [`get`],
/// [`pointer`] and the iterators return parts of the text as [`JsonRef`]. Each call reads the text again, so decode
/// the value to read more than a few members.
///
/// If a name occurs more than once in an object, the last member counts. A generated type with a field of that name
/// rejects the object.
///
/// ```
/// use mcpgen_types::Json;
/// use serde_json::json;
///
/// let place = Json::from(json!({ "city": "Rome", "at": [41.9, 12.5] }));
/// assert_eq!(place.get("city").and_then(|city| city.as_str()).as_deref(), Some("Rome"));
/// assert_eq!(place.pointer("/at/0").and_then(|at| at.as_f64()), Some(41.9));
/// assert_eq!(place.to_value()["at"][1], 12.5);
/// ```
///
/// [`get`]: Self::get
/// [`pointer`]: Self::pointer
#[derive(Clone)]
pub struct Json(Repr);

#[derive(Clone)]
enum Repr {
    Text(String),
    /// A value that is still part of its message, so that it need not be scanned again. The box makes a `Json` as small
    /// as a `String`.
    Indexed(Box<(Document<'static>, Place)>),
}

const _: () = assert!(size_of::<Json>() == size_of::<String>());

impl Json {
    /// `null`
    #[must_use]
    pub fn null() -> Self {
        Self::from_text("null")
    }

    /// Checks JSON text, and keeps it without insignificant white space.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not JSON, or is nested too deeply.
    pub fn parse(text: impl Into<String>) -> Result<Self, Error> {
        let document = Document::read(text.into())?;
        Ok(match document.is_compact() {
            true => Self::from_text(document.into_text(Place::ROOT)),
            false => Self::from_text(document.root().compact_text()),
        })
    }

    /// Decodes the value. Lines and columns in errors are relative to the value.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a valid `T`.
    pub fn decode<T: Decode>(&self) -> Result<T, Error> {
        match &self.0 {
            Repr::Text(text) => crate::from_str(text),
            Repr::Indexed(part) => codec::named(part.0.at(part.1).decode_located()),
        }
    }

    /// Checks whether [`decode`](Self::decode) would succeed.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a valid `T`.
    pub fn check<T: Decode>(&self) -> Result<(), Error> {
        let checked = self.read(|json| T::check(json).map_err(|error| error.located_from(json)))?;
        checked.map_err(|error| error.with_type_name(T::NAME).without_position())
    }

    /// Gives access to the value through a cursor.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is nested too deeply or its text is not JSON. The latter happens only if a type
    /// has encoded invalid JSON.
    pub fn read<R>(&self, read: impl FnOnce(Cursor<'_>) -> R) -> Result<R, Error> {
        match &self.0 {
            Repr::Indexed(part) => Ok(read(part.0.at(part.1))),
            Repr::Text(text) => Ok(read(BriefDocument::read(text)?.root())),
        }
    }

    /// Decodes the value with serde. Use this for types that are not generated.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a valid `T`.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.read(|json| json.deserialize())?
    }

    /// Encodes a value with serde. Use this for types that are not generated.
    ///
    /// # Errors
    ///
    /// Returns an error if the value cannot be represented in JSON.
    pub fn serialize<T: serde::Serialize + ?Sized>(value: &T) -> Result<Self, Error> {
        // A `Serialize` impl can write any text.
        Self::parse(serde_json::to_string(value).map_err(|error| Error::json(&error.to_string()))?)
    }

    /// Returns the value as a tree.
    ///
    /// A value that a tree cannot represent becomes `null`. This happens only if a type has encoded invalid JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.as_ref().to_value()
    }

    /// Extracts the part of the value at the place that `find` returns, reusing the memory of the whole. Also returns
    /// the other value from `find`.
    ///
    /// # Errors
    ///
    /// Fails like [`read`](Self::read).
    pub fn into_part<R>(self, find: impl FnOnce(Cursor<'_>) -> (R, Option<Place>)) -> Result<(R, Option<Self>), Error> {
        let mut indexed = match self.0 {
            Repr::Indexed(part) => part,
            Repr::Text(text) => Box::new((Document::read(text)?, Place::ROOT)),
        };
        let (found, part) = find(indexed.0.at(indexed.1));
        let part = part.map(|part| {
            indexed.1 = part;
            match indexed.0.is_compact() {
                true => Self(Repr::Indexed(indexed)),
                false => Self::from_text(indexed.0.at(part).compact_text()),
            }
        });
        Ok((found, part))
    }

    /// Returns the memory that the value owns, in bytes: its text, or the text and index of the message that it is
    /// still part of.
    #[must_use]
    pub fn owned_bytes(&self) -> usize {
        match &self.0 {
            Repr::Text(text) => text.capacity(),
            Repr::Indexed(part) => part.0.owned_bytes(),
        }
    }

    /// Returns the JSON text.
    #[must_use]
    pub fn text(&self) -> &str {
        match &self.0 {
            Repr::Text(text) => text,
            Repr::Indexed(part) => part.0.at(part.1).slice(),
        }
    }

    /// Returns the JSON text, reusing the memory that it was read into.
    #[must_use]
    pub fn into_text(self) -> String {
        match self.0 {
            Repr::Text(text) => text,
            Repr::Indexed(part) => part.0.into_text(part.1),
        }
    }

    /// Returns a copy of the object with an additional first member, or `None` if the value is not an object. Does not
    /// check whether the name already exists.
    #[must_use]
    pub fn with_first_member<T: Encode + ?Sized>(&self, name: &str, value: &T) -> Option<Self> {
        let text = self.text();
        let rest = text.strip_prefix('{')?;
        let mut bytes = Vec::with_capacity(text.len() + name.len() + 64);
        bytes.push(b'{');
        codec::write(Node::Str(name), &mut bytes);
        bytes.push(b':');
        codec::write(value.encode(), &mut bytes);
        if !rest.starts_with('}') {
            bytes.push(b',');
        }
        bytes.extend_from_slice(rest.as_bytes());
        Some(Self::from_utf8(bytes))
    }

    /// Extracts a value from a document, and reuses the memory of the document for it.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Depth`](crate::ErrorKind::Depth) if the document is nested too deeply.
    pub fn extract(document: Document<'static>, place: Place) -> Result<Self, Error> {
        document.check_depth()?;
        Ok(Self::indexed(document, place))
    }

    /// `text` must be JSON without insignificant white space.
    pub(crate) fn from_text(text: impl Into<String>) -> Self {
        Self(Repr::Text(text.into()))
    }

    /// Returns an empty text, which is not valid JSON.
    pub(crate) const fn blank() -> Self {
        Self(Repr::Text(String::new()))
    }

    /// Returns the text, which may then be changed. A value that is still part of a message is copied first.
    fn text_mut(&mut self) -> &mut String {
        if let Repr::Indexed(_) = self.0 {
            *self = Self::from_text(std::mem::replace(self, Self::blank()).into_text());
        }
        match &mut self.0 {
            Repr::Text(text) => text,
            Repr::Indexed(_) => unreachable!("the value was replaced by its text"),
        }
    }

    /// `text` must come from the encoder.
    fn from_utf8(text: Vec<u8>) -> Self {
        String::from_utf8(text).map_or_else(|_| Self::null(), Self::from_text)
    }

    /// Like [`extract`](Self::extract), for a document that is certainly not nested too deeply.
    pub(crate) fn indexed(document: Document<'static>, place: Place) -> Self {
        if document.is_compact() {
            return Self(Repr::Indexed(Box::new((document, place))));
        }
        Self::from_text(document.at(place).compact_text())
    }

    /// Returns a member by name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<JsonRef<'_>> {
        match &self.0 {
            Repr::Text(text) => JsonRef::new(text).get(name),
            Repr::Indexed(part) => part.0.at(part.1).get(name).map(|value| JsonRef::new(value.slice())),
        }
    }

    /// Returns the number of index entries of the value: one for each value and name, and one for the end of each array
    /// and object.
    ///
    /// # Errors
    ///
    /// Fails like [`read`](Self::read).
    pub fn entries(&self) -> Result<usize, Error> {
        self.read(|json| json.entries())
    }

    /// Returns a reference to the value.
    #[must_use]
    pub fn as_ref(&self) -> JsonRef<'_> {
        JsonRef::new(self.text())
    }
}

macro_rules! readers {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        impl Json {
            $($(#[$doc])* pub fn $name(&self, $($arg: $type),*) -> $result {
                self.as_ref().$name($($arg),*)
            })*
        }
    };
}

readers! {
    /// Returns whether the value is `null`.
    #[must_use]
    is_null() -> bool;
    /// Returns whether the value is an array.
    #[must_use]
    is_array() -> bool;
    /// Returns whether the value is an object.
    #[must_use]
    is_object() -> bool;
    /// Returns the boolean, or `None` if the value is not a boolean.
    #[must_use]
    as_bool() -> Option<bool>;
    /// Returns the number, or `None` if the value is not a number.
    #[must_use]
    as_number() -> Option<Number>;
    /// Returns the integer, or `None` if the value is not an integer or is out of range.
    #[must_use]
    as_i64() -> Option<i64>;
    /// Returns the integer, or `None` if the value is not an integer or is out of range.
    #[must_use]
    as_u64() -> Option<u64>;
    /// Returns the nearest double, or `None` if the value is not a number.
    #[must_use]
    as_f64() -> Option<f64>;
    /// Returns the string, or `None` if the value is not a string. It is borrowed unless it contains escapes.
    #[must_use]
    as_str() -> Option<Cow<'_, str>>;
    /// Returns the value at a JSON Pointer such as `/items/0/name`.
    #[must_use]
    pointer(pointer: &str) -> Option<JsonRef<'_>>;
    /// Returns the elements of the array. Empty if the value is not an array.
    elements() -> impl Iterator<Item = JsonRef<'_>> + Clone;
    /// Returns the members of the object in order. Empty if the value is not an object.
    members() -> std::vec::IntoIter<(Cow<'_, str>, JsonRef<'_>)>;
}

/// `null`
impl Default for Json {
    fn default() -> Self {
        Self::null()
    }
}

/// Like [`Json::parse`].
impl FromStr for Json {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

impl Decode for Json {
    const NAME: &'static str = "JSON value";

    #[inline]
    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        Ok(json.to_json())
    }

    fn check(_: Cursor<'_>) -> Result<(), Error> {
        Ok(())
    }
}

impl DecodeInPlace for Json {
    fn blank(_: Unread) -> Self {
        Self::blank()
    }

    #[inline]
    fn read(&mut self, json: Cursor<'_>, _: Unread) -> Result<(), Error> {
        codec::set(self, json.to_json());
        Ok(())
    }
}

impl Encode for Json {
    fn encode(&self) -> Node<'_> {
        Node::Json(self.text())
    }
}

impl<T: Encode + ?Sized> From<&T> for Json {
    fn from(value: &T) -> Self {
        Self::from_text(crate::to_string(value))
    }
}

macro_rules! from_encoded {
    ($($type:ty),*) => {$(
        impl From<$type> for Json {
            fn from(value: $type) -> Self {
                Self::from(&value)
            }
        }
    )*};
}

from_encoded!((), bool, i64, u64, Number, String, Value, serde_json::Map<String, Value>);

macro_rules! from_integers {
    ($($type:ty as $wide:ty),*) => {$(
        impl From<$type> for Json {
            fn from(value: $type) -> Self {
                Self::from(<$wide>::from(value))
            }
        }
    )*};
}

from_integers!(i8 as i64, i16 as i64, i32 as i64, u8 as u64, u16 as u64, u32 as u64);

impl From<usize> for Json {
    fn from(value: usize) -> Self {
        Self::from(value as u64)
    }
}

/// Infinity and NaN become `null`.
impl From<f64> for Json {
    fn from(value: f64) -> Self {
        Number::try_from(value).map_or_else(|_| Self::null(), Self::from)
    }
}

impl From<Cow<'_, str>> for Json {
    fn from(text: Cow<'_, str>) -> Self {
        Self::from(&*text)
    }
}

impl From<JsonRef<'_>> for Json {
    fn from(value: JsonRef<'_>) -> Self {
        Self::from_text(value.text())
    }
}

impl<T: Encode> From<Vec<T>> for Json {
    fn from(elements: Vec<T>) -> Self {
        Self::from(&elements)
    }
}

impl<T: Encode> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        Self::from(&value)
    }
}

impl From<Json> for Value {
    fn from(value: Json) -> Self {
        value.to_value()
    }
}

/// Collects the elements of an array.
impl<T: Into<Json>> FromIterator<T> for Json {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Self::from(elements.into_iter().map(Into::into).collect::<Vec<Json>>())
    }
}

/// Numbers compare by mathematical value, and members in any order. Values that cannot be read compare by their text.
impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        if self.text() == other.text() {
            return true;
        }
        matches!(self.read(|a| other.read(|b| a.is_same(b))), Ok(Ok(true)))
    }
}

impl PartialEq<Value> for Json {
    fn eq(&self, other: &Value) -> bool {
        let other = Self::from(other);
        *self == other
    }
}

impl PartialEq<Json> for Value {
    fn eq(&self, other: &Json) -> bool {
        other == self
    }
}

macro_rules! equals {
    ($($type:ty),*) => {$(
        impl PartialEq<$type> for Json {
            fn eq(&self, other: &$type) -> bool {
                self.as_ref() == *other
            }
        }
    )*};
}

equals!(str, &str, bool, i32, i64, u64, f64);

/// Writes the JSON text.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Writes the JSON text.
impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

crate::codec::serde_impls!(Json);
