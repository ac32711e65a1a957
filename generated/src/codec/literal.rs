//! Constants from schemas.

use std::fmt;

use super::evaluate::words::json_text;
use crate::Number;

use super::index::{Document, Kind};
use super::{Cursor, Encode, Node};

/// A JSON value that can be used in `const` contexts. Numbers compare by mathematical value.
#[derive(Clone, Copy, Debug)]
pub enum Literal {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// An integer that is too large for [`Integer`](Self::Integer).
    Unsigned(u64),
    /// Any other number, which must be finite.
    Float(f64),
    /// A string.
    Str(&'static str),
    /// An array or object, as JSON text.
    Json(&'static str),
}

impl Literal {
    /// Returns the number, or `None` if the literal is not a number.
    #[must_use]
    pub fn as_number(&self) -> Option<Number> {
        match *self {
            Self::Integer(integer) => Some(integer.into()),
            Self::Unsigned(integer) => Some(integer.into()),
            Self::Float(float) => float.try_into().ok(),
            _ => None,
        }
    }

    pub(crate) fn is(&self, json: Cursor<'_>) -> bool {
        match *self {
            Self::Str(text) => json.is_str(text),
            Self::Null => json.is_null(),
            Self::Bool(value) => json.kind() == if value { Kind::True } else { Kind::False },
            Self::Integer(_) | Self::Unsigned(_) | Self::Float(_) => {
                json.as_number().is_some_and(|number| self.as_number() == Some(number))
            }
            Self::Json(text) => {
                matches!(json.kind(), Kind::Array | Kind::Object)
                    && Document::read(text).is_ok_and(|literal| literal.root().is_same(json))
            }
        }
    }
}

impl Encode for Literal {
    fn encode(&self) -> Node<'_> {
        match *self {
            Self::Null => Node::Null,
            Self::Bool(value) => Node::Bool(value),
            Self::Integer(_) | Self::Unsigned(_) | Self::Float(_) => self.as_number().map_or(Node::Null, Number::node),
            Self::Str(text) => Node::Str(text),
            Self::Json(text) => Node::Json(text),
        }
    }
}

/// Writes JSON text and shortens long strings.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Str(text) => f.write_str(&json_text(text)),
            other => f.write_str(&crate::to_string(other)),
        }
    }
}
