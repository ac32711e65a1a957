//! Tools that ask the client for something.
//!
//! The same functions serve both eras: in the older revisions the client is asked while they wait, in 2026-07-28 by the
//! answer to the request. Only what asks for several things at once takes notice of the difference.

use mcpgen_runtime::ServerBuilder;
use mcpgen_runtime::server::request_state::RequestStateCodec;
use mcpgen_runtime::server::{RequestContext, ToolError};
use mcpgen_types::v2026_07_28::{
    CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult, ElicitRequest, ElicitResult, InputRequests,
    InputRequiredResult, ListRootsRequest, ListRootsResult, Role, SamplingMessage, StringSchema, TextContent,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::content::tool_info;
use crate::forms::{Field, choices, confirmation, defaults, field, form, name, required, told};

/// Asks the client's model.
#[derive(Deserialize, JsonSchema)]
struct Sampling {
    /// What to ask it.
    prompt: String,
}

/// Asks the user who they are.
#[derive(Deserialize, JsonSchema)]
struct Elicitation {
    /// The words of the question.
    message: String,
}

pub(crate) fn tools(server: ServerBuilder, seal: &RequestStateCodec) -> ServerBuilder {
    let server = server
        .tool("test_sampling", |context, Sampling { prompt }| sampling(context, prompt))
        .tool("test_elicitation", |context, Elicitation { message }| elicitation(context, message))
        .tool(tool_info("test_elicitation_sep1034_defaults", "Asks for values that have defaults."), |context, ()| {
            with_defaults(context)
        })
        .tool(tool_info("test_elicitation_sep1330_enums", "Asks for choices of each kind."), |context, ()| {
            completed(context, "Please choose", choices())
        })
        .tool(tool_info("test_missing_capability", "Needs the client's model."), |context, ()| {
            sampling(context, "Is anybody there?".to_owned())
        })
        .tool(
            tool_info("test_streaming_elicitation", "Asks the user to confirm, and reports its progress."),
            |context, ()| streaming(context),
        );
    rounds(server, seal)
}

/// Those that the suite calls in 2026-07-28 only.
fn rounds(server: ServerBuilder, seal: &RequestStateCodec) -> ServerBuilder {
    let seal = seal.clone();
    server
        .tool(tool_info("test_input_required_result_elicitation", "Asks for the user's name."), |context, ()| {
            greeting(context)
        })
        .tool(
            tool_info("test_input_required_result_sampling", "Asks the client's model for a capital."),
            |context, ()| capital(context),
        )
        .tool(tool_info("test_input_required_result_list_roots", "Asks for the client's roots."), |context, ()| {
            roots(context)
        })
        .tool(tool_info("test_input_required_result_request_state", "Asks the user to confirm."), |context, ()| {
            confirm(context)
        })
        .tool(tool_info("test_input_required_result_tampered_state", "Asks the user to confirm."), |context, ()| {
            confirm(context)
        })
        .tool(tool_info("test_input_required_result_multi_round", "Asks twice, one after the other."), |context, ()| {
            two_steps(context)
        })
        .tool(
            tool_info("test_input_required_result_capabilities", "Asks for what the client can give."),
            |context, ()| as_declared(context),
        )
        .tool(
            tool_info("test_input_required_result_multiple_inputs", "Asks for three things at once."),
            move |context, ()| several(context, seal.clone()),
        )
}

async fn sampling(context: RequestContext, prompt: String) -> Result<String, ToolError> {
    let answer = context.sample("answer", message(&prompt, 100)).await?;
    Ok(format!("LLM response: {}", text(&answer)))
}

async fn elicitation(context: RequestContext, message: String) -> Result<String, ToolError> {
    let asked = form(
        message,
        [
            required("username", StringSchema::new().with_description("User's response")),
            required("email", StringSchema::new().with_description("User's email address")),
        ],
    );
    let answer = context.elicit("user", asked).await?;
    Ok(format!("User response: {}", told(&answer)))
}

async fn completed<const N: usize>(
    context: RequestContext,
    message: &str,
    fields: [Field; N],
) -> Result<String, ToolError> {
    let answer = context.elicit("values", form(message, fields)).await?;
    Ok(format!("Elicitation completed: {}", told(&answer)))
}

async fn with_defaults(context: RequestContext) -> Result<String, ToolError> {
    completed(context, "Please review the defaults", defaults()?).await
}

async fn streaming(context: RequestContext) -> Result<String, ToolError> {
    context.progress(1.0, Some(2.0), None).await;
    let answer = context.elicit("confirm", confirmation()).await?;
    context.progress(2.0, Some(2.0), None).await;
    Ok(told(&answer))
}

async fn greeting(context: RequestContext) -> Result<String, ToolError> {
    let answer = context.elicit("user_name", name("What is your name?")).await?;
    Ok(format!("Hello, {}!", field(&answer, "name")))
}

async fn capital(context: RequestContext) -> Result<String, ToolError> {
    let answer = context.sample("capital_question", message("What is the capital of France?", 100)).await?;
    Ok(text(&answer))
}

async fn roots(context: RequestContext) -> Result<String, ToolError> {
    let answer = context.roots("client_roots").await?;
    Ok(format!("The roots are {}.", uris(&answer)))
}

/// A state that was changed on its way does not come so far: no handler needs to look at it.
async fn confirm(context: RequestContext) -> Result<String, ToolError> {
    let answer = context.elicit("confirm", confirmation()).await?;
    Ok(format!("state-ok: {}", told(&answer)))
}

async fn two_steps(context: RequestContext) -> Result<String, ToolError> {
    let who = context.elicit("step1", name("Step 1: What is your name?")).await?;
    let color = required("color", StringSchema::new());
    let what = context.elicit("step2", form("Step 2: What is your favorite color?", [color])).await?;
    Ok(format!("{} likes {}.", field(&who, "name"), field(&what, "color")))
}

async fn as_declared(context: RequestContext) -> Result<String, ToolError> {
    let can = |capability| context.peer_info().is_some_and(|peer_info| peer_info.can(&[capability]));
    let mut answers = Vec::new();
    if can("elicitation") {
        answers.push(told(&context.elicit("user_name", name("What is your name?")).await?));
    }
    if can("sampling") {
        answers.push(text(&context.sample("greeting", message("Generate a greeting", 50)).await?));
    }
    if can("roots") {
        answers.push(uris(&context.roots("client_roots").await?));
    }
    Ok(answers.join("; "))
}

async fn several(context: RequestContext, seal: RequestStateCodec) -> Result<String, ToolError> {
    let (who, greeting, roots) = match context.revision().is_legacy() {
        true => one_by_one(&context).await?,
        false => at_once(&context, &seal)?,
    };
    Ok(format!("{} {}; {}", text(&greeting), field(&who, "name"), uris(&roots)))
}

/// Three answers, of three kinds.
type Answers = (ElicitResult, CreateMessageResult, ListRootsResult);

async fn one_by_one(context: &RequestContext) -> Result<Answers, ToolError> {
    let who = context.elicit("user_name", name("What is your name?")).await?;
    let greeting = context.sample("greeting", message("Generate a greeting", 50)).await?;
    Ok((who, greeting, context.roots("client_roots").await?))
}

fn at_once(context: &RequestContext, seal: &RequestStateCodec) -> Result<Answers, ToolError> {
    let dialog = seal.decode::<()>(context, "")?;
    let who = context.input::<ElicitRequest>("user_name")?;
    let greeting = context.input::<CreateMessageRequest>("greeting")?;
    let roots = context.input::<ListRootsRequest>("client_roots")?;
    if let (Some(who), Some(greeting), Some(roots)) = (who, greeting, roots) {
        return Ok((who, greeting, roots));
    }
    let asked = InputRequests::from([
        ("user_name".to_owned(), ElicitRequest::new(name("What is your name?")).into()),
        ("greeting".to_owned(), CreateMessageRequest::new(message("Generate a greeting", 50)).into()),
        ("client_roots".to_owned(), ListRootsRequest::new().into()),
    ]);
    let asks = InputRequiredResult::new().with_input_requests(asked).with_request_state(seal.encode(&dialog, &())?);
    Err(ToolError::input_required(asks))
}

fn message(prompt: &str, max_tokens: i64) -> CreateMessageRequestParams {
    CreateMessageRequestParams::new(max_tokens, [SamplingMessage::new(TextContent::new(prompt), Role::User)])
}

/// What the model has said, if it was text.
fn text(answer: &CreateMessageResult) -> String {
    let content = mcpgen_types::to_value(&answer.content).unwrap_or_default();
    content["text"].as_str().unwrap_or("(no text)").to_owned()
}

fn uris(roots: &ListRootsResult) -> String {
    roots.roots.iter().map(|root| root.uri.as_str()).collect::<Vec<_>>().join(", ")
}
