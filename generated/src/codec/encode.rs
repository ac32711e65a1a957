//! The [`Encode`] trait, and the JSON values that types encode into.

use serde_json::Value;

use crate::{ErrorCode, ErrorObject, Extra, JsonRef, Never, Number, ResultType};

use super::write::TextMembers;
use super::{Literal, OtherMembers};

/// A type that can be encoded as a JSON value.
pub trait Encode {
    /// Returns the value's JSON representation.
    fn encode(&self) -> Node<'_>;
}

/// A JSON value that is about to be written. It borrows from the encoded type.
#[expect(missing_debug_implementations, reason = "it only exists while a value is written")]
#[derive(Clone, Copy)]
pub enum Node<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An unsigned integer.
    Unsigned(u64),
    /// A signed integer.
    Signed(i64),
    /// A double. Infinity and NaN are written as `null`.
    Float(f64),
    /// A string.
    Str(&'a str),
    /// An array.
    Array(&'a dyn Elements),
    /// An object.
    Object(&'a dyn Object),
    /// A serde_json number, which may have any precision.
    Number(&'a serde_json::Number),
    /// JSON text without insignificant white space.
    Json(&'a str),
}

/// The elements of an array.
pub trait Elements {
    /// Returns the number of elements.
    fn len(&self) -> usize;

    /// Returns whether the array is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the element at `index`, which must be less than [`len`](Self::len).
    fn element(&self, index: usize) -> Node<'_>;
}

/// The members of an object.
pub trait Object {
    /// Passes each member to `out` once.
    fn members(&self, out: &mut Members<'_>);
}

/// Receives the members of an [`Object`].
#[expect(missing_debug_implementations, reason = "it only exists while a value is written")]
pub struct Members<'a> {
    pub(super) sink: Sink<'a>,
    /// Whether the object is the body of a message, whose `jsonrpc` and `id` have been written with the envelope.
    is_body: bool,
}

pub(super) enum Sink<'a> {
    /// The common case. A direct call is faster than one through `Any`.
    Text(TextMembers<'a>),
    Any(&'a mut dyn FnMut(&str, Node<'_>)),
}

impl<'a> Members<'a> {
    /// Creates a receiver that passes each member to `sink`.
    pub fn new(sink: &'a mut dyn FnMut(&str, Node<'_>)) -> Self {
        Self { sink: Sink::Any(sink), is_body: false }
    }

    pub(super) fn of_text(members: TextMembers<'a>) -> Self {
        Self { sink: Sink::Text(members), is_body: false }
    }

    /// Writes a required member.
    #[inline(never)]
    pub fn member<T: Encode + ?Sized>(&mut self, name: &str, value: &T) {
        self.node(name, value.encode());
    }

    /// Writes an optional member if it is present.
    #[inline(never)]
    pub fn optional<T: Encode>(&mut self, name: &str, value: &Option<T>) {
        if let Some(value) = value {
            self.node(name, value.encode());
        }
    }

    /// Writes a member with a constant value.
    #[inline]
    pub fn constant(&mut self, name: &str, value: Literal) {
        match value {
            // This is usually decided at compile time.
            Literal::Str(text) => self.node(name, Node::Str(text)),
            other => self.node(name, other.encode()),
        }
    }

    /// Writes the members that have no field.
    pub fn extra<T, M: OtherMembers>(&mut self, extra: &Extra<T, M>) {
        if let Some(members) = extra.members() {
            members.write(self);
        }
    }

    #[inline(never)]
    pub(crate) fn members_of(&mut self, object: JsonRef<'_>) {
        match &mut self.sink {
            Sink::Text(members) if !self.is_body => members.members_of(object),
            _ => {
                for (name, value) in object.pairs() {
                    self.node(&name.as_str().unwrap_or_default(), value.encode());
                }
            }
        }
    }

    /// Writes a member whose value is already encoded.
    #[inline(never)]
    pub fn node(&mut self, name: &str, node: Node<'_>) {
        if self.is_body && (name == "jsonrpc" || name == "id") {
            return;
        }
        match &mut self.sink {
            Sink::Text(members) => members.member(name, node),
            Sink::Any(sink) => sink(name, node),
        }
    }

    /// Writes `jsonrpc`, which is always the first member of a message.
    pub(crate) fn version(&mut self) {
        match &mut self.sink {
            Sink::Text(members) => members.version(),
            Sink::Any(sink) => sink("jsonrpc", Node::Str("2.0")),
        }
    }

    /// Writes the body of a message, after its envelope.
    pub(crate) fn body(&mut self, body: Node<'_>) {
        self.is_body = true;
        match body {
            Node::Object(object) => object.members(self),
            Node::Json(text) => self.members_of(JsonRef::new(text)),
            _ => {}
        }
        self.is_body = false;
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    fn encode(&self) -> Node<'_> {
        (**self).encode()
    }
}

impl<T: Encode + ?Sized> Encode for Box<T> {
    fn encode(&self) -> Node<'_> {
        (**self).encode()
    }
}

/// For nullable values, `None` encodes as `null`. For optional members, see [`Members::optional`].
impl<T: Encode> Encode for Option<T> {
    fn encode(&self) -> Node<'_> {
        self.as_ref().map_or(Node::Null, T::encode)
    }
}

macro_rules! encode {
    ($($type:ty: $value:ident => $node:expr;)*) => {$(
        impl Encode for $type {
            fn encode(&self) -> Node<'_> {
                let $value = self;
                $node
            }
        }
    )*};
}

encode! {
    (): _value => Node::Null;
    bool: value => Node::Bool(*value);
    i64: value => Node::Signed(*value);
    u64: value => Node::Unsigned(*value);
    Number: value => value.node();
    str: value => Node::Str(value);
    String: value => Node::Str(value);
    Value: value => match value {
        Value::Null => Node::Null,
        Value::Bool(value) => Node::Bool(*value),
        Value::Number(number) => Node::Number(number),
        Value::String(text) => Node::Str(text),
        Value::Array(elements) => Node::Array(elements),
        Value::Object(members) => Node::Object(members),
    };
    serde_json::Map<String, Value>: value => Node::Object(value);
    ResultType: value => Node::Str(value.as_str());
    ErrorCode: value => Node::Signed(value.0);
    ErrorObject: value => Node::Object(value);
    Never: value => match *value {};
}

impl<T: Encode> Encode for Vec<T> {
    fn encode(&self) -> Node<'_> {
        Node::Array(self)
    }
}

impl<T: Encode> Elements for Vec<T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn element(&self, index: usize) -> Node<'_> {
        self[index].encode()
    }
}

impl Object for serde_json::Map<String, Value> {
    fn members(&self, out: &mut Members<'_>) {
        for (name, value) in self {
            out.member(name, value);
        }
    }
}
