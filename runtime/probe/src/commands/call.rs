//! `mcpgen-probe call`.

use std::io::Read as _;

use mcpgen_types::JsonObject;
use serde_json::Value;

use crate::cli::{CallArgs, Format};
use crate::commands::read::content;
use crate::failure::Failure;
use crate::output;
use crate::requests::call_tool;

pub(crate) async fn run(args: CallArgs) -> Result<(), Failure> {
    let arguments = match &args.json {
        Some(json) => object(json)?,
        None => args.arguments.iter().map(|(name, value)| (name.clone(), value_of(value))).collect(),
    };
    let result =
        args.connection.run(async |client, activity| call_tool(client, &args.tool, arguments, activity).await).await?;
    let failed = result.get("isError") == Some(&Value::Bool(true));
    match args.format {
        Format::Json => output::print_json(&result.into())?,
        Format::Text => output::print(&text(&result))?,
    }
    if failed { Err(Failure::Tool(args.tool)) } else { Ok(()) }
}

/// Returns the content as text, or the structured content of a result without content.
fn text(result: &JsonObject) -> String {
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match result.get("structuredContent") {
        Some(structured) if blocks.is_empty() => output::json(structured),
        _ => blocks.iter().map(content).collect(),
    }
}

/// Reads the value of `--arg`.
fn value_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// Reads the value of `--json`.
fn object(json: &str) -> Result<JsonObject, Failure> {
    let mut text = json.to_owned();
    if json == "-" {
        text.clear();
        std::io::stdin().read_to_string(&mut text).map_err(Failure::io("reading standard input"))?;
    }
    serde_json::from_str(&text).map_err(|error| Failure::Usage(format!("--json is not a JSON object: {error}")))
}
