//! Decodes arguments that are text on the wire, such as those of prompts, as Rust types.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::schema::inline_schema_of;

/// The schema of the arguments' type. Empty if the type is unknown.
#[derive(Clone, Debug, Default)]
pub struct TextArguments(Arc<Map<String, Value>>);

impl TextArguments {
    pub(super) fn of<A: schemars::JsonSchema>() -> Self {
        Self(Arc::new(inline_schema_of::<A>()))
    }

    pub(super) fn properties(&self) -> impl Iterator<Item = (&str, &Value)> {
        let properties = self.0.get("properties").and_then(Value::as_object).into_iter().flatten();
        properties.map(|(name, schema)| (name.as_str(), schema))
    }

    pub(super) fn required(&self) -> impl Iterator<Item = &str> {
        let required = self.0.get("required").and_then(Value::as_array).into_iter().flatten();
        required.filter_map(Value::as_str)
    }

    /// Decodes arguments. Those that are not text in the type are read as JSON.
    pub(super) fn decode<A: serde::de::DeserializeOwned>(
        &self,
        arguments: BTreeMap<String, String>,
    ) -> Result<A, mcpgen_types::Error> {
        let value = |name: &str, text: String| match self.is_text(name) {
            true => Value::String(text),
            false => mcpgen_types::from_str(&text).unwrap_or(Value::String(text)),
        };
        let values = arguments.into_iter().map(|(name, text)| (name.clone(), value(&name, text)));
        mcpgen_types::Json::from(&values.collect::<Map<_, _>>()).deserialize()
    }

    /// Returns the texts that an enum allows. Empty for other arguments.
    pub(super) fn options(&self, name: &str) -> Vec<&str> {
        let property = self.0.get("properties").and_then(|properties| properties.get(name));
        property.map(options_of).unwrap_or_default()
    }

    fn is_text(&self, name: &str) -> bool {
        let property = self.0.get("properties").and_then(|properties| properties.get(name));
        match property.and_then(|property| property.get("type")) {
            Some(Value::String(kind)) => !matches!(kind.as_str(), "integer" | "number" | "boolean"),
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
            _ => true,
        }
    }
}

/// Returns the texts that a schema allows. A variant with a doc comment has a separate schema, and so does `null`.
fn options_of(schema: &Value) -> Vec<&str> {
    let list = |keyword: &str| schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
    let own = list("enum").chain(schema.get("const")).filter_map(Value::as_str);
    let alternatives = list("oneOf").chain(list("anyOf"));
    own.chain(alternatives.flat_map(options_of)).collect()
}
