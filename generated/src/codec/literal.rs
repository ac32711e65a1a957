//! Constants of the schema.

use std::fmt;

use serde_json::value::RawValue;

use crate::error::json_text;
use crate::{Error, Number};

use super::{Decode, Encode, Event, Node, Tree, describe};

/// A JSON value that the schema states, in a form that is `const`. Numbers compare mathematically.
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
    /// Another number; finite.
    Float(f64),
    /// A string.
    Str(&'static str),
    /// An array or an object, as JSON text.
    Json(&'static str),
}

impl Literal {
    /// The number, if it is one.
    #[must_use]
    pub fn as_number(&self) -> Option<Number> {
        match *self {
            Self::Integer(integer) => Some(integer.into()),
            Self::Unsigned(integer) => Some(integer.into()),
            Self::Float(float) => float.try_into().ok(),
            _ => None,
        }
    }

    /// Whether the literal is this scalar.
    pub(super) fn is(&self, event: &Event<'_>) -> bool {
        match (self, event) {
            (Self::Null, Event::Null) => true,
            (Self::Bool(a), Event::Bool(b)) => a == b,
            (Self::Str(a), Event::Str(b)) => a == b,
            (Self::Str(a), Event::String(b)) => a == b,
            (Self::Integer(_) | Self::Unsigned(_) | Self::Float(_), event) => {
                event.as_number().is_some_and(|number| self.as_number() == Some(number))
            }
            _ => false,
        }
    }

    /// Whether the literal is this value.
    pub(crate) fn is_tree(&self, tree: &Tree) -> bool {
        match (self, tree) {
            (Self::Null, Tree::Null) => true,
            (Self::Bool(a), Tree::Bool(b)) => a == b,
            (Self::Str(a), Tree::Text(b)) => a == b,
            (Self::Integer(_) | Self::Unsigned(_) | Self::Float(_), Tree::Number(number)) => {
                self.as_number() == Some(*number)
            }
            (Self::Json(text), Tree::Array(_) | Tree::Object(_)) => {
                crate::from_str::<Tree>(text).is_ok_and(|literal| literal.same(tree))
            }
            _ => false,
        }
    }
}

/// Which of the literals the value is; otherwise what it is, in words.
pub(super) fn find(event: Event<'_>, literals: &[Literal]) -> Result<Result<usize, String>, Error> {
    let container = matches!(event, Event::Array(_) | Event::Object(_));
    if !container || !literals.iter().any(|literal| matches!(literal, Literal::Json(_))) {
        let hit = literals.iter().position(|literal| literal.is(&event));
        return Ok(hit.ok_or_else(|| describe(&event)));
    }
    let found = event.type_name();
    let tree = Tree::decode(event)?;
    Ok(literals.iter().position(|literal| literal.is_tree(&tree)).ok_or_else(|| found.to_owned()))
}

impl Encode for Literal {
    fn encode(&self) -> Node<'_> {
        match *self {
            Self::Null => Node::Null,
            Self::Bool(value) => Node::Bool(value),
            Self::Integer(_) | Self::Unsigned(_) | Self::Float(_) => self.as_number().map_or(Node::Null, Number::node),
            Self::Str(text) => Node::Str(text),
            // Text that is no JSON could not be equal to any value either.
            Self::Json(text) => serde_json::from_str::<&RawValue>(text).map_or(Node::Null, Node::Raw),
        }
    }
}

/// As JSON text.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Integer(integer) => integer.fmt(f),
            Self::Unsigned(integer) => integer.fmt(f),
            Self::Float(float) => write!(f, "{float:?}"),
            Self::Str(text) => f.write_str(&json_text(text)),
            Self::Json(text) => f.write_str(text),
        }
    }
}
