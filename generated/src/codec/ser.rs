//! Nodes to any serde `Serializer`.

use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};

use super::{Elements, Encode, Members, Node, Object, Tree};

/// Writes one value with any `Serializer`.
///
/// # Errors
///
/// The serializer's.
pub fn serialize<T: Encode + ?Sized, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.encode().serialize(serializer)
}

/// JSON text that is kept raw is read and written anew: the serializer may be of any format.
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
            Node::Raw(text) => match crate::from_str::<Tree>(text.get()) {
                Ok(tree) => tree.encode().serialize(serializer),
                Err(error) => Err(S::Error::custom(error)),
            },
            Node::Undecoded(raw) => match raw.decode::<Tree>() {
                Ok(tree) => tree.encode().serialize(serializer),
                Err(error) => Err(S::Error::custom(error)),
            },
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
