//! The `JsonSchema` of generated types: self-contained schemas of their definitions.
#![cfg(all(feature = "schemars", feature = "v2025_11_25"))]

use mcpgen_types::v2025_11_25::{ClientRequest, LoggingLevel, Tool, ToolInputSchema};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

fn schema<T: JsonSchema>() -> Value {
    T::json_schema(&mut SchemaGenerator::default()).to_value()
}

#[test]
fn schema_contains_referenced_definitions() {
    let tool = schema::<Tool>();
    assert_eq!(tool["required"], json!(["inputSchema", "name"]));
    assert_eq!(tool["properties"]["annotations"], json!({"$ref": "#/$defs/ToolAnnotations"}));
    let needed: Vec<&String> = tool["$defs"].as_object().map(|defs| defs.keys().collect()).unwrap_or_default();
    assert_eq!(needed, ["Icon", "ToolAnnotations", "ToolExecution"]);
    assert!(schema::<ClientRequest>()["$defs"]["CallToolRequest"].is_object());
}

#[test]
fn schema_of_inline_type_is_part_of_its_parent() {
    assert_eq!(schema::<ToolInputSchema>(), {
        let mut whole = schema::<Tool>();
        whole["properties"]["inputSchema"].take()
    });
}

#[test]
fn schema_without_references_has_no_definitions() {
    let level = schema::<LoggingLevel>();
    assert_eq!(level["type"], "string");
    assert!(level.get("$defs").is_none());
    assert_eq!(level["enum"].as_array().map(Vec::len), Some(LoggingLevel::ALL.len()));
}

#[test]
fn schemas_of_free_form_json() {
    assert_eq!(schema::<mcpgen_types::Json>(), json!({}));
    assert_eq!(schema::<mcpgen_types::JsonObject>(), json!({"type": "object"}));
}
