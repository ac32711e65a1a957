//! Between the types of serde and raw JSON, for methods that the generated types do not know.

use mcpgen_types::RawJson;
use serde::{Serialize, de::DeserializeOwned};

pub(crate) fn decode<T: DeserializeOwned>(json: Option<&RawJson>) -> serde_json::Result<T> {
    match json {
        Some(json) => serde_json::from_str(&mcpgen_types::to_string(json)),
        None => serde_json::from_value(serde_json::Value::Null),
    }
}

pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<RawJson> {
    let text = serde_json::value::to_raw_value(value)?;
    RawJson::try_from(text).map_err(serde::ser::Error::custom)
}

/// The member `params`: absent instead of null, and otherwise an object or an array, as JSON-RPC has it.
pub(crate) fn params<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Option<RawJson>> {
    let text = serde_json::value::to_raw_value(value)?;
    match text.get().bytes().next() {
        Some(b'n') => Ok(None),
        Some(b'{' | b'[') => RawJson::try_from(text).map(Some).map_err(serde::ser::Error::custom),
        _ => Err(serde::ser::Error::custom("params must be an object or an array")),
    }
}
