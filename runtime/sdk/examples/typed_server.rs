//! A server with typed handlers for the newest legacy revision and the modern revision; the client chooses.
//! `typed_server` serves standard input and output, `typed_server ADDRESS` serves HTTP.
//!
//! The tools `echo` and `add` compute their results locally. `ask` samples the client's model. `wait` reports progress
//! for a number of steps, and may run as a task. `touch` notifies clients that the list of tools has changed.

#![allow(deprecated, reason = "what the newest revision deprecates is still served")]

use std::borrow::Cow;
use std::time::Duration;

use mcpgen_sdk::context::Context;
use mcpgen_sdk::protocol::{ContextExt, Level};
use mcpgen_sdk::server::subscriptions::Subscriptions;
use mcpgen_sdk::transport::{lines, stdio};
use mcpgen_sdk::{LocalInfo, Router, serve, tasks};
use mcpgen_types::{ErrorCode, ErrorObject, JsonObject, JsonRef, v2025_11_25, v2026_07_28};
use serde_json::json;

const TOOLS: [&str; 5] = ["echo", "add", "ask", "wait", "touch"];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let local_info = LocalInfo::new("example-server", "0.1.0")
        .capability("tools", json!({ "listChanged": true }))
        .capability("logging", json!({}))
        .capability("tasks", tasks::capability(&["tools/call"], true));
    let router = modern::tools(legacy::tools(Router::new()), &Subscriptions::of(&local_info));
    if let Some(address) = std::env::args().nth(1) {
        return Ok(serve_http(&address, local_info, router).await?);
    }
    Ok(serve((local_info, router), stdio::stdio(lines::DEFAULT_LINE_LIMIT)?).await?)
}

/// Serves an address such as `127.0.0.1:3000` until Ctrl-C, and prints the endpoint's URL.
#[cfg(feature = "http-server")]
async fn serve_http(address: &str, local_info: LocalInfo, router: Router) -> std::io::Result<()> {
    use mcpgen_sdk::http::server::{Endpoint, EndpointOptions, listen};

    let endpoint = Endpoint::new(local_info, router.clone(), router, EndpointOptions::default());
    let listener = std::net::TcpListener::bind(address)?;
    println!("http://{}/mcp", listener.local_addr()?);
    let app = axum::Router::new().route_service("/mcp", endpoint.clone());
    listen(listener, app, &endpoint, async {
        if tokio::signal::ctrl_c().await.is_err() {
            // Without signals, serve until the process ends.
            std::future::pending().await
        }
    })
    .await
}

#[cfg(not(feature = "http-server"))]
async fn serve_http(_: &str, _: LocalInfo, _: Router) -> std::io::Result<()> {
    Err(std::io::Error::other("built without the feature http-server"))
}

/// Runs a tool that works the same way in every revision, and returns its text.
async fn tool(context: &Context, name: &str, arguments: &JsonObject) -> Result<String, ErrorObject> {
    match name {
        "echo" => string(arguments, "message"),
        "add" => Ok((integer(arguments, "a")? + integer(arguments, "b")?).to_string()),
        "wait" => {
            let steps = integer(arguments, "steps")?;
            for step in 1..=steps {
                tokio::time::sleep(Duration::from_millis(10)).await;
                #[expect(clippy::cast_precision_loss, reason = "few steps")]
                context.progress(step as f64, Some(steps as f64), None).await;
            }
            Ok("done".to_owned())
        }
        name => Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("unknown tool {name:?}"))),
    }
}

/// Handlers for the legacy revision: a tool sends requests to the client while its own request is in flight.
mod legacy {
    use mcpgen_sdk::peer::CallError;
    use mcpgen_sdk::tasks::{TaskSupport, Tasks};

    use super::v2025_11_25::{
        CallToolRequest, CallToolRequestParams, CallToolResult, CreateMessageRequest, CreateMessageRequestParams,
        ListToolsRequest, ListToolsResult, Role, SamplingMessage, TextContent, Tool, ToolExecution,
        ToolExecutionTaskSupport, ToolInputSchema, ToolListChangedNotification,
    };
    use super::{Context, ContextExt, ErrorObject, Level, Router, TOOLS, string, tool};

    pub(super) fn tools(router: Router) -> Router {
        let router = router.request::<ListToolsRequest>(|_, _| async {
            let tools = TOOLS.map(|name| {
                let support = match support(Some(name)) {
                    TaskSupport::Forbidden => ToolExecutionTaskSupport::Forbidden,
                    TaskSupport::Optional => ToolExecutionTaskSupport::Optional,
                    TaskSupport::Required => ToolExecutionTaskSupport::Required,
                };
                Tool::new(name, ToolInputSchema::new()).with_execution(ToolExecution::new().with_task_support(support))
            });
            Ok::<_, ErrorObject>(ListToolsResult::new(tools))
        });
        Tasks::default().on::<CallToolRequest>(router, support, call)
    }

