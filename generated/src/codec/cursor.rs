//! Cursors: single values in an indexed text.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::str::FromStr;

use crate::error::Segment;
use crate::map::order_of_names;
use crate::{Error, ErrorKind, Json, Number};

use super::evaluate::words::json_text;
use super::index::{Document, Kind, Place, Token, position};
use super::scan::{next_backslash, unescape};
use super::{Decode, Literal};

/// One value in a [`Document`], ready to be decoded.
///
/// Copying a cursor is cheap, and reading does not change it. Skipping a value takes constant time, whatever its size.
#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    pub(super) document: &'a Document<'a>,
    at: u32,
    /// Whether this object is the body of a message. Its `jsonrpc` and `id` then belong to the envelope, unless the
    /// type has fields for them.
    pub(super) is_body: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(document: &'a Document<'a>, at: u32) -> Self {
        Self { document, at, is_body: false }
    }

    #[inline(always)]
    pub(super) fn token(self) -> Token {
        self.document.token(self.at)
    }

    #[inline(always)]
    pub(super) fn kind(self) -> Kind {
        self.token().kind()
    }

    #[inline(always)]
    pub(super) fn sibling(self, at: u32) -> Self {
        Self { at, is_body: false, ..self }
    }

    /// Returns the place of the value. [`Document::at`] finds the value again.
    #[must_use]
    pub fn place(self) -> Place {
        Place(self.at)
    }

    pub(crate) fn at(self, place: Place) -> Self {
        self.sibling(place.0)
    }

    /// Returns the number of index entries of the value: one for each value and name, and one for the end of each array
    /// and object.
    pub(crate) fn entries(self) -> usize {
        self.token().entries()
    }

    /// Marks the object as the body of a message, whose version and method are already checked.
    pub(crate) fn body(self) -> Self {
        Self { is_body: true, ..self }
    }

    /// Returns whether the value is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// Returns whether the value is an object.
    #[must_use]
    pub fn is_object(self) -> bool {
        self.kind() == Kind::Object
    }

    /// Returns whether the value is an array.
    #[must_use]
    pub fn is_array(self) -> bool {
        self.kind() == Kind::Array
    }

    /// Returns whether the value is a string.
    #[must_use]
    pub fn is_string(self) -> bool {
        self.kind().is_string()
    }

    /// Returns the JSON type: `null`, `boolean`, `number`, `string`, `array` or `object`.
    #[must_use]
    pub fn type_name(self) -> &'static str {
        match self.kind() {
            Kind::Null => "null",
            Kind::False | Kind::True => "boolean",
            Kind::Number => "number",
            Kind::Plain | Kind::Escaped => "string",
            Kind::Array => "array",
            Kind::Object => "object",
        }
    }

    /// Returns the byte range of the value in the document's text. The range is empty if the document was not read from
    /// text.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        let token = self.token();
        if self.document.is_recorded {
            return 0..0;
        }
        let (start, end) = (token.start(), token.start() + token.length());
        match token.kind() {
            Kind::Null | Kind::False | Kind::True | Kind::Number => start..end,
            Kind::Plain | Kind::Escaped => start - 1..end + 1,
            Kind::Array | Kind::Object => start..self.document.token(self.end()).start(),
        }
    }

    /// Estimates the bytes that the value will take after it is decoded as a generated type, in addition to
    /// [`Document::owned_bytes`]. With this, a program can enforce a limit before decoding: a list of short numbers may
    /// take 30 times as much as its text. Free-form JSON takes about as much as its text, which is the length of
    /// [`range`](Self::range). The tree that [`Json::to_value`](crate::Json::to_value) makes of it may take 90 times as
    /// much.
    #[must_use]
    pub fn decoded_bytes(self) -> usize {
        // This runs for every message, so the sum should be vectorized, which needs 32-bit integers. The sum of a
        // chunk fits, because its strings together are shorter than the text.
        let of_chunk = |tokens: &[Token]| tokens.iter().map(|token| token.decoded_bytes()).sum::<u32>() as usize;
        self.document.tokens_at(self.at).chunks(1 << 10).map(of_chunk).sum()
    }

    /// Returns the JSON text of the value, borrowed if the document was read from text.
    #[must_use]
    pub fn text(self) -> Cow<'a, str> {
        if self.document.is_recorded { Cow::Owned(self.written()) } else { Cow::Borrowed(self.slice()) }
    }

    fn written(self) -> String {
        // This cannot fail, because all names are strings and all floats are finite.
        serde_json::to_string(&self).unwrap_or_default()
    }

    pub(crate) fn slice(self) -> &'a str {
        self.document.text.get(self.range()).unwrap_or_default()
    }

    /// Returns the entry that ends the array or object.
    fn end(self) -> u32 {
        self.at + self.token().length() as u32 - 1
    }

    /// Returns the string, or `None` if the value is not a string. It is borrowed unless it contains escapes.
    #[must_use]
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        let token = self.token();
        match token.kind() {
            Kind::Plain => Some(Cow::Borrowed(self.document.slice(token))),
            Kind::Escaped => Some(Cow::Owned(unescaped(self.document.slice(token)))),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn is_str(self, text: &str) -> bool {
        let token = self.token();
        match token.kind() {
            Kind::Plain => equal(self.document.bytes(token), text.as_bytes()),
            Kind::Escaped => unescaped(self.document.slice(token)) == text,
            _ => false,
        }
    }

    /// Decodes a string.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Type`] if the value is not a string.
    pub fn string(self) -> Result<String, Error> {
        let token = self.token();
        match token.kind() {
            Kind::Plain => Ok(self.document.slice(token).to_owned()),
            Kind::Escaped => Ok(unescaped(self.document.slice(token))),
            _ => Err(self.mismatch("string")),
        }
    }

    /// Decodes a number in any form.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Type`] if the value is not a number.
    pub fn number(self) -> Result<Number, Error> {
        self.as_number().ok_or_else(|| self.mismatch("number"))
    }

    pub(crate) fn as_number(self) -> Option<Number> {
        let token = self.token();
        if token.kind() == Kind::Number { Number::parse(self.document.slice(token)) } else { None }
    }

    pub(crate) fn parse<T: FromStr>(self) -> Option<T> {
        let token = self.token();
        if token.kind() == Kind::Number { self.document.slice(token).parse().ok() } else { None }
    }

    /// Decodes a number with an integral value within these limits.
    #[cold]
    pub(crate) fn integer(self, minimum: i64, maximum: u64) -> Result<i128, Error> {
        let number = self.as_number().filter(Number::is_integer).ok_or_else(|| self.mismatch("integer"))?;
        if number < Number::from(minimum) {
            return Err(self.locate(super::bounds::violation("at least", minimum.into(), number)));
        }
        if number > Number::from(maximum) {
            return Err(self.locate(super::bounds::violation("at most", maximum.into(), number)));
        }
        let integer = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
        integer.ok_or_else(|| self.mismatch("integer"))
    }

    /// Decodes one of the strings in `names` and returns its index.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Type`] if the value is not a string, and [`ErrorKind::Value`] if it is not in `names`.
    pub fn variant(self, names: &[&str]) -> Result<usize, Error> {
        let text = self.as_str().ok_or_else(|| self.mismatch("string"))?;
        variant(&text, names).map_err(|error| self.locate(error))
    }

    /// Decodes one of the values in `literals` and returns its index.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Value`] if the value is not in `literals`.
    pub fn literal(self, literals: &[Literal]) -> Result<usize, Error> {
        literals.iter().position(|literal| literal.is(self)).ok_or_else(|| {
            let expected = literals.iter().map(ToString::to_string).collect();
            self.error(ErrorKind::Value { expected, found: self.describe() })
        })
    }

    /// Returns an iterator over the elements of an array.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Type`] if the value is not an array.
    pub fn elements(self) -> Result<ElementCursors<'a>, Error> {
        match self.kind() {
            Kind::Array => Ok(ElementCursors { next: self.sibling(self.at + 1), end: self.end() }),
            _ => Err(self.mismatch("array")),
        }
    }

    /// Returns an iterator over the members of an object, in document order. A name may occur more than once.
    pub fn members(self) -> Result<MemberCursors<'a>, Error> {
        match self.kind() {
            Kind::Object => Ok(MemberCursors { next: self.sibling(self.at + 1), end: self.end() }),
            _ => Err(self.mismatch("object")),
        }
    }

    /// Returns a member of an object by name, or an element of an array by index. If several members have the name,
    /// returns the last one.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Self> {
        match self.kind() {
            Kind::Object => self.members().ok()?.filter(|(key, _)| key.is_str(name)).last().map(|(_, value)| value),
            Kind::Array => self.elements().ok()?.nth(name.parse().ok()?),
            _ => None,
        }
    }

    /// Compares two JSON values: numbers by mathematical value, members in any order. If a name occurs more than once,
    /// its last member counts.
    pub(crate) fn is_same(self, other: Cursor<'_>) -> bool {
        match (self.kind(), other.kind()) {
            (Kind::Number, Kind::Number) => self.as_number() == other.as_number(),
            (Kind::Plain | Kind::Escaped, Kind::Plain | Kind::Escaped) => self.as_str() == other.as_str(),
            (Kind::Array, Kind::Array) => match (self.elements(), other.elements()) {
                (Ok(ours), Ok(theirs)) => {
                    ours.clone().count() == theirs.clone().count() && ours.zip(theirs).all(|(a, b)| a.is_same(b))
                }
                _ => false,
            },
            (Kind::Object, Kind::Object) => {
                let members = (self.members_by_name(), other.members_by_name());
                let (Ok(ours), Ok(theirs)) = members else { return false };
                ours.len() == theirs.len()
                    && ours.iter().zip(theirs).all(|((a, x), (b, y))| a.order(b) == Ordering::Equal && x.is_same(y))
            }
            (a, b) => a == b,
        }
    }

    /// Equal values in the sense of [`is_same`](Self::is_same) have the same hash.
    pub(crate) fn hash<H: Hasher>(self, state: &mut H) {
        match self.kind() {
            Kind::Number => self.as_number().hash(state),
            Kind::Plain | Kind::Escaped => self.as_str().hash(state),
            Kind::Array => {
                let items = self.elements().into_iter().flatten();
                items.clone().count().hash(state);
                items.for_each(|item| item.hash(state));
            }
            Kind::Object => {
                let members = self.members_by_name().unwrap_or_default();
                (members.len(), "members").hash(state);
                for (name, value) in members {
                    name.hash(state);
                    value.hash(state);
                }
            }
            kind => (kind as u8).hash(state),
        }
    }

    /// Returns the members sorted by name. Of several members with the same name, only the last is kept.
    pub(crate) fn members_by_name(self) -> Result<Vec<(Self, Self)>, Error> {
        let members: Vec<_> = self.members()?.collect();
        let names: Vec<Cow<'_, str>> = members.iter().map(|(name, _)| name.as_str().unwrap_or_default()).collect();
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        Ok(match order_of_names(&names) {
            Some(order) => order.into_iter().filter_map(|index| members.get(index).copied()).collect(),
            None => members,
        })
    }

    /// Returns whether a member with this name belongs to a message's envelope.
    pub(super) fn is_of_envelope(self) -> bool {
        self.is_str("jsonrpc") || self.is_str("id")
    }

    fn order(self, other: Self) -> Ordering {
        self.as_str().unwrap_or_default().cmp(&other.as_str().unwrap_or_default())
    }

    /// Copies the value for decoding it later.
    #[inline]
    #[must_use]
    pub fn to_json(self) -> Json {
        if self.document.is_compact() { Json::from_text(self.slice()) } else { Json::from_text(self.compact_text()) }
    }

    #[cold]
    pub(crate) fn compact_text(self) -> String {
        if self.document.is_recorded { self.written() } else { crate::json::compact(self.slice()) }
    }

    /// Creates an error at this value.
    #[cold]
    #[must_use]
    pub fn error(self, kind: ErrorKind) -> Error {
        self.locate(Error::new(kind))
    }

    /// Adds this location to an error, unless it already has one.
    #[cold]
    #[must_use]
    pub fn locate(self, error: Error) -> Error {
        error.at_token(self.at)
    }

    /// Creates the error for a missing member.
    #[cold]
    #[must_use]
    pub fn missing(self, name: &'static str) -> Error {
        self.locate(Error::missing(name))
    }

    /// Creates the error for a value of the wrong JSON type. `expected` may name several types.
    #[cold]
    #[must_use]
    pub fn mismatch(self, expected: &'static str) -> Error {
        let found = self.describe_type(expected.contains("integer"));
        self.error(ErrorKind::Type { expected: expected.into(), found })
    }

    /// Describes the type of the value for an error. Adds the value if it is a number where an integer is expected.
    #[cold]
    pub(super) fn describe_type(self, is_integer_expected: bool) -> String {
        match self.as_number() {
            Some(number) if is_integer_expected => format!("number {number}"),
            _ => self.type_name().to_owned(),
        }
    }

    /// Describes the value for an error: a scalar as JSON text, and an array or object by its type.
    #[cold]
    pub(crate) fn describe(self) -> String {
        match (self.as_str(), self.kind()) {
            (Some(text), _) => json_text(&text),
            (None, Kind::False) => "false".to_owned(),
            (None, Kind::True) => "true".to_owned(),
            _ => self.as_number().map_or_else(|| self.type_name().to_owned(), |number| number.to_string()),
        }
    }

    /// Decodes the value. Error paths and positions are relative to it.
    pub(crate) fn decode_located<T: Decode>(self) -> Result<T, Error> {
        // `map_err` would move the value.
        match T::decode(self) {
            Ok(value) => Ok(value),
            Err(error) => Err(error.located_from(self)),
        }
    }

    /// Returns the element or member that contains the entry `target`.
    #[cold]
    pub(crate) fn step(self, target: u32) -> Option<(Segment, Self)> {
        if target <= self.at {
            return None;
        }
        let contains = |value: &Self| target < value.at + value.token().entries() as u32;
        if let Ok(mut elements) = self.elements() {
            let index = elements.clone().position(|element| contains(&element))?;
            return elements.nth(index).map(|element| (Segment::Index(index), element));
        }
        let (name, value) = self.members().ok()?.find(|(_, value)| contains(value))?;
        Some((Segment::Key(name.as_str()?.into_owned().into()), value))
    }

    /// Returns the line and column of an entry, relative to the beginning of this value, or to that of the text if this
    /// is the root.
    #[cold]
    pub(crate) fn position_of(self, token: u32) -> (usize, usize) {
        let first = if self.at == 0 { 0 } else { self.range().start };
        let end = self.sibling(token).range().start + 1;
        position(self.document.text.get(first..).unwrap_or_default(), end - first)
    }
}

