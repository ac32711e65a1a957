//! Tools whose schemas say more than the types of their arguments.

use mcpgen_runtime::ServerBuilder;
use mcpgen_types::JsonObject;
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Says what it was called with. Its arguments are sent as HTTP headers too, so that what stands between client and server
/// can read them.
#[derive(Deserialize, JsonSchema)]
struct Routed {
    /// Where it is to be done.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
    /// How urgent it is.
    #[serde(default)]
    #[schemars(extend("x-mcp-header" = "Priority"))]
    priority: i64,
    /// Whether it is only tried.
    #[serde(default)]
    #[schemars(extend("x-mcp-header" = "Dry-Run"))]
    dry_run: bool,
}

pub(crate) fn tools(server: ServerBuilder) -> ServerBuilder {
    let by_hand = Tool::new(written_by_hand(), "json_schema_2020_12_tool")
        .with_description("Takes arguments whose schema uses what JSON Schema 2020-12 has.");
    server
        .tool_with_schema(by_hand, |_, arguments: JsonObject| async move { Value::Object(arguments).to_string() })
        .tool("test_header_parameters", |_, Routed { region, priority, dry_run }| async move {
            format!("region={region} priority={priority} dry_run={dry_run}")
        })
}

/// A schema that no type has.
fn written_by_hand() -> ToolInputSchema {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    });
    mcpgen_types::from_value(schema).expect("a schema of objects")
}
