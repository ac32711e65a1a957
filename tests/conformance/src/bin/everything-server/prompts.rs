//! Prompts and argument completion.

use std::collections::BTreeMap;

use mcpgen_sdk::server::RequestContext;
use mcpgen_sdk::{BoxError, ServerBuilder};
use mcpgen_types::v2026_07_28::{
    CompleteRequestParams, EmbeddedResource, ImageContent, Prompt, PromptArgument, PromptMessage, Role, StringSchema,
    TextContent, TextResourceContents,
};

use crate::forms::{field, form, required};
use crate::samples::{PNG, base64};

/// The values that complete every argument.
const WORDS: [&str; 5] = ["paris", "park", "party", "test", "testing"];

pub(crate) fn prompts(server: ServerBuilder) -> ServerBuilder {
    let with_arguments = prompt_info("test_prompt_with_arguments", "Returns its two arguments.")
        .with_arguments([argument("arg1", "First test argument"), argument("arg2", "Second test argument")]);
    let with_resource = prompt_info("test_prompt_with_embedded_resource", "Embeds a resource.")
        .with_arguments([argument("resourceUri", "URI of the resource to embed")]);
    server
        .prompt(prompt_info("test_simple_prompt", "Takes no arguments."), || async {
            "This is a simple prompt for testing."
        })
        .prompt(with_arguments, |arguments: BTreeMap<String, String>| async move {
            format!("Prompt with arguments: arg1='{}', arg2='{}'", arguments["arg1"], arguments["arg2"])
        })
        .prompt(with_resource, |arguments: BTreeMap<String, String>| async move {
            let resource = TextResourceContents::new(&arguments["resourceUri"])
                .text("Embedded resource content for testing.")
                .with_mime_type("text/plain");
            vec![
                PromptMessage::new(Role::User, EmbeddedResource::new(resource)),
                PromptMessage::new(Role::User, TextContent::new("Please process the embedded resource above.")),
            ]
        })
        .prompt(prompt_info("test_prompt_with_image", "Contains an image."), || async {
            vec![
                PromptMessage::new(Role::User, ImageContent::new(base64(PNG)).mime_type("image/png")),
                PromptMessage::new(Role::User, TextContent::new("Please analyze the image above.")),
            ]
        })
        .prompt(prompt_info("test_input_required_result_prompt", "Elicits its context from the user."), elicit_context)
        .completion(|params: CompleteRequestParams| async move {
            let prefix = params.argument.value;
            WORDS.iter().filter(|word| word.starts_with(&prefix)).map(|word| (*word).to_owned()).collect::<Vec<_>>()
        })
}

async fn elicit_context(context: RequestContext) -> Result<String, BoxError> {
    let requested = required("context", StringSchema::new());
    let result = context.elicit("user_context", form("What context should the prompt use?", [requested])).await?;
    Ok(format!("Use this context: {}", field(&result, "context")))
}

fn prompt_info(name: &str, description: &str) -> Prompt {
    Prompt::new(name).with_description(description)
}

fn argument(name: &str, description: &str) -> PromptArgument {
    PromptArgument::new(name).with_description(description).with_required(true)
}