/// Returns the index of `text` in `names`.
///
/// # Errors
///
/// Returns [`ErrorKind::Value`] if `text` is not in `names`.
pub fn variant(text: &str, names: &[&str]) -> Result<usize, Error> {
    match super::fields::find(names, 0, text.as_bytes()) {
        index if index < names.len() => Ok(index),
        _ => Err(no_variant(names, text)),
    }
}

#[cold]
fn no_variant(names: &[&str], found: &str) -> Error {
    let expected = names.iter().map(|name| json_text(name)).collect();
    Error::new(ErrorKind::Value { expected, found: json_text(found) })
}

/// Compares two strings. Inlined, because names are short, and a call to `memcmp` would take longer than the
/// comparison.
#[inline(always)]
pub(super) fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    // The first and the last chunk may overlap. Together they cover a string of up to two chunks.
    if let (Some(first), Some(other)) = (a.first_chunk::<8>(), b.first_chunk::<8>()) {
        return first == other && a.last_chunk::<8>() == b.last_chunk::<8>() && (a.len() <= 16 || a == b);
    }
    if let (Some(first), Some(other)) = (a.first_chunk::<4>(), b.first_chunk::<4>()) {
        return first == other && a.last_chunk::<4>() == b.last_chunk::<4>();
    }
    a.iter().zip(b).all(|(a, b)| a == b)
}

