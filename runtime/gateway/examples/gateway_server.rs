//! A server for the tests: `gateway_server NAME REVISION [small] [more]` serves standard input and output, and
//! `gateway_server NAME REVISION http [PORT]` prints a URL and serves it.

#![allow(deprecated, reason = "2026-07-28 deprecates what the gateway relays")]

use std::error::Error;
use std::io::Write as _;
use std::time::Duration;

use mcpgen_sdk::http::server::{EndpointOptions, ServeHttp};
use mcpgen_sdk::prelude::*;
use mcpgen_sdk::protocol::Level;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_types::v2026_07_28::{
    CallToolResult, CreateMessageRequestParams, ElicitRequestFormParams, ElicitRequestFormParamsRequestedSchema,
    Prompt, PromptArgument, Resource, ResourceLink, ResourceTemplate, Role, SamplingMessage, TextContent, Tool,
    ToolAnnotations, ToolInputSchema,
};
use mcpgen_types::{JsonRef, Revision};
use serde_json::json;
use tokio::sync::Semaphore;

fn tool(name: &str) -> Tool {
    Tool::new(name, ToolInputSchema::new())
}

/// The tools and resources that every server of a test has.
fn small(name: &str, revision: Revision) -> ServerBuilder<String> {
    let uri = format!("{name}:///note");
    let builder = Server::builder(name, "1")
        .revisions([revision])
        .logging()
        .state(name.to_owned())
        .tool(tool("greet"), |State(name): State<String>, context: RequestContext| async move {
            context.log(Level::Info, None, "greeting").await;
            format!("hello from {name}")
        })
        .tool(
            tool(&format!("only_{name}")).with_annotations(ToolAnnotations::new().with_read_only_hint(true)),
            || async { "only" },
        )
        .tool(tool("link"), || async {
            CallToolResult::new([ResourceLink::new("file:///shared").name("shared").into()])
        })
        .resource(Resource::new(uri, "note"), |State(name): State<String>| async move { name })
        .resource(Resource::new("file:///shared", "shared"), |State(name): State<String>| async move { name });
    if !std::env::args().any(|argument| argument == "more") {
        return builder;
    }
    builder.tool(tool("pid"), || async { std::process::id().to_string() }).tool(
        tool("slow"),
        |context: RequestContext| async move {
            context.progress(1.0, None, None).await;
            tokio::time::sleep(Duration::from_millis(700)).await;
            "done"
        },
    )
}

fn server(name: &str, revision: Revision) -> ServerBuilder<String> {
    let review = Prompt::new("review").with_arguments([PromptArgument::new("language")]);
    small(name, revision)
        .tool(tool("echo"), |arguments: JsonObject| async move {
            arguments.get("text").and_then(JsonRef::as_str).unwrap_or_default().into_owned()
        })
        .tool(tool("count"), |context: RequestContext| async move {
            context.progress(1.0, Some(2.0), Some("half")).await;
            context.progress(2.0, Some(2.0), None).await;
            "counted"
        })
        .tool(tool("wait"), |context: RequestContext| async move {
            let _cancelled = CountOnDrop;
            context.progress(1.0, None, None).await;
            std::future::pending::<()>().await;
            "never"
        })
        .tool(tool("cancelled"), || async {
            // Waits until a call of `wait` has been cancelled.
            drop(CANCELLED.acquire().await);
            "cancelled"
        })
        .tool(tool("crash"), || async {
            eprintln!("disk full");
            std::process::exit(7);
            #[allow(unreachable_code, reason = "a tool has a result")]
            ""
        })
        .tool(tool("change"), |context: RequestContext| async move {
            context.server().changed(&Change::Tools);
            context.server().changed(&Change::Resource("file:///shared".to_owned()));
            "changed"
        })
        .tool(tool("sample"), |context: RequestContext| async move {
            let message = SamplingMessage::new(Role::User, TextContent::new("hello"));
            let sampled = context.sample("model", CreateMessageRequestParams::new([message], 10)).await?;
            let roots = context.roots("roots").await?;
            Ok::<_, ToolError>(format!("{} with {} roots", sampled.model, roots.roots.len()))
        })
        .tool(tool("elicit"), |context: RequestContext| async move {
            let form = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
            let form = ElicitRequestFormParams::new(
                "name?",
                mcpgen_types::from_value::<ElicitRequestFormParamsRequestedSchema>(form)?,
            );
            let answer = context.elicit("name", form).await?;
            Ok::<_, ToolError>(format!("{:?}", answer.action))
        })
        .prompt(review, || async { "review me" })
        .prompt_completion("review", "language", || async { vec!["rust".to_owned()] })
        .resource_template(ResourceTemplate::new("row://{id}", "row"), || async { Some("a row") })
}

/// The calls of `wait` that were cancelled.
static CANCELLED: Semaphore = Semaphore::const_new(0);

struct CountOnDrop;

impl Drop for CountOnDrop {
    fn drop(&mut self) {
        CANCELLED.add_permits(1);
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, revision, mode @ ..] = &arguments[..] else { return Err("NAME REVISION [small | http]".into()) };
    let revision = Revision::ALL.iter().find(|known| known.as_str() == revision).ok_or("no such revision")?;
    match mode.first().map(String::as_str) {
        Some("small") => Ok(small(name, *revision).build().serve_stdio().await?),
        Some("http") => {
            let endpoint = server(name, *revision).build().http(EndpointOptions::default())?;
            let port = mode.get(1).map_or("0", |port| &**port);
            let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            println!("http://{}/mcp", listener.local_addr()?);
            std::io::stdout().flush()?;
            Ok(axum::serve(listener, axum::Router::new().route_service("/mcp", endpoint)).await?)
        }
        _ => Ok(server(name, *revision).build().serve_stdio().await?),
    }
}
