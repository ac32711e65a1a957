//! Tools that request input from the client.
//!
//! The same handlers work in all revisions. In legacy revisions, the server sends a request to the client while the
//! handler waits. In 2026-07-28, it responds with an input-required result. Only the handler that requests several
//! inputs at once distinguishes the two.

use mcpgen_sdk::ServerBuilder;
use mcpgen_sdk::protocol::ContextExt;
use mcpgen_sdk::server::request_state::RequestStateCodec;
use mcpgen_sdk::server::{Args, InputRequired, RequestContext, ToolError};
use mcpgen_types::v2026_07_28::{
    CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult, ElicitRequest, ElicitResult, InputRequests,
    InputRequiredResult, ListRootsRequest, ListRootsResult, Role, SamplingMessage, StringSchema, TextContent,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::content::tool_info;
use crate::forms::{Field, choices, confirmation, defaults, describe, field, form, name, required};

/// Samples the client's model.
#[derive(Deserialize, JsonSchema)]
struct Sampling {
    /// The prompt for the model.
    prompt: String,
}

/// Asks the user for a name and an email address.
#[derive(Deserialize, JsonSchema)]
struct Elicitation {
    /// The message to show to the user.
    message: String,
}

pub(crate) fn tools(server: ServerBuilder, seal: &RequestStateCodec) -> ServerBuilder {
    let server = server
        .tool("test_sampling", |context: RequestContext, Args(Sampling { prompt })| sampling(context, prompt))
        .tool("test_elicitation", |context: RequestContext, Args(Elicitation { message })| {
            elicitation(context, message)
        })
        .tool(tool_info("test_elicitation_sep1034_defaults", "Elicits values that have defaults."), with_defaults)
        .tool(
            tool_info("test_elicitation_sep1330_enums", "Elicits a choice of each kind of enum."),
            |context: RequestContext| completed(context, "Please choose", choices()),
        )
        .tool(tool_info("test_missing_capability", "Requires sampling."), |context: RequestContext| {
            sampling(context, "Hello?".to_owned())
        })
        .tool(
            tool_info("test_streaming_elicitation", "Asks the user to confirm, and reports its progress."),
            streaming,
        );
    rounds(server, seal)
}

/// Adds the tools that the suite calls only in 2026-07-28.
fn rounds(server: ServerBuilder, seal: &RequestStateCodec) -> ServerBuilder {
    let seal = seal.clone();
    server
        .tool(tool_info("test_input_required_result_elicitation", "Elicits the user's name."), greeting)
        .tool(tool_info("test_input_required_result_sampling", "Asks the client's model for a capital city."), capital)
        .tool(tool_info("test_input_required_result_list_roots", "Requests the client's roots."), roots)
        .tool(tool_info("test_input_required_result_request_state", "Asks the user to confirm."), confirm)
        .tool(tool_info("test_input_required_result_tampered_state", "Asks the user to confirm."), confirm)
        .tool(tool_info("test_input_required_result_multi_round", "Elicits input twice, in sequence."), multi_round)
        .tool(
            tool_info("test_input_required_result_capabilities", "Requests all input that the client supports."),
            supported_inputs,
        )
        .tool(
            tool_info("test_input_required_result_multiple_inputs", "Requests three inputs at once."),
            move |context: RequestContext| multiple_inputs(context, seal.clone()),
        )
}

async fn sampling(context: RequestContext, prompt: String) -> Result<String, ToolError> {
    let result = context.sample("answer", message(&prompt, 100)).await?;
    Ok(format!("LLM response: {}", text(&result)))
}

async fn elicitation(context: RequestContext, message: String) -> Result<String, ToolError> {
    let params = form(
        message,
        [
            required("username", StringSchema::new().with_description("User's response")),
            required("email", StringSchema::new().with_description("User's email address")),
        ],
    );
    let result = context.elicit("user", params).await?;
    Ok(format!("User response: {}", describe(&result)))
}

async fn completed<const N: usize>(
    context: RequestContext,
    message: &str,
    fields: [Field; N],
) -> Result<String, ToolError> {
    let result = context.elicit("values", form(message, fields)).await?;
    Ok(format!("Elicitation completed: {}", describe(&result)))
}

async fn with_defaults(context: RequestContext) -> Result<String, ToolError> {
    completed(context, "Please review the defaults", defaults()?).await
}

async fn streaming(context: RequestContext) -> Result<String, ToolError> {
    context.progress(1.0, Some(2.0), None).await;
    let result = context.elicit("confirm", confirmation()).await?;
    context.progress(2.0, Some(2.0), None).await;
    Ok(describe(&result))
}

async fn greeting(context: RequestContext) -> Result<String, ToolError> {
    let result = context.elicit("user_name", name("What is your name?")).await?;
    Ok(format!("Hello, {}!", field(&result, "name")))
}

async fn capital(context: RequestContext) -> Result<String, ToolError> {
    let result = context.sample("capital_question", message("What is the capital of France?", 100)).await?;
    Ok(text(&result))
}

async fn roots(context: RequestContext) -> Result<String, ToolError> {
    let result = context.roots("client_roots").await?;
    Ok(format!("The roots are {}.", uris(&result)))
}

/// Asks for confirmation. If the request state was modified, the runtime rejects it and does not call this handler.
async fn confirm(context: RequestContext) -> Result<String, ToolError> {
    let result = context.elicit("confirm", confirmation()).await?;
    Ok(format!("state-ok: {}", describe(&result)))
}

async fn multi_round(context: RequestContext) -> Result<String, ToolError> {
    let user = context.elicit("step1", name("Step 1: What is your name?")).await?;
    let color = required("color", StringSchema::new());
    let preference = context.elicit("step2", form("Step 2: What is your favorite color?", [color])).await?;
    Ok(format!("{} likes {}.", field(&user, "name"), field(&preference, "color")))
}

async fn supported_inputs(context: RequestContext) -> Result<String, ToolError> {
    let supports = |capability| context.peer_info().is_some_and(|peer_info| peer_info.can(&[capability]));
    let mut inputs = Vec::new();
    if supports("elicitation") {
        inputs.push(describe(&context.elicit("user_name", name("What is your name?")).await?));
    }
    if supports("sampling") {
        inputs.push(text(&context.sample("greeting", message("Generate a greeting", 50)).await?));
    }
    if supports("roots") {
        inputs.push(uris(&context.roots("client_roots").await?));
    }
    Ok(inputs.join("; "))
}

async fn multiple_inputs(context: RequestContext, seal: RequestStateCodec) -> Result<String, ToolError> {
    let (user, greeting, roots) = match context.revision().is_legacy() {
        true => in_sequence(&context).await?,
        false => at_once(&context, &seal).await?,
    };
    Ok(format!("{} {}; {}", text(&greeting), field(&user, "name"), uris(&roots)))
}

type Inputs = (ElicitResult, CreateMessageResult, ListRootsResult);

async fn in_sequence(context: &RequestContext) -> Result<Inputs, ToolError> {
    let user = context.elicit("user_name", name("What is your name?")).await?;
    let greeting = context.sample("greeting", message("Generate a greeting", 50)).await?;
    Ok((user, greeting, context.roots("client_roots").await?))
}

async fn at_once(context: &RequestContext, seal: &RequestStateCodec) -> Result<Inputs, ToolError> {
    let dialog = seal.decode::<()>(context.context(), "").await?;
    let user = context.input::<ElicitRequest>("user_name")?;
    let greeting = context.input::<CreateMessageRequest>("greeting")?;
    let roots = context.input::<ListRootsRequest>("client_roots")?;
    if let (Some(user), Some(greeting), Some(roots)) = (user, greeting, roots) {
        return Ok((user, greeting, roots));
    }
    let requests = InputRequests::from([
        ("user_name".to_owned(), ElicitRequest::new(name("What is your name?")).into()),
        ("greeting".to_owned(), CreateMessageRequest::new(message("Generate a greeting", 50)).into()),
        ("client_roots".to_owned(), ListRootsRequest::new().into()),
    ]);
    let result =
        InputRequiredResult::new().with_input_requests(requests).with_request_state(seal.encode(&dialog, &())?);
    Err(InputRequired::new(result).into())
}

fn message(prompt: &str, max_tokens: i64) -> CreateMessageRequestParams {
    CreateMessageRequestParams::new([SamplingMessage::new(Role::User, TextContent::new(prompt))], max_tokens)
}

fn text(result: &CreateMessageResult) -> String {
    let content = mcpgen_types::to_value(&result.content).unwrap_or_default();
    content["text"].as_str().unwrap_or("(no text)").to_owned()
}

fn uris(roots: &ListRootsResult) -> String {
    roots.roots.iter().map(|root| root.uri.as_str()).collect::<Vec<_>>().join(", ")
}