    fn support(tool: Option<&str>) -> TaskSupport {
        if tool == Some("wait") { TaskSupport::Optional } else { TaskSupport::Forbidden }
    }

    async fn call(context: Context, params: CallToolRequestParams) -> Result<CallToolResult, ErrorObject> {
        let arguments = params.arguments.unwrap_or_default();
        context.log(Level::Info, None, format!("{} is called", params.name)).await;
        match params.name.as_str() {
            "ask" => ask(&context, &string(&arguments, "question")?).await,
            "touch" => match context.peer().notify::<ToolListChangedNotification>(None).await {
                Ok(()) => Ok(text("touched")),
                Err(error) => Ok(text(error.to_string())),
            },
            name => Ok(text(tool(&context, name, &arguments).await?)),
        }
    }

    async fn ask(context: &Context, question: &str) -> Result<CallToolResult, ErrorObject> {
        let message = SamplingMessage::new(Role::User, TextContent::new(question));
        let params = CreateMessageRequestParams::new(vec![message], 100);
        match context.peer().call::<CreateMessageRequest>(params).await {
            Ok(sample) => Ok(text(format!("{} says: {}", sample.model, mcpgen_types::to_string(&sample.content)))),
            Err(CallError::ErrorResponse(error)) => Err(error),
            Err(error) => Ok(text(error.to_string())),
        }
    }

    fn text(text: impl Into<String>) -> CallToolResult {
        CallToolResult::new(vec![TextContent::new(text).into()])
    }
}

/// Handlers for the modern revision: a tool returns its input requests, and the client repeats the call with the input.
mod modern {
    use mcpgen_sdk::protocol::change::Change;
    use mcpgen_sdk::server::subscriptions::Subscriptions;

    use super::v2026_07_28::{
        CacheScope, CallToolRequest, CallToolRequestParams, CallToolResult, CreateMessageRequest,
        CreateMessageRequestParams, InputRequests, InputRequiredOrCallToolResult, InputRequiredResult,
        ListToolsRequest, ListToolsResult, Role, SamplingMessage, SubscriptionsListenRequest, TextContent, Tool,
        ToolInputSchema,
    };
    use super::{Context, ContextExt, ErrorObject, Level, Router, TOOLS, string, tool};

    pub(super) fn tools(router: Router, subscriptions: &Subscriptions) -> Router {
        let for_calls = subscriptions.clone();
        router
            .request::<ListToolsRequest>(|_, _| async {
                let tools = TOOLS.map(|name| Tool::new(name, ToolInputSchema::new()));
                Ok::<_, ErrorObject>(ListToolsResult::new(tools, 60_000, CacheScope::Public))
            })
            .request::<CallToolRequest>(move |context, params| call(for_calls.clone(), context, params))
            .request::<SubscriptionsListenRequest>(subscriptions.handler())
    }

    async fn call(
        subscriptions: Subscriptions,
        context: Context,
        params: CallToolRequestParams,
    ) -> Result<InputRequiredOrCallToolResult, ErrorObject> {
        let arguments = params.arguments.unwrap_or_default();
        context.log(Level::Info, None, format!("{} is called", params.name)).await;
        match params.name.as_str() {
            "ask" => ask(&context, &string(&arguments, "question")?),
            "touch" => {
                subscriptions.changed(&Change::Tools);
                Ok(text("touched"))
            }
            name => Ok(text(tool(&context, name, &arguments).await?)),
        }
    }

    fn ask(context: &Context, question: &str) -> Result<InputRequiredOrCallToolResult, ErrorObject> {
        if let Some(sample) = context.input::<CreateMessageRequest>("sample")? {
            return Ok(text(format!("{} says: {}", sample.model, mcpgen_types::to_string(&sample.content))));
        }
        let message = SamplingMessage::new(Role::User, TextContent::new(question));
        let request = CreateMessageRequest::new(CreateMessageRequestParams::new(vec![message], 100));
        let requests = InputRequests::from([("sample".to_owned(), request.into())]);
        Ok(InputRequiredResult::new().with_input_requests(requests).into())
    }

    fn text(text: impl Into<String>) -> InputRequiredOrCallToolResult {
        CallToolResult::new(vec![TextContent::new(text).into()]).into()
    }
}

fn string(arguments: &JsonObject, name: &str) -> Result<String, ErrorObject> {
    let text = arguments.get(name).and_then(JsonRef::as_str).map(Cow::into_owned);
    text.ok_or_else(|| argument(name, "a string"))
}

fn integer(arguments: &JsonObject, name: &str) -> Result<i64, ErrorObject> {
    arguments.get(name).and_then(JsonRef::as_i64).ok_or_else(|| argument(name, "an integer"))
}

fn argument(name: &str, expected: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("argument {name}: expected {expected}"))
}
