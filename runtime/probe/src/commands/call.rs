//! `mcpgen-probe call`.

use mcpgen_sdk::Client;
use mcpgen_types::{JsonObject, JsonRef};
use serde_json::{Map, Value};

use crate::arguments::{object, typed};
use crate::cli::{CallArgs, Format, Kind};
use crate::commands::read::content;
use crate::failure::{CONNECTION, Failure};
use crate::output::{self, Activity};
use crate::requests::{call_tool, list};

pub(crate) async fn run(args: CallArgs) -> Result<(), Failure> {
    let all = match &args.json {
        Some(json) => Some(read(json).await?),
        None => None,
    };
    let result = args
        .connection
        .run(async |client, activity| {
            let arguments = match all {
                Some(all) => all,
                None if args.arguments.is_empty() => JsonObject::new(),
                None => {
                    let schema = input_schema(client, &args.tool, activity).await?;
                    typed(&args.tool, &args.arguments, schema.as_ref())?
                }
            };
            call_tool(client, &args.tool, arguments, activity).await
        })
        .await?;
    let failed = result.get("isError") == Some(&Value::Bool(true));
    match args.format {
        Format::Json => output::print_json(&result)?,
        Format::Text => output::print(&text(&result))?,
    }
    if failed { Err(Failure::Tool(args.tool)) } else { Ok(()) }
}

/// Returns the content as text, or the structured content of a result without content.
fn text(result: &Map<String, Value>) -> String {
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match result.get("structuredContent") {
        Some(structured) if blocks.is_empty() => output::json(structured),
        _ => blocks.iter().map(content).collect(),
    }
}

/// Returns the input schema of a tool, if the server lists the tool.
async fn input_schema(client: &Client, tool: &str, activity: &Activity) -> Result<Option<Value>, Failure> {
    let tools = match list(client, Kind::Tools, activity).await {
        Ok(tools) => tools.unwrap_or_default().items,
        Err(failure) if failure.exit_code() == CONNECTION => return Err(failure),
        Err(failure) => {
            output::warning(&format!("{failure}; without the tool's schema, the types of the arguments are a guess"));
            return Ok(None);
        }
    };
    let listed = tools.iter().find(|listed| listed.get("name").and_then(JsonRef::as_str).as_deref() == Some(tool));
    Ok(listed.and_then(|listed| Some(listed.get("inputSchema")?.to_value())))
}

/// Reads the value of `--json`.
async fn read(json: &str) -> Result<JsonObject, Failure> {
    if json != "-" {
        return object(json);
    }
    // On another thread, so that a signal ends the command meanwhile.
    let read = tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin()));
    let text = read.await.unwrap_or_else(|error| Err(error.into())).map_err(Failure::io("reading standard input"))?;
    object(&text)
}
