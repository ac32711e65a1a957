//! Undecoded JSON values.

use std::fmt;

use serde::de::DeserializeOwned;

use crate::Error;
use crate::codec::{self, Cursor, Decode, Document, Encode, Node, Place};

/// A JSON value that is not decoded yet, for values whose type is known only later.
///
/// It keeps the JSON text, on one line. A value that was part of a document also keeps its part of the index, so that
/// it is not scanned again. Duplicate members are kept; they are an error if the value is decoded into a type that has
/// a field for them.
///
/// Nesting depth counts from the root of the document that contains the value.
#[derive(Clone)]
pub struct RawJson(Repr);

#[derive(Clone)]
enum Repr {
    /// JSON on one line.
    Text(String),
    /// A value in a document without line breaks between values.
    Indexed(Document<'static>, Place),
}

impl RawJson {
    /// Decodes the value. Lines and columns in errors count from the beginning of the value.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a valid `T`.
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
    /// Returns an error if the value is nested too deep, or if the text is not JSON. The latter happens only if the
    /// value was created from a type that encodes invalid JSON.
    pub fn read<R>(&self, read: impl FnOnce(Cursor<'_>) -> R) -> Result<R, Error> {
        match &self.0 {
            Repr::Indexed(document, place) => Ok(read(document.at(*place))),
            Repr::Text(text) => {
                let document = Document::read(text.as_str())?;
                Ok(read(document.root()))
            }
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

    /// Extracts a part of the value, and reuses the memory of the whole value for it. Also returns the other result of
    /// `find`.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`read`](Self::read).
    pub fn into_part<R>(self, find: impl FnOnce(Cursor<'_>) -> (R, Option<Place>)) -> Result<(R, Option<Self>), Error> {
        let (document, place) = match self.0 {
            Repr::Indexed(document, place) => (document, place),
            Repr::Text(text) => (Document::read(text)?, Place::ROOT),
        };
        let (found, part) = find(document.at(place));
        Ok((found, part.map(|part| Self::indexed(document, part))))
    }

    /// Returns the JSON text.
    #[must_use]
    pub fn text(&self) -> &str {
        match &self.0 {
            Repr::Text(text) => text,
            Repr::Indexed(document, place) => document.at(*place).slice(),
        }
    }

    /// Returns the memory that the value owns, in bytes: its text, or the text and the index of the document that it was
    /// part of.
    #[must_use]
    pub fn owned_bytes(&self) -> usize {
        match &self.0 {
            Repr::Text(text) => text.capacity(),
            Repr::Indexed(document, _) => document.owned_bytes(),
        }
    }

    /// Returns the JSON text. Reuses the memory that the text was read into.
    #[must_use]
    pub fn into_text(self) -> String {
        match self.0 {
            Repr::Text(text) => text,
            Repr::Indexed(document, place) => document.into_text(place),
        }
    }

    /// Returns a copy of the object with one more member, before the others, or `None` if the value is not an object.
    /// Does not check whether a member of this name already exists.
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

    /// Extracts the value at a place of a document. Takes over the memory of the document.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Depth`](crate::ErrorKind::Depth) if the document is nested too deep.
    pub fn extract(document: Document<'static>, place: Place) -> Result<Self, Error> {
        document.check_depth()?;
        Ok(Self::indexed(document, place))
    }

    /// Creates a value from JSON text, which must be on one line.
    pub(crate) fn from_text(text: String) -> Self {
        Self(Repr::Text(text))
    }

    /// Like [`extract`](Self::extract), for a document that is known not to be nested too deep.
    pub(crate) fn indexed(document: Document<'static>, place: Place) -> Self {
        Self(Repr::Indexed(document.on_one_line(), place))
    }
}

/// Accepts any JSON text. Line breaks between values become spaces.
impl TryFrom<String> for RawJson {
    type Error = Error;

    /// # Errors
    ///
    /// Returns an error if the text is not JSON, or is nested too deep.
    fn try_from(text: String) -> Result<Self, Error> {
        Ok(Self::indexed(Document::read(text)?, Place::ROOT))
    }
}

/// Encodes the value.
impl<T: Encode + ?Sized> From<&T> for RawJson {
    fn from(value: &T) -> Self {
        Self::from_text(crate::to_string(value))
    }
}

/// Compares JSON values: numbers by mathematical value, members in any order. Values that cannot be read are compared
/// by their text.
impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        let same = self.read(|a| other.read(|b| a.is_same(b)));
        match same {
            Ok(Ok(same)) => same,
            _ => self.text() == other.text(),
        }
    }
}

/// Writes the JSON text.
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

crate::codec::serde_impls!(RawJson);
