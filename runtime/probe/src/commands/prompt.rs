//! `mcpgen-probe prompt`.

use mcpgen_types::{JsonObject, JsonRef};

use crate::arguments::check_names;
use crate::cli::{Format, PromptArgs};
use crate::commands::read::content;
use crate::failure::Failure;
use crate::output::{self, BOLD, plain, styled};
use crate::requests::request;

pub(crate) async fn run(args: &PromptArgs) -> Result<(), Failure> {
    check_names("--arg", &args.arguments)?;
    let arguments: JsonObject = args.arguments.iter().map(|(name, value)| (name, value.into())).collect();
    let params = JsonObject::from([("name", (&args.prompt).into()), ("arguments", arguments.into())]);
    let result =
        args.connection.run(async |client, activity| request(client, "prompts/get", params, activity).await).await?;
    match args.format {
        Format::Json => output::print_json(result.as_ref()),
        Format::Text => {
            let messages = result.get("messages").into_iter().flat_map(JsonRef::elements);
            let text = messages.map(|message| {
                let role = plain(&message.get("role").and_then(JsonRef::as_str).unwrap_or("?".into()));
                let shown = message.get("content").map(content).unwrap_or_default();
                format!("{}\n{shown}", styled(BOLD, &format!("{role}:")))
            });
            output::print(&text.collect::<String>())
        }
    }
}