/// Resolves the escapes in a string's text (without its quotes).
#[inline(never)]
pub(crate) fn unescaped(escaped: &str) -> String {
    let bytes = escaped.as_bytes();
    let mut text = String::with_capacity(bytes.len());
    let mut start = 0;
    loop {
        let backslash = next_backslash(bytes, start);
        text.push_str(escaped.get(start..backslash).unwrap_or_default());
        start = backslash + 2;
        match bytes.get(backslash + 1) {
            None => return text,
            Some(b'n') => text.push('\n'),
            Some(byte @ (b'"' | b'\\' | b'/')) => text.push(char::from(*byte)),
            // The scanner has validated all escapes.
            Some(_) => match unescape(bytes, backslash) {
                Ok((character, end)) => {
                    text.push(character);
                    start = end;
                }
                Err(_) => return text,
            },
        }
    }
}

/// Writes the JSON text.
impl fmt::Debug for Cursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cursor({})", self.text())
    }
}

/// An iterator over the elements of an array.
#[derive(Clone, Debug)]
pub struct ElementCursors<'a> {
    next: Cursor<'a>,
    end: u32,
}

impl<'a> Iterator for ElementCursors<'a> {
    type Item = Cursor<'a>;

    #[inline]
    fn next(&mut self) -> Option<Cursor<'a>> {
        let element = self.next;
        if element.at >= self.end {
            return None;
        }
        self.next.at += element.token().entries() as u32;
        Some(element)
    }
}

/// An iterator over the members of an object, as pairs of a name and a value. Names are strings.
#[derive(Clone, Debug)]
pub struct MemberCursors<'a> {
    next: Cursor<'a>,
    end: u32,
}

impl<'a> Iterator for MemberCursors<'a> {
    type Item = (Cursor<'a>, Cursor<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let name = self.next;
        if name.at >= self.end {
            return None;
        }
        let value = name.sibling(name.at + 1);
        self.next.at = value.at + value.token().entries() as u32;
        Some((name, value))
    }
}
