//! Decodes `serde_json` values.

use serde_json::{Map, Value};

use crate::{Error, JsonObject};

use super::index::Kind;
use super::{Cursor, Decode};

/// If a name occurs more than once, the last value is kept.
impl Decode for Value {
    const NAME: &'static str = "JSON value";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        Ok(match json.kind() {
            Kind::Null => Self::Null,
            Kind::False => Self::Bool(false),
            Kind::True => Self::Bool(true),
            Kind::Number => json.number()?.into(),
            Kind::Plain | Kind::Escaped => Self::String(json.string()?),
            Kind::Array => Self::Array(Vec::decode(json)?),
            Kind::Object => Self::Object(Map::decode(json)?),
        })
    }
}

/// If a name occurs more than once, the last value is kept.
impl Decode for JsonObject {
    const NAME: &'static str = "object";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        let mut decoded = Self::new();
        for (name, value) in json.members()? {
            decoded.insert(name.string()?, Value::decode(value)?);
        }
        Ok(decoded)
    }
}
