//! Writes nodes with any serde `Serializer`.

use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};

use super::index::{Document, Kind};
use super::{Cursor, Elements, Encode, Members, Node, Object};

/// Writes one value with any serde `Serializer`.
///
/// # Errors
///
/// Returns the errors of the serializer.
pub fn serialize<T: Encode + ?Sized, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.encode().serialize(serializer)
}

/// Parses JSON text, because the serializer may have any format.
impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Node::Null => serializer.serialize_unit(),
            Node::Bool(value) => serializer.serialize_bool(value),
            Node::Unsigned(integer) => serializer.serialize_u64(integer),
            Node::Signed(integer) => serializer.serialize_i64(integer),
            Node::Float(float) => serializer.serialize_f64(float),
            Node::Str(text) => serializer.serialize_str(text),
            Node::Array(elements) => array(elements, serializer),
            Node::Object(object) => map(object, serializer),
            Node::Value(value) => value.serialize(serializer),
            Node::Json(text) => {
                let document = Document::read(text).map_err(S::Error::custom)?;
                document.root().serialize(serializer)
            }
        }
    }
}

fn array<S: Serializer>(elements: &dyn Elements, serializer: S) -> Result<S::Ok, S::Error> {
    let length = elements.len();
    let mut array = serializer.serialize_seq(Some(length))?;
    for index in 0..length {
        array.serialize_element(&elements.element(index))?;
    }
    array.end()
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
            Kind::Number => match self.as_number() {
                Some(number) => number.node().serialize(serializer),
                None => serializer.serialize_unit(),
            },
            Kind::Plain | Kind::Escaped => serializer.serialize_str(&self.as_str().unwrap_or_default()),
            Kind::Array => serializer.collect_seq(self.elements().into_iter().flatten()),
            Kind::Object => serializer.collect_map(self.members().into_iter().flatten()),
        }
    }
}
