//! JSON values that are decoded later.

use std::borrow::Cow;
use std::fmt;

use serde_json::value::RawValue;

use crate::codec::{self, Decode, Encode, Event, Node, Tree};
use crate::{Error, ErrorKind};

/// A JSON value that is not decoded yet, and so is whatever it is.
///
/// Where the document is text it stays text; elsewhere it is kept as a tree. Either way nothing is
/// lost: members that stand twice are still there, and an error when the value is decoded into a type
/// that knows them. Nesting counts from the document's root when the value is read, and from its own
/// when it is decoded.
///
/// The crate's own functions write text as it is; serde's serializers, which may be of any format, get
/// the values that are in it.
#[derive(Clone)]
pub struct RawJson(Repr);

#[derive(Clone)]
enum Repr {
    /// On one line.
    Text(Box<RawValue>),
    Tree(Tree),
}

impl RawJson {
    /// Decodes the value. Lines and columns in errors count from its own beginning.
    ///
    /// # Errors
    ///
    /// The value is not a valid `T`.
    pub fn decode<T: Decode>(&self) -> Result<T, Error> {
        match &self.0 {
            Repr::Text(text) => crate::from_str(text.get()),
            Repr::Tree(tree) => {
                let mut slot = None;
                let put = tree.clone().replay(&mut slot).and_then(|()| codec::filled(slot));
                put.map_err(|error| error.with_type_name(T::NAME))
            }
        }
    }

    /// The JSON text.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Text(text) => Cow::Borrowed(text.get()),
            Repr::Tree(tree) => Cow::Owned(crate::to_string(tree)),
        }
    }

    /// The JSON type in a word.
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.0 {
            Repr::Tree(tree) => tree.type_name(),
            // JSON text says its type by its first character.
            Repr::Text(text) => match text.get().bytes().next() {
                Some(b'{') => "object",
                Some(b'[') => "array",
                Some(b'"') => "string",
                Some(b't' | b'f') => "boolean",
                Some(b'n') => "null",
                _ => "number",
            },
        }
    }

    /// The text, if no more than `depth` arrays and objects stand inside one another in it.
    ///
    /// A line feed inside, which can only be white space between tokens, would break up a message on
    /// a transport that puts one on each line.
    pub(crate) fn from_text(text: Box<RawValue>, depth: u32) -> Result<Self, Error> {
        if !has_lines(text.get(), depth)? {
            return Ok(Self(Repr::Text(text)));
        }
        let line = text.get().replace(['\n', '\r'], " ");
        Ok(Self(Repr::Text(RawValue::from_string(line).unwrap_or(text))))
    }

    pub(crate) fn from_tree(tree: Tree) -> Self {
        Self(Repr::Tree(tree))
    }

    /// `None` if it is text of which no tree can be made: too deep, or with a number out of range.
    fn tree(&self) -> Option<Cow<'_, Tree>> {
        match &self.0 {
            Repr::Text(text) => crate::from_str(text.get()).ok().map(Cow::Owned),
            Repr::Tree(tree) => Some(Cow::Borrowed(tree)),
        }
    }
}

/// Whether JSON text is on more than one line; an error if more than `limit` arrays and objects stand
/// inside one another in it.
fn has_lines(text: &str, limit: u32) -> Result<bool, Error> {
    let (mut depth, mut in_string, mut lines) = (0, false, false);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            // What is escaped, if only by its first character, ends no string.
            b'\\' => drop(bytes.next()),
            _ if in_string => {}
            b'[' | b'{' if depth == limit => return Err(Error::new(ErrorKind::Depth)),
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            b'\n' | b'\r' => lines = true,
            _ => {}
        }
    }
    Ok(lines)
}

/// The text as it is, line feeds between its tokens aside.
impl TryFrom<Box<RawValue>> for RawJson {
    type Error = Error;

    /// # Errors
    ///
    /// [`Depth`](ErrorKind::Depth)
    fn try_from(text: Box<RawValue>) -> Result<Self, Error> {
        Self::from_text(text, codec::MAX_DEPTH)
    }
}

/// The value's text.
impl<T: Encode + ?Sized> From<&T> for RawJson {
    fn from(value: &T) -> Self {
        Self(Repr::Text(codec::to_raw(value.encode())))
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
        Tree::decode(event).map(Self::from_tree)
    }
}

impl Encode for RawJson {
    fn encode(&self) -> Node<'_> {
        match &self.0 {
            Repr::Text(text) => Node::Raw(text),
            Repr::Tree(tree) => tree.encode(),
        }
    }
}

crate::codec::serde_impls!(RawJson);
