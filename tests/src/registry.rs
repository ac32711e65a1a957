//! Every definition of every revision by its schema name, with the functions of its Rust type.

use mcpgen_types::codec::{Decode, Encode};
use mcpgen_types::{Error, Extra, KnownMembers};
use serde_json::Value;

include!(concat!(env!("OUT_DIR"), "/registry.rs"));

/// A definition and what its Rust type does with documents.
pub struct Entry {
    /// The revision.
    pub revision: &'static str,
    /// The schema's own name of the definition.
    pub definition: &'static str,
    /// Decodes a value and encodes the result.
    pub value: fn(Value) -> Result<Value, Error>,
    /// The same from text to text.
    pub text: fn(&str) -> Result<String, Error>,
    /// The same from bytes.
    pub bytes: fn(&[u8]) -> Result<Vec<u8>, Error>,
    /// The same from a reader.
    pub reader: fn(&mut dyn std::io::Read) -> Result<String, Error>,
    /// The same through serde's traits and serde_json's own functions.
    pub serde: fn(&str) -> Result<String, serde_json::Error>,
    /// Whether encoding and decoding again gives an equal value.
    pub stable: fn(&str) -> Result<bool, Error>,
    /// Builds the value with its constructor and setters alone, then encodes it; only objects have these.
    pub rebuild: Option<fn(&Value) -> Result<Value, Error>>,
}

impl Entry {
    const fn of<T>(
        revision: &'static str,
        definition: &'static str,
        rebuild: Option<fn(&Value) -> Result<Value, Error>>,
    ) -> Self
    where
        T: Decode + Encode + PartialEq + serde::Serialize + serde::de::DeserializeOwned,
    {
        Self {
            revision,
            definition,
            value: |value| mcpgen_types::to_value(&mcpgen_types::from_value::<T>(value)?),
            text: |text| Ok(mcpgen_types::to_string(&mcpgen_types::from_str::<T>(text)?)),
            bytes: |bytes| Ok(mcpgen_types::to_vec(&mcpgen_types::from_slice::<T>(bytes)?)),
            reader: |reader| Ok(mcpgen_types::to_string(&mcpgen_types::from_reader::<T>(reader)?)),
            serde: |text| serde_json::to_string(&serde_json::from_str::<T>(text)?),
            stable: |text| {
                let once: T = mcpgen_types::from_str(text)?;
                let twice: T = mcpgen_types::from_str(&mcpgen_types::to_string(&once))?;
                Ok(once == twice)
            },
            rebuild,
        }
    }

    /// The entry of a definition.
    pub fn find(revision: &str, definition: &str) -> Option<&'static Entry> {
        REGISTRY.iter().find(|entry| entry.revision == revision && entry.definition == definition)
    }
}

/// A required member, decoded as the field's type; the field is named only for its type.
fn argument<S, T: Decode>(_: impl Fn(&S) -> &T, document: &Value, wire: &str) -> Result<T, Error> {
    mcpgen_types::from_value(document[wire].clone())
}

/// An optional member, decoded as the field's type.
fn optional<S, T: Decode>(_: impl Fn(&S) -> &Option<T>, document: &Value, wire: &str) -> Result<Option<T>, Error> {
    document.get(wire).cloned().map(mcpgen_types::from_value).transpose()
}

fn insert_extra<T: KnownMembers, V: Decode>(
    extra: &mut Extra<T, V>,
    document: &Value,
    known: &[&str],
) -> Result<(), Error> {
    for (name, value) in document.as_object().into_iter().flatten() {
        let inserted = extra.insert(name.clone(), mcpgen_types::from_value::<V>(value.clone())?);
        assert_eq!(inserted.is_err(), known.contains(&name.as_str()), "`{name}` in `extra`");
    }
    Ok(())
}
