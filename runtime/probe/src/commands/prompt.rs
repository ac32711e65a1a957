//! `mcpgen-probe prompt`.

use mcpgen_types::JsonObject;
use serde_json::Value;

use crate::cli::{Format, PromptArgs};
use crate::commands::read::content;
use crate::failure::Failure;
use crate::output::{self, BOLD, plain, styled};
use crate::requests::request;

pub(crate) async fn run(args: &PromptArgs) -> Result<(), Failure> {
    let arguments: JsonObject = args.arguments.iter().map(|(name, value)| (name, value.into())).collect();
    let params = JsonObject::from([("name", (&args.prompt).into()), ("arguments", arguments.into())]);
    let result =
        args.connection.run(async |client, activity| request(client, "prompts/get", params, activity).await).await?;
    match args.format {
        Format::Json => output::print_json(&result),
        Format::Text => {
            let messages = result.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let text = messages.iter().map(|message| {
                let role = plain(message["role"].as_str().unwrap_or("?"));
                format!("{}\n{}", styled(BOLD, &format!("{role}:")), content(&message["content"]))
            });
            output::print(&text.collect::<String>())
        }
    }
}
