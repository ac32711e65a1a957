//! JSON values that are decoded later.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde_json::value::RawValue;

use crate::codec::{self, Decode, Encode, Event, Node, Tape, Tree};
use crate::{Error, ErrorKind};

/// A JSON value that is not decoded yet, and so is whatever it is.
///
/// What is read as a part of a message is kept as its tokens, so that the message is read once; what is made from a
/// value or from JSON text is that text. Either way nothing is lost: members that stand twice are still there, and an
/// error when the value is decoded into a type that knows them. Nesting counts from the document's root when the value
/// is read, and from its own when it is decoded.
///
/// The crate's own functions write text as it is; serde's serializers, which may be of any format, get
/// the values that are in it.
#[derive(Clone)]
pub struct RawJson(Repr);

#[derive(Clone)]
enum Repr {
    /// JSON on one line.
    Text(String),
    Tape(Tape),
}

impl RawJson {
    /// A value that `read` finds in a text, if it does, beside what else it says of the text. The value takes over the
    /// text's memory; one that stands elsewhere is copied.
    ///
    /// # Errors
    ///
    /// [`Depth`](ErrorKind::Depth)
    pub fn within<T>(
        text: String,
        read: impl FnOnce(&str) -> (T, Option<&RawValue>),
    ) -> (T, Result<Option<Self>, Error>) {
        let (said, found) = read(&text);
        let Some(found) = found.map(RawValue::get) else { return (said, Ok(None)) };
        let has_lines = match has_lines(found, codec::MAX_DEPTH) {
            Ok(has_lines) => has_lines,
            Err(error) => return (said, Err(error)),
        };
        let start = found.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
        let end = start.saturating_add(found.len());
        let found = match end <= text.len() {
            true => cut(text, start..end),
            false => found.to_owned(),
        };
        (said, Ok(Some(Self::on_one_line(found, has_lines))))
    }

    fn on_one_line(text: String, has_lines: bool) -> Self {
        // Line feeds can only be white space between tokens, and would break up a message on a transport that puts one on
        // each line.
        Self(Repr::Text(if has_lines { text.replace(['\n', '\r'], " ") } else { text }))
    }

    /// Decodes the value. Lines and columns in errors count from its own beginning.
    ///
    /// # Errors
    ///
    /// The value is not a valid `T`.
    pub fn decode<T: Decode>(&self) -> Result<T, Error> {
        match &self.0 {
            Repr::Text(text) => crate::from_str(text),
            Repr::Tape(tape) => codec::named(|slot| tape.replay(slot)),
        }
    }

    /// Decodes the value as [`decode`](Self::decode) does, but moves long strings out of it.
    ///
    /// # Errors
    ///
    /// The value is not a valid `T`.
    pub fn into_decoded<T: Decode>(self) -> Result<T, Error> {
        match self.0 {
            Repr::Text(text) => crate::from_str(&text),
            Repr::Tape(tape) => codec::named(|slot| tape.give(slot)),
        }
    }

    /// The JSON text.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Text(text) => Cow::Borrowed(text),
            Repr::Tape(_) => Cow::Owned(crate::to_string(self)),
        }
    }

    /// The JSON text, which is no copy of that which the value was made from.
    #[must_use]
    pub fn into_text(self) -> String {
        match self.0 {
            Repr::Text(text) => text,
            Repr::Tape(_) => crate::to_string(&self),
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
        String::from_utf8(bytes).ok().map(|text| Self(Repr::Text(text)))
    }

    /// The JSON type in a word.
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.0 {
            Repr::Tape(tape) => tape.type_name(),
            // JSON text says its type by its first character.
            Repr::Text(text) => match text.bytes().next() {
                Some(b'{') => "object",
                Some(b'[') => "array",
                Some(b'"') => "string",
                Some(b't' | b'f') => "boolean",
                Some(b'n') => "null",
                _ => "number",
            },
        }
    }

    /// Writes the value as JSON text.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Repr::Text(text) => {
                out.reserve(text.len() + codec::AFTER);
                out.extend_from_slice(text.as_bytes());
            }
            Repr::Tape(tape) => tape.write(out),
        }
    }

    /// `None` if it is text of which no tree can be made: too deep, or with a number out of range.
    fn tree(&self) -> Option<Tree> {
        self.decode().ok()
    }
}

/// A part of a text, in its memory; of a long text little may be left.
fn cut(mut text: String, part: Range<usize>) -> String {
    text.truncate(part.end);
    text.drain(..part.start);
    text.shrink_to(2 * text.len() + 1024);
    text
}

/// Whether JSON text is on more than one line; an error if more than `limit` arrays and objects stand
/// inside one another in it.
fn has_lines(text: &str, limit: u32) -> Result<bool, Error> {
    let (mut lines, mut openers) = (false, 0);
    // In chunks that a byte can count, and each question by itself: so the compiler asks many bytes at once.
    for chunk in text.as_bytes().chunks(128) {
        // Brackets and braces differ in one bit.
        let opening: u8 = chunk.iter().map(|byte| u8::from(byte | 0x20 == b'{')).sum();
        // No string of JSON has these two inside.
        let ending: u8 = chunk.iter().map(|byte| u8::from(*byte == b'\n' || *byte == b'\r')).sum();
        openers += u32::from(opening);
        lines |= ending > 0;
    }
    if openers > limit && depth(text) > limit {
        return Err(Error::new(ErrorKind::Depth));
    }
    Ok(lines)
}

/// How many arrays and objects stand inside one another in JSON text.
fn depth(text: &str) -> u32 {
    let (mut depth, mut deepest) = (0u32, 0);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Goes to the end of a string that has begun.
fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            // What is escaped, if only by its first character, ends no string.
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
}

/// The text as it is, line feeds between its tokens aside.
impl TryFrom<Box<RawValue>> for RawJson {
    type Error = Error;

    /// # Errors
    ///
    /// [`Depth`](ErrorKind::Depth)
    fn try_from(text: Box<RawValue>) -> Result<Self, Error> {
        let text: Box<str> = text.into();
        let has_lines = has_lines(&text, codec::MAX_DEPTH)?;
        Ok(Self::on_one_line(text.into(), has_lines))
    }
}

/// The value's text.
impl<T: Encode + ?Sized> From<&T> for RawJson {
    fn from(value: &T) -> Self {
        Self(Repr::Text(crate::to_string(value)))
    }
}

/// As JSON values: numbers by mathematical value, members in any order. Values that cannot be decoded
/// are equal if their text is.
impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        match (self.tree(), other.tree()) {
            (Some(a), Some(b)) => a.same(&b),
            (None, None) => crate::to_string(self) == crate::to_string(other),
            _ => false,
        }
    }
}

/// The JSON text.
impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::to_string(self))
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawJson({self})")
    }
}

impl Decode for RawJson {
    const NAME: &'static str = "JSON value";

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        Tape::decode(event).map(|tape| Self(Repr::Tape(tape)))
    }
}

impl Encode for RawJson {
    fn encode(&self) -> Node<'_> {
        Node::Undecoded(self)
    }
}

crate::codec::serde_impls!(RawJson);
