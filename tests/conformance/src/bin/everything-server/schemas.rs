//! Tools whose schemas have keywords that types do not express.

use mcpgen_sdk::ServerBuilder;
use mcpgen_sdk::server::Args;
use mcpgen_types::JsonObject;
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Returns its arguments. Clients also send them as HTTP headers, so that intermediaries can read them.
#[derive(Deserialize, JsonSchema)]
struct Routed {
    /// The region to use.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
    /// The priority.
    #[serde(default)]
    #[schemars(extend("x-mcp-header" = "Priority"))]
    priority: i64,
    /// Whether to make no changes.
    #[serde(default)]
    #[schemars(extend("x-mcp-header" = "Dry-Run"))]
    dry_run: bool,
}

pub(crate) fn tools(server: ServerBuilder) -> ServerBuilder {
    let tool = Tool::new("json_schema_2020_12_tool", hand_written_schema())
        .with_description("Takes arguments whose schema uses keywords of JSON Schema 2020-12.");
    server.tool(tool, |arguments: JsonObject| async move { arguments.to_string() }).tool(
        "test_header_parameters",
        |Args(Routed { region, priority, dry_run })| async move {
            format!("region={region} priority={priority} dry_run={dry_run}")
        },
    )
}

/// Returns a schema that cannot be derived from a type.
fn hand_written_schema() -> ToolInputSchema {
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
    mcpgen_types::from_value(schema).expect("a valid input schema")
}
