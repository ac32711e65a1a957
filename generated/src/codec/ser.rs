//! Writes nodes with any serde `Serializer`.

use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};

use crate::Number;

use super::index::{Document, Kind};
use super::{Cursor, Encode, Members, Node, Object};

/// Writes a value with any serde `Serializer`.
///
/// # Errors
///
/// Returns the errors of the serializer.
pub fn serialize<T: Encode + ?Sized, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.encode().serialize(serializer)
}

/// JSON text must be parsed, because the serializer's format may not be JSON.
impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Node::Null => serializer.serialize_unit(),
            Node::Bool(value) => serializer.serialize_bool(value),
            Node::Unsigned(integer) => serializer.serialize_u64(integer),
            Node::Signed(integer) => serializer.serialize_i64(integer),
            Node::Float(float) => serializer.serialize_f64(float),
            Node::Str(text) => serializer.serialize_str(text),
            Node::Array(elements) => serializer.collect_seq((0..elements.len()).map(|index| elements.element(index))),
            Node::Object(object) => map(object, serializer),
            Node::Number(number) => number.serialize(serializer),
            Node::Json(text) => Document::read(text).map_err(S::Error::custom)?.root().serialize(serializer),
        }
    }
}

fn map<S: Serializer>(object: &dyn Object, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    let mut result = Ok(());
    object.members(&mut Members::new(&mut |name, node| {
        if result.is_ok() {
            result = map.serialize_entry(name, &node);
        }
    }));
    result?;
    map.end()
}

impl Serialize for Cursor<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.kind() {
            Kind::Null => serializer.serialize_unit(),
            Kind::False => serializer.serialize_bool(false),
            Kind::True => serializer.serialize_bool(true),
            Kind::Number => self.as_number().map_or(Node::Null, Number::node).serialize(serializer),
            Kind::Plain | Kind::Escaped => serializer.serialize_str(&self.as_str().unwrap_or_default()),
            Kind::Array => serializer.collect_seq(self.elements().into_iter().flatten()),
            Kind::Object => serializer.collect_map(self.members().into_iter().flatten()),
        }
    }
}
