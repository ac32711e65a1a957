//! A server of typed handlers on standard input and output.
//!
//! `echo` and `add` answer by themselves; `ask` asks the client's model; `wait` reports progress for as long as it is
//! told to.

use std::time::Duration;

use mcpgen_runtime::connection::Limits;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::era::Level;
use mcpgen_runtime::peer::CallError;
use mcpgen_runtime::router::Router;
use mcpgen_runtime::transport::{lines, stdio};
use mcpgen_runtime::{Introduction, serve};
use mcpgen_types::v2025_11_25::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CreateMessageRequest, CreateMessageRequestParams,
    ListToolsRequest, ListToolsResult, Role, SamplingMessage, TextContent, Tool, ToolInputSchema,
};
use mcpgen_types::{ErrorCode, ErrorObject, JsonObject, Revision, Value};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let router = Router::new()
        .request::<ListToolsRequest>(|_, _| async { Ok::<_, ErrorObject>(ListToolsResult::new(tools())) })
        .request::<CallToolRequest>(call);
    let ours = Introduction {
        revisions: vec![Revision::V2025_11_25],
        ..Introduction::new("example-server", "0.1.0").able("tools", json!({})).able("logging", json!({}))
    };
    let (incoming, outgoing) = stdio::stdio(lines::LONGEST)?;
    serve(ours, router.clone(), router, incoming, outgoing, Limits::default()).await
}

fn tools() -> Vec<Tool> {
    let names = ["echo", "add", "ask", "wait"];
    names.map(|name| Tool::new(ToolInputSchema::new(), name)).into()
}

async fn call(context: Context, params: CallToolRequestParams) -> Result<CallToolResult, ErrorObject> {
    let arguments = params.arguments.unwrap_or_default();
    context.log(Level::Info, None, format!("{} is called", params.name)).await;
    match params.name.as_str() {
        "echo" => Ok(text(string(&arguments, "message")?)),
        "add" => Ok(text((integer(&arguments, "a")? + integer(&arguments, "b")?).to_string())),
        "ask" => ask(&context, string(&arguments, "question")?).await,
        "wait" => {
            let steps = integer(&arguments, "steps")?;
            for step in 1..=steps {
                tokio::time::sleep(Duration::from_millis(10)).await;
                #[expect(clippy::cast_precision_loss, reason = "few steps")]
                context.progress(step as f64, Some(steps as f64), None).await;
            }
            Ok(text("done"))
        }
        name => Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("unknown tool {name:?}"))),
    }
}

async fn ask(context: &Context, question: &str) -> Result<CallToolResult, ErrorObject> {
    let message = SamplingMessage::new(TextContent::new(question), Role::User);
    let params = CreateMessageRequestParams::new(100, vec![message]);
    match context.peer().call::<CreateMessageRequest>(params).await {
        Ok(answer) => Ok(text(format!("{} says: {}", answer.model, mcpgen_types::to_string(&answer.content)))),
        Err(CallError::Refused(error)) => Err(error),
        Err(error) => Ok(text(error.to_string())),
    }
}

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::new(vec![TextContent::new(text).into()])
}

fn string<'a>(arguments: &'a JsonObject, name: &str) -> Result<&'a str, ErrorObject> {
    arguments.get(name).and_then(Value::as_str).ok_or_else(|| argument(name, "a string"))
}

fn integer(arguments: &JsonObject, name: &str) -> Result<i64, ErrorObject> {
    arguments.get(name).and_then(Value::as_i64).ok_or_else(|| argument(name, "an integer"))
}

fn argument(name: &str, expected: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("argument {name}: expected {expected}"))
}
