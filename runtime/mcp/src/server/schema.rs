//! JSON Schemas for Rust types.

use std::sync::Arc;

use mcpgen_types::Json;
use mcpgen_types::codec::Decode;
use mcpgen_types::v2026_07_28::{
    ElicitRequestFormParams, ElicitRequestFormParamsRequestedSchema as Form, ToolInputSchema,
};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::error::DefinitionError;
use super::input_error::InputError;

/// Returns the `inputSchema` for arguments of type `A`, and the type's description.
///
/// # Errors
///
/// Fails if the type is not an object in JSON.
pub(super) fn input_schema<A: JsonSchema>(tool: &str) -> Result<(ToolInputSchema, Option<String>), DefinitionError> {
    let mut schema = schema_of::<A>(SchemaSettings::draft2020_12());
    let description = schema.remove("description").and_then(|text| text.as_str().map(str::to_owned));
    // The schemas of an enum of objects and of `()` lack the type "object".
    match schema.get("type").and_then(Value::as_str) {
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
    Ok((decode(tool, "inputSchema", &schema.into())?, description))
}

/// Converts a schema to the type of a `Tool` member.
pub(super) fn decode<T: Decode>(tool: &str, member: &'static str, schema: &Json) -> Result<T, DefinitionError> {
    schema.decode().map_err(|error| DefinitionError::Schema {
        name: tool.to_owned(),
        schema: member,
        source: Arc::new(error),
    })
}

/// The formats that JSON Schema defines. Some clients warn about others, such as `uint8`.
const FORMATS: [&str; 19] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "idn-email",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "time",
    "uri",
    "uri-reference",
    "uri-template",
    "uuid",
];

fn remove_unknown_format(schema: &mut Schema) {
    if schema.get("format").and_then(|format| format.as_str()).is_some_and(|format| !FORMATS.contains(&format)) {
        schema.remove("format");
    }
}

/// Returns the schema of a type, without the type's Rust name.
pub(super) fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> Map<String, Value> {
    let settings = settings.with_transform(RecursiveTransform(remove_unknown_format));
    match settings.into_generator().into_root_schema_for::<T>().to_value() {
        Value::Object(mut schema) => {
            schema.remove("title");
            schema
        }
        // The schema is `true` or `false`.
        value => Map::from_iter([("const".to_owned(), value)]),
    }
}

pub(super) fn inline_schema_of<A: JsonSchema>() -> Map<String, Value> {
    schema_of::<A>(SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true))
}

/// Returns the form that asks for a `T`.
///
/// # Errors
///
/// Fails if a field of `T` cannot be a form field.
pub(super) fn form<T: JsonSchema>(message: String) -> Result<ElicitRequestFormParams, InputError> {
    let mut schema = inline_schema_of::<T>();
    for name in ["$schema", "description", "additionalProperties"] {
        schema.remove(name);
    }
    let fields = schema.entry("properties").or_insert_with(|| json!({}));
    for field in fields.as_object_mut().into_iter().flat_map(|fields| fields.values_mut()) {
        simplify_field(field);
    }
    let schema = mcpgen_types::from_value::<Form>(Value::Object(schema));
    let schema = schema.map_err(|source| InputError::Form { type_name: std::any::type_name::<T>(), source })?;
    Ok(ElicitRequestFormParams::new(message, schema))
}

/// Rewrites a field's schema for elicitation: an optional field is not `null`, and enum options have titles instead of
/// descriptions.
fn simplify_field(field: &mut serde_json::Value) {
    let Some(members) = field.as_object_mut() else { return };
    let is_null = |schema: &serde_json::Value| schema.get("type").is_some_and(|kind| kind == "null");
    if let Some(Value::Array(kinds)) = members.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            members.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(options)) = members.get_mut("enum") {
        options.retain(|option| !option.is_null());
    }
    if let Some(Value::Array(mut options)) = members.remove("anyOf") {
        options.retain(|option| !is_null(option));
        match (options.pop(), options.is_empty()) {
            (Some(Value::Object(only)), true) => {
                for (name, value) in only {
                    members.entry(name).or_insert(value);
                }
            }
            (last, _) => {
                options.extend(last);
                members.insert("anyOf".to_owned(), options.into());
            }
        }
    }
    if members.get("default").is_some_and(Value::is_null) {
        members.remove("default");
    }
    if let Some(Value::Array(options)) = members.get_mut("oneOf") {
        *options = options.iter().flat_map(titled_options).collect();
        members.insert("type".to_owned(), "string".into());
    }
    if let Some(items) = members.get_mut("items") {
        simplify_field(items);
    }
}

/// Returns the options of a variant, or of several undocumented ones. An option's title is the variant's title or
/// description or, failing those, the value.
fn titled_options(option: &serde_json::Value) -> Vec<serde_json::Value> {
    let text = |name: &str| option.get(name).and_then(Value::as_str);
    let title = text("title").or(text("description"));
    let listed = option.get("enum").and_then(Value::as_array).into_iter().flatten();
    let values = option.get("const").into_iter().chain(listed);
    values.map(|value| json!({ "const": value, "title": title.or(value.as_str()) })).collect()
}
