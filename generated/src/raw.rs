//! JSON values that are decoded later.

use std::fmt;

use serde::de::DeserializeOwned;

use crate::Error;
use crate::codec::{self, Cursor, Decode, Document, Encode, Node, Place};

/// A JSON value that is decoded later, into a type that is not known yet.
///
/// It keeps its JSON text, and if it was part of a document, its part of the index, so that it is not scanned again.
/// Nothing is lost: members that occur twice are still there, and an error when the value is decoded into a type that
/// knows them. The text is on one line.
///
/// Nesting counts from the root of the document that the value is part of.
#[derive(Clone)]
pub struct RawJson(Repr);

#[derive(Clone)]
enum Repr {
    /// JSON on one line.
    Text(String),
    /// The value of a document that is on one line.
    Indexed(Document<'static>, Place),
}

impl RawJson {
    /// Decodes the value. Lines and columns in errors count from its beginning.
    ///
    /// # Errors
    ///
    /// The value is not a valid `T`.
    pub fn decode<T: Decode>(&self) -> Result<T, Error> {
        match &self.0 {
            Repr::Text(text) => crate::from_str(text),
            Repr::Indexed(document, place) => codec::named(document.at(*place).decode_located()),
        }
    }

    /// Reads the value through a cursor.
    ///
    /// # Errors
    ///
    /// The text is not JSON, which only the text of a type that encodes invalid JSON can be, or it is nested too deep.
    pub fn read<R>(&self, read: impl FnOnce(Cursor<'_>) -> R) -> Result<R, Error> {
        match &self.0 {
            Repr::Indexed(document, place) => Ok(read(document.at(*place))),
            Repr::Text(text) => {
                let document = Document::read(text.as_str())?;
                Ok(read(document.root()))
            }
        }
    }

    /// Decodes the value with serde, into a type that is not generated.
    ///
    /// # Errors
    ///
    /// The value is not a valid `T`.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.read(|json| json.deserialize())?
    }

    /// Finds a part of the value, and returns it in the memory of the whole, with what else was found.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read) does.
    pub fn into_part<R>(self, find: impl FnOnce(Cursor<'_>) -> (R, Option<Place>)) -> Result<(R, Option<Self>), Error> {
        let (document, place) = match self.0 {
            Repr::Indexed(document, place) => (document, place),
            Repr::Text(text) => (Document::read(text)?, Place::ROOT),
        };
        let (found, part) = find(document.at(place));
        Ok((found, part.map(|part| Self::indexed(document, part))))
    }

    /// The JSON text.
    #[must_use]
    pub fn text(&self) -> &str {
        match &self.0 {
            Repr::Text(text) => text,
            Repr::Indexed(document, place) => document.at(*place).slice(),
        }
    }

    /// The JSON text, in the memory that it was read into.
    #[must_use]
    pub fn into_text(self) -> String {
        match self.0 {
            Repr::Text(text) => text,
            Repr::Indexed(document, place) => document.into_text(place),
        }
    }

    /// The same object with one more member, before the others; `None` if the value is no object. Whether there is a
    /// member of this name is not looked at.
    #[must_use]
    pub fn with_member<T: Encode + ?Sized>(&self, name: &str, value: &T) -> Option<Self> {
        let text = self.text();
        let rest = text.trim_start().strip_prefix('{')?;
        let mut bytes = Vec::with_capacity(text.len() + name.len() + 64);
        bytes.push(b'{');
        codec::write(Node::Str(name), &mut bytes);
        bytes.push(b':');
        codec::write(value.encode(), &mut bytes);
        if !rest.trim_start().starts_with('}') {
            bytes.push(b',');
        }
        bytes.extend_from_slice(rest.as_bytes());
        String::from_utf8(bytes).ok().map(Self::from_text)
    }

    /// The value at a place of a document, in the document's memory.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Depth`](crate::ErrorKind::Depth) if the document is nested too deep.
    pub fn within(document: Document<'static>, place: Place) -> Result<Self, Error> {
        document.check_depth()?;
        Ok(Self::indexed(document, place))
    }

    /// JSON text on one line.
    pub(crate) fn from_text(text: String) -> Self {
        Self(Repr::Text(text))
    }

    /// The same for a document that is known not to be nested too deep.
    pub(crate) fn indexed(document: Document<'static>, place: Place) -> Self {
        Self(Repr::Indexed(document.on_one_line(), place))
    }

    pub(crate) fn null() -> Self {
        Self::from_text("null".to_owned())
    }

    /// Whether the value is `null`.
    pub(crate) fn is_null(&self) -> bool {
        self.text() == "null"
    }
}

/// Any JSON text. Line breaks between values become spaces.
impl TryFrom<String> for RawJson {
    type Error = Error;

    /// # Errors
    ///
    /// The text is not JSON, or nested too deep.
    fn try_from(text: String) -> Result<Self, Error> {
        Ok(Self::indexed(Document::read(text)?, Place::ROOT))
    }
}

/// The value's text.
impl<T: Encode + ?Sized> From<&T> for RawJson {
    fn from(value: &T) -> Self {
        Self::from_text(crate::to_string(value))
    }
}

/// As JSON values: numbers by mathematical value, members in any order. Values that cannot be decoded
/// are equal if their text is.
impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        let same = self.read(|a| other.read(|b| a.is_same(b)));
        match same {
            Ok(Ok(same)) => same,
            _ => self.text() == other.text(),
        }
    }
}

/// The JSON text.
impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawJson({self})")
    }
}

impl Decode for RawJson {
    const NAME: &'static str = "JSON value";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        Ok(json.to_raw())
    }
}

impl Encode for RawJson {
    fn encode(&self) -> Node<'_> {
        Node::Json(self.text())
    }
}

crate::codec::serde_impls!(RawJson);
