//! `mcpgen-probe call`.

use mcpgen_sdk::Client;
use mcpgen_types::{Json, JsonObject, JsonRef};

use crate::answers::Answers;
use crate::arguments::{Recipient, check_names, object, typed};
use crate::cli::{CallArgs, Format, Kind};
use crate::commands::read::content;
use crate::failure::{CONNECTION, Failure};
use crate::output::{self, Activity, Order};
use crate::requests::{call_tool, list};

pub(crate) async fn run(args: CallArgs) -> Result<(), Failure> {
    check_names("--arg", &args.arguments)?;
    let all = match &args.json {
        Some(json) => Some(read(json).await?),
        None => None,
    };
    let answers = Answers::new(args.answers)?;
    let called = args
        .connection
        .run_with(
            |client| answers.prepare(client),
            async |client, activity| {
                let arguments = match all {
                    Some(all) => all,
                    None if args.arguments.is_empty() => JsonObject::new(),
                    None => {
                        let schema = input_schema(client, &args.tool, activity).await?;
                        let schema = schema.as_ref().map(Json::as_ref);
                        typed(Recipient::Tool(&args.tool), &args.arguments, schema)?
                    }
                };
                call_tool(client, &args.tool, arguments, activity).await
            },
        )
        .await;
    // An unanswered question explains whatever fails later.
    let answered = answers.into_result();
    let result = match (called, answered.is_err()) {
        (Err(_), true) => return answered,
        (called, _) => called?,
    };
    let failed = result.get("isError").is_some_and(|failed| failed == true);
    match args.format {
        Format::Json => output::print_json(result.as_ref())?,
        Format::Text => output::print(&text(&result))?,
    }
    answered?;
    if failed { Err(Failure::Tool(args.tool)) } else { Ok(()) }
}

/// The content as text or, without content, the structured content.
fn text(result: &JsonObject) -> String {
    let mut blocks = result.get("content").into_iter().flat_map(JsonRef::elements).peekable();
    match result.get("structuredContent") {
        Some(structured) if blocks.peek().is_none() => output::json(structured, Order::Kept),
        _ => blocks.map(content).collect(),
    }
}

/// Returns the tool's input schema. `None` if the server does not list the tool, or its list cannot be read.
async fn input_schema(client: &Client, tool: &str, activity: &Activity) -> Result<Option<Json>, Failure> {
    let tools = match list(client, Kind::Tools, activity).await {
        Ok(tools) => tools.unwrap_or_default().items,
        Err(failure) if failure.exit_code() == CONNECTION => return Err(failure),
        Err(failure) => {
            output::warning(&format!("{failure}; without the tool's schema, the types of the arguments are a guess"));
            return Ok(None);
        }
    };
    let listed = tools.iter().find(|listed| listed.get("name").and_then(JsonRef::as_str).as_deref() == Some(tool));
    Ok(listed.and_then(|listed| Some(listed.get("inputSchema")?.to_json())))
}

async fn read(json: &str) -> Result<JsonObject, Failure> {
    if json != "-" {
        return object(json);
    }
    // On another thread, so that a signal can end the command.
    let read = tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin()));
    let text = read.await.unwrap_or_else(|error| Err(error.into())).map_err(Failure::io("reading standard input"))?;
    object(&text)
}
