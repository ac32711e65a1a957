//! JSON Schemas of Rust types.

use std::sync::Arc;

use mcpgen_types::JsonObject;
use mcpgen_types::codec::Decode;
use mcpgen_types::v2026_07_28::ToolInputSchema;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

use super::error::DefinitionError;

/// Returns the `inputSchema` of a tool with arguments of type `A`, and the type's description.
///
/// # Errors
///
/// Fails if the type is not an object.
pub(super) fn input_schema<A: JsonSchema>(tool: &str) -> Result<(ToolInputSchema, Option<String>), DefinitionError> {
    let mut schema = schema_of::<A>(SchemaSettings::draft2020_12());
    let description = schema.remove("description").and_then(|text| text.as_str().map(str::to_owned));
    // The schemas of an enum of objects and of `()` do not have the type "object".
    match schema.get("type").and_then(serde_json::Value::as_str) {
        None if schema.contains_key("oneOf") || schema.contains_key("anyOf") => {
            schema.insert("type".to_owned(), "object".into());
        }
        Some("null") => {
            schema.insert("type".to_owned(), "object".into());
            schema.insert("additionalProperties".to_owned(), false.into());
        }
        _ => {}
    }
    let found = schema.get("type");
    if found.is_none_or(|kind| kind != "object") {
        let found = found.map_or_else(|| "no type".to_owned(), ToString::to_string);
        return Err(DefinitionError::NotAnObject { name: tool.to_owned(), found });
    }
    Ok((decode(tool, "inputSchema", schema)?, description))
}

/// Converts a schema to the type of a member of `Tool`.
pub(super) fn decode<T: Decode>(tool: &str, member: &'static str, schema: JsonObject) -> Result<T, DefinitionError> {
    let decoded = mcpgen_types::from_value(serde_json::Value::Object(schema));
    decoded.map_err(|error| DefinitionError::Schema { name: tool.to_owned(), schema: member, source: Arc::new(error) })
}

/// Returns the schema of a type, without the type's Rust name.
pub(super) fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> JsonObject {
    match settings.into_generator().into_root_schema_for::<T>().to_value() {
        serde_json::Value::Object(mut schema) => {
            schema.remove("title");
            schema
        }
        // `true` or `false`.
        value => JsonObject::from_iter([("const".to_owned(), value)]),
    }
}
