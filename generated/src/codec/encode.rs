//! One JSON value on its way from a type to a writer.

use serde_json::Value;

use crate::{Extra, JsonObject, Never, Number};

use super::Literal;
use super::write::TextMembers;

/// A type that has a JSON value.
pub trait Encode {
    /// The value.
    fn encode(&self) -> Node<'_>;
}

/// One JSON value as its writer meets it. Floats must be finite.
#[derive(Clone, Copy)]
pub enum Node<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer from 0 up.
    Unsigned(u64),
    /// An integer.
    Signed(i64),
    /// Any other number; what is not finite is written as `null`.
    Float(f64),
    /// A string.
    Str(&'a str),
    /// An array.
    Array(&'a dyn Elements),
    /// An object.
    Object(&'a dyn Object),
    /// A value of serde_json's.
    Value(&'a Value),
    /// JSON text on one line.
    Json(&'a str),
}

/// The elements of an array.
pub trait Elements {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `index`, which is less than [`len`](Self::len).
    fn element(&self, index: usize) -> Node<'_>;
}

/// The members of an object.
pub trait Object {
    /// Writes all members, each once.
    fn members(&self, out: &mut Members<'_>);
}

/// Where an [`Object`] writes its members.
pub struct Members<'a> {
    pub(super) sink: Sink<'a>,
    /// Whether the envelope of a message has written `jsonrpc` and `id`.
    is_body: bool,
}

pub(super) enum Sink<'a> {
    /// Almost always. A direct call takes less time than one of a closure.
    Text(TextMembers<'a>),
    Any(&'a mut dyn FnMut(&str, Node<'_>)),
}

impl<'a> Members<'a> {
    /// Gives each member to `sink`.
    pub fn new(sink: &'a mut dyn FnMut(&str, Node<'_>)) -> Self {
        Self { sink: Sink::Any(sink), is_body: false }
    }

    pub(super) fn of_text(members: TextMembers<'a>) -> Self {
        Self { sink: Sink::Text(members), is_body: false }
    }

    /// A member that is always there.
    #[inline(never)]
    pub fn member<T: Encode + ?Sized>(&mut self, name: &str, value: &T) {
        self.node(name, value.encode());
    }

    /// A member that is there if it has a value.
    #[inline(never)]
    pub fn optional<T: Encode>(&mut self, name: &str, value: &Option<T>) {
        if let Some(value) = value {
            self.node(name, value.encode());
        }
    }

    /// A member whose value is fixed.
    #[inline]
    pub fn constant(&mut self, name: &str, value: Literal) {
        match value {
            // Known where this is compiled, as a rule.
            Literal::Str(text) => self.node(name, Node::Str(text)),
            other => self.node(name, other.encode()),
        }
    }

    /// The members that the type does not name.
    pub fn extra<T, V: Encode>(&mut self, extra: &Extra<T, V>) {
        // One loop for all types.
        if let Some(members) = extra.as_map() {
            members.members(self);
        }
    }

    /// A member by its node.
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

    /// The first member of a message.
    pub(crate) fn version(&mut self) {
        match &mut self.sink {
            Sink::Text(members) => members.version(),
            Sink::Any(sink) => sink("jsonrpc", Node::Str("2.0")),
        }
    }

    /// All members of the body of a message, after those of its envelope.
    pub(crate) fn body(&mut self, body: Node<'_>) {
        self.is_body = true;
        match body {
            Node::Object(object) => object.members(self),
            Node::Value(Value::Object(object)) => object.members(self),
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

/// `None` is `null`: this is a nullable value. That a member may be absent is its field's affair.
impl<T: Encode> Encode for Option<T> {
    fn encode(&self) -> Node<'_> {
        self.as_ref().map_or(Node::Null, T::encode)
    }
}

impl Encode for () {
    fn encode(&self) -> Node<'_> {
        Node::Null
    }
}

impl Encode for bool {
    fn encode(&self) -> Node<'_> {
        Node::Bool(*self)
    }
}

impl Encode for i64 {
    fn encode(&self) -> Node<'_> {
        Node::Signed(*self)
    }
}

impl Encode for u64 {
    fn encode(&self) -> Node<'_> {
        Node::Unsigned(*self)
    }
}

impl Encode for Number {
    fn encode(&self) -> Node<'_> {
        self.node()
    }
}

impl Encode for str {
    fn encode(&self) -> Node<'_> {
        Node::Str(self)
    }
}

impl Encode for String {
    fn encode(&self) -> Node<'_> {
        Node::Str(self)
    }
}

impl Encode for Value {
    fn encode(&self) -> Node<'_> {
        Node::Value(self)
    }
}

impl Encode for Never {
    fn encode(&self) -> Node<'_> {
        match *self {}
    }
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

impl Encode for JsonObject {
    fn encode(&self) -> Node<'_> {
        Node::Object(self)
    }
}

impl Object for JsonObject {
    fn members(&self, out: &mut Members<'_>) {
        for (name, value) in self {
            out.member(name, value);
        }
    }
}
