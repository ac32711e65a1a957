//! Every definition of every revision by its schema name, with the functions of its Rust type.

use mcpgen_types::codec::{Decode, Encode};
use mcpgen_types::{Error, Extra, KnownMembers};
use serde_json::Value;

use crate::json_equal;

include!(concat!(env!("OUT_DIR"), "/registry.rs"));

/// Builds a value from a document with its constructor and setters alone, then encodes it.
pub type Rebuild = fn(&Value) -> Result<Value, Error>;

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
    pub rebuild: Option<Rebuild>,
    /// Whether the type is an alias of one that brings its own serde impls: those follow its rules, not the schema's.
    pub foreign: bool,
}

impl Entry {
    /// The entry of a definition whose Rust type is `T`.
    pub const fn of<T>(revision: &'static str, definition: &'static str, rebuild: Option<Rebuild>) -> Self
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
            foreign: false,
        }
    }

    /// The same entry, [`foreign`](Self::foreign).
    #[must_use]
    pub const fn foreign(self) -> Self {
        Self { foreign: true, ..self }
    }

    /// Decodes by every entrance, which must agree, and encodes.
    ///
    /// # Errors
    ///
    /// The document is refused, or the entrances disagree.
    ///
    /// # Panics
    ///
    /// If what is encoded is no JSON.
    pub fn recode(&self, document: &Value) -> Result<Value, String> {
        let text = document.to_string();
        let by_value = (self.value)(document.clone()).map_err(|error| error.to_string());
        let by_text = (self.text)(&text).map_err(|error| error.to_string());
        // serde_json reads its private key names as more than data; and `i64` takes no `1.0` from it, `Vec` any depth.
        let skips_serde = self.foreign || text.contains("$serde_json::private");
        let by_serde = if skips_serde { by_text.clone().ok() } else { (self.serde)(&text).ok() };
        let by_bytes = (self.bytes)(text.as_bytes()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let by_reader = (self.reader)(&mut text.as_bytes()).ok();
        for (name, other) in [("bytes", by_bytes), ("reader", by_reader), ("serde", by_serde)] {
            if by_text.as_ref().ok() != other.as_ref() {
                return Err(format!("from_str says {by_text:?}, {name} says {other:?}"));
            }
        }
        let agree = match (&by_value, &by_text) {
            (Ok(value), Ok(text)) => {
                // serde_json's own `Value` reads its private key names as something else; the generator's JSON does not.
                let json = mcpgen::json::Json::parse(text).expect("what is encoded is JSON");
                json_equal(value, &serde_json::to_value(json).expect("JSON is a value"))
            }
            (value, text) => value.is_err() && text.is_err(),
        };
        if !agree {
            return Err(format!("from_value says {by_value:?}, from_str says {by_text:?}"));
        }
        if by_value.is_ok() && !(self.stable)(&text).is_ok_and(|equal| equal) {
            return Err("decode(encode(x)) is not x".to_owned());
        }
        by_value
    }

    /// The entry of a definition.
    pub fn find(revision: &str, definition: &str) -> Option<&'static Entry> {
        REGISTRY.iter().find(|entry| entry.revision == revision && entry.definition == definition)
    }
}

/// A required member, decoded as the field's type; the field is named only for its type.
///
/// # Errors
///
/// The member is not valid.
pub fn argument<S, T: Decode>(_: impl Fn(&S) -> &T, document: &Value, wire: &str) -> Result<T, Error> {
    mcpgen_types::from_value(document[wire].clone())
}

/// An optional member, decoded as the field's type.
///
/// # Errors
///
/// The member is not valid.
pub fn optional<S, T: Decode>(_: impl Fn(&S) -> &Option<T>, document: &Value, wire: &str) -> Result<Option<T>, Error> {
    document.get(wire).cloned().map(mcpgen_types::from_value).transpose()
}

/// Inserts every member that is not among the known ones; those must be refused.
///
/// # Errors
///
/// A member is not valid.
///
/// # Panics
///
/// If a known member is taken, or another is not.
pub fn insert_extra<T: KnownMembers, V: Decode>(
    extra: &mut Extra<T, V>,
    document: &Value,
    known: &[&str],
) -> Result<(), Error> {
    for (name, value) in document.as_object().into_iter().flatten() {
        let is_known = known.contains(&name.as_str());
        match mcpgen_types::from_value::<V>(value.clone()) {
            Ok(value) => assert_eq!(extra.insert(name.clone(), value).is_err(), is_known, "`{name}` in `extra`"),
            // A known member may be anything else.
            Err(_) if is_known => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
