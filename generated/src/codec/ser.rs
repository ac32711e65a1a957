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

/// For any serializer: JSON text that is kept raw is read and written anew.
impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written::<false>(*self).serialize(serializer)
    }
}

/// A node on its way to a serializer; to `serde_json`'s own writer if `TEXT`, which alone
/// understands raw text.
pub(super) struct Written<'a, const TEXT: bool>(pub(super) Node<'a>);

impl<const TEXT: bool> Serialize for Written<'_, TEXT> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Node::Null => serializer.serialize_unit(),
            Node::Bool(value) => serializer.serialize_bool(value),
            Node::Unsigned(integer) => serializer.serialize_u64(integer),
            Node::Signed(integer) => serializer.serialize_i64(integer),
            Node::Float(float) => serializer.serialize_f64(float),
            Node::Str(text) => serializer.serialize_str(text),
            Node::Array(elements) => array::<TEXT, S>(elements, serializer),
            Node::Object(object) => map::<TEXT, S>(object, serializer),
            Node::Value(value) => value.serialize(serializer),
            Node::Raw(text) if TEXT => text.serialize(serializer),
            Node::Raw(text) => match crate::from_str::<Tree>(text.get()) {
                Ok(tree) => tree.encode().serialize(serializer),
                Err(error) => Err(S::Error::custom(error)),
            },
        }
    }
}

fn array<const TEXT: bool, S: Serializer>(elements: &dyn Elements, serializer: S) -> Result<S::Ok, S::Error> {
    let length = elements.len();
    let mut array = serializer.serialize_seq(Some(length))?;
    for index in 0..length {
        array.serialize_element(&Written::<TEXT>(elements.element(index)))?;
    }
    array.end()
}

fn map<const TEXT: bool, S: Serializer>(object: &dyn Object, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    let mut result = Ok(());
    object.members(&mut Members::new(&mut |name, node| {
        if result.is_ok() {
            result = map.serialize_entry(name, &Written::<TEXT>(node));
        }
    }));
    result?;
    map.end()
}
