//! All definitions of all revisions and extensions by their names in the schema, with functions that use their Rust
//! types.

use mcpgen_types::codec::{Decode, Encode};
use mcpgen_types::{Error, Extra, ExtraError, KnownMembers, Map};
use serde_json::Value;

use crate::json_equal;

include!(concat!(env!("OUT_DIR"), "/registry.rs"));

/// Builds a value from a document, with only the constructor and the setters, and encodes it.
pub type Rebuild = fn(&Value) -> Result<Value, Error>;

/// A definition, with functions that decode and encode documents with its Rust type.
pub struct Entry {
    /// The revision or extension.
    pub revision: &'static str,
    /// The name of the definition in the schema.
    pub definition: &'static str,
    /// Decodes a value and encodes the result.
    pub value: fn(Value) -> Result<Value, Error>,
    /// Decodes text and encodes the result.
    pub text: fn(&str) -> Result<String, Error>,
    /// Decodes bytes and encodes the result.
    pub bytes: fn(&[u8]) -> Result<Vec<u8>, Error>,
    /// Decodes from a reader and encodes the result.
    pub reader: fn(&mut dyn std::io::Read) -> Result<String, Error>,
    /// Decodes text and encodes the result with serde's traits and serde_json.
    pub serde: fn(&str) -> Result<String, serde_json::Error>,
    /// Returns whether encoding and decoding a decoded value gives an equal value.
    pub stable: fn(&str) -> Result<bool, Error>,
    /// Builds the value with only its constructor and setters, and encodes it. Only objects have constructors.
    pub rebuild: Option<Rebuild>,
    /// Whether the type is an alias of a type of another crate, whose serde impls do not follow the schema.
    pub foreign: bool,
}

impl Entry {
    /// Creates the entry of a definition whose Rust type is `T`.
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

    /// Marks the entry as [`foreign`](Self::foreign).
    #[must_use]
    pub const fn foreign(self) -> Self {
        Self { foreign: true, ..self }
    }

    /// Decodes a document with all decoding functions, checks that they agree, and encodes the result.
    ///
    /// # Errors
    ///
    /// Returns an error if the type rejects the document, if the decoding functions disagree, or if the encoded value
    /// is not decoded to an equal one.
    ///
    /// # Panics
    ///
    /// Panics if the encoded text is not JSON.
    pub fn recode(&self, document: &Value) -> Result<Value, String> {
        let text = document.to_string();
        let by_value = (self.value)(document.clone()).map_err(|error| error.to_string());
        let by_text = (self.text)(&text).map_err(|error| error.to_string());
        // serde_json gives its private keys a special meaning. Its impls also differ for foreign types: `i64` rejects
        // `1.0`, and `Vec` accepts any depth.
        let skips_serde = self.foreign || text.contains("$serde_json::private");
        let by_serde = if skips_serde { by_text.clone().ok() } else { (self.serde)(&text).ok() };
        let by_bytes = (self.bytes)(text.as_bytes()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let by_reader = (self.reader)(&mut text.as_bytes()).ok();
        for (name, other) in [("bytes", by_bytes), ("reader", by_reader), ("serde", by_serde)] {
            if by_text.as_ref().ok() != other.as_ref() {
                return Err(format!("from_str returns {by_text:?}, but {name} returns {other:?}"));
            }
        }
        let agree = match (&by_value, &by_text) {
            (Ok(value), Ok(text)) => {
                // `serde_json::Value` gives serde_json's private keys a special meaning. The generator's JSON does not.
                let json = mcpgen_model::Json::parse(text).expect("the encoded text is JSON");
                json_equal(value, &serde_json::to_value(json).expect("JSON converts to a value"))
            }
            (value, text) => value.is_err() && text.is_err(),
        };
        if !agree {
            return Err(format!("from_value returns {by_value:?}, but from_str returns {by_text:?}"));
        }
        if by_value.is_ok() && !(self.stable)(&text).is_ok_and(|equal| equal) {
            return Err("decode(encode(x)) is not equal to x".to_owned());
        }
        by_value
    }

    /// Returns the entry of a definition, or `None` if the registry does not have it.
    pub fn find(revision: &str, definition: &str) -> Option<&'static Entry> {
        REGISTRY.iter().find(|entry| entry.revision == revision && entry.definition == definition)
    }
}

/// Decodes a required member. The closure selects the field, which determines the type.
///
/// # Errors
///
/// Returns an error if the member is not valid.
pub fn argument<S, T: Decode>(_: impl Fn(&S) -> &T, document: &Value, wire: &str) -> Result<T, Error> {
    mcpgen_types::from_value(document[wire].clone())
}

/// Decodes an optional member. The closure selects the field, which determines the type.
///
/// # Errors
///
/// Returns an error if the member is not valid.
pub fn optional<S, T: Decode>(_: impl Fn(&S) -> &Option<T>, document: &Value, wire: &str) -> Result<Option<T>, Error> {
    document.get(wire).cloned().map(mcpgen_types::from_value).transpose()
}

/// An [`Extra`] with members of any type, or with members of one type.
pub trait InsertExtra {
    /// The type of the members.
    type Member: Decode;

    /// Inserts a member.
    ///
    /// # Errors
    ///
    /// Returns an error if the member is a known one.
    fn insert_member(&mut self, name: &str, value: Self::Member) -> Result<(), ExtraError>;
}

impl<T: KnownMembers> InsertExtra for Extra<T> {
    type Member = mcpgen_types::Json;

    fn insert_member(&mut self, name: &str, value: Self::Member) -> Result<(), ExtraError> {
        self.insert(name, value).map(drop)
    }
}

impl<T: KnownMembers, V: Decode> InsertExtra for Extra<T, Map<String, V>> {
    type Member = V;

    fn insert_member(&mut self, name: &str, value: V) -> Result<(), ExtraError> {
        self.insert(name, value).map(drop)
    }
}

/// Inserts all unknown members into `extra`, and checks that `extra` rejects the known ones.
///
/// # Errors
///
/// Returns an error if an unknown member is not valid.
///
/// # Panics
///
/// Panics if `extra` accepts a known member or rejects an unknown one.
pub fn insert_extra<E: InsertExtra>(extra: &mut E, document: &Value, known: &[&str]) -> Result<(), Error> {
    for (name, value) in document.as_object().into_iter().flatten() {
        let is_known = known.contains(&name.as_str());
        match mcpgen_types::from_value::<E::Member>(value.clone()) {
            Ok(value) => assert_eq!(extra.insert_member(name, value).is_err(), is_known, "`{name}` in `extra`"),
            Err(_) if is_known => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
