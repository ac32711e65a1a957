//! A client that lists a server's tools, resources and prompts, and calls a tool.
//!
//! `explore [--call TOOL [ARGUMENTS]] URL` connects over HTTP. `explore [--call TOOL [ARGUMENTS]] COMMAND [ARGUMENT..]`
//! starts the server, and shows what it writes to standard error. ARGUMENTS is a JSON object, such as `'{"message":
//! "hello"}'`. Without `--call`, the client calls the tool `echo` if there is one.

#![allow(deprecated, reason = "what the newest revision deprecates is still served")]

use std::iter::Peekable;

use mcpgen_sdk::prelude::*;
use mcpgen_sdk::types::{CreateMessageResult, ElicitResult, ElicitResultAction, Role, TextContent};
use tokio::process::Command;

type Failure = Box<dyn std::error::Error>;

const USAGE: &str = "usage: explore [--call TOOL [JSON]] URL | COMMAND [ARGUMENT..]";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).peekable();
    let call = tool_to_call(&mut arguments)?;
    let server = arguments.next().ok_or(USAGE)?;
    let client = Client::builder("explorer", "0.1.0")
        .tasks()
        .on_sampling(|_, _| async {
            Ok(CreateMessageResult::new(Role::Assistant, TextContent::new("I am not a model."), "none"))
        })
        .on_elicitation(|_, _| async { Ok(ElicitResult::new(ElicitResultAction::Decline)) })
        .roots([])
        // Shows what the server, if started here, writes to standard error.
        .on_stderr(|line| eprintln!("server: {line}"))
        .lenient(|method, repair| eprintln!("{method}: {repair}"));
    if server.starts_with("http") {
        return explore(&connect_http(client, &server).await?, call).await;
    }
    let mut command = Command::new(server);
    command.args(arguments);
    let client = client.connect_command(command).await?;
    let explored = explore(&client, call).await;
    // If the server has crashed, fails with its exit status and the last lines of standard error.
    client.close().await?;
    explored?;
    println!("server ended");
    Ok(())
}

/// Reads `--call TOOL [ARGUMENTS]`.
fn tool_to_call(
    arguments: &mut Peekable<impl Iterator<Item = String>>,
) -> Result<Option<(String, JsonObject)>, Failure> {
    if arguments.next_if(|argument| argument == "--call").is_none() {
        return Ok(None);
    }
    let tool = arguments.next().ok_or(USAGE)?;
    match arguments.next_if(|argument| argument.starts_with('{')) {
        Some(json) => Ok(Some((tool, mcpgen_types::from_str(&json)?))),
        None => Ok(Some((tool, JsonObject::new()))),
    }
}

#[cfg(feature = "http-client")]
async fn connect_http(client: ClientBuilder, url: &str) -> Result<Client, Failure> {
    Ok(client.connect_http(url, mcpgen_sdk::http::client::ClientOptions::default()).await?)
}

#[cfg(not(feature = "http-client"))]
async fn connect_http(_: ClientBuilder, _: &str) -> Result<Client, Failure> {
    Err("built without the feature http-client".into())
}

async fn explore(client: &Client, call: Option<(String, JsonObject)>) -> Result<(), Failure> {
    if let Some(server) = client.peer().peer_info() {
        let text =
            |member: &str| server.implementation.get(member).and_then(JsonRef::as_str).unwrap_or("unknown".into());
        println!("server: {} {}", text("name"), text("version"));
    }
    println!("revision: {}", client.revision());
    let tools = client.tools().await.map(|tools| tools.iter().map(|tool| tool.name.clone()).collect());
    let tools: Vec<String> = or_report("tools", tools);
    print("tool", tools.iter().map(String::as_str));
    print("resource", or_report("resources", client.resources().await).iter().map(|it| it.uri.as_str()));
    let templates = or_report("resource templates", client.resource_templates().await);
    print("template", templates.iter().map(|it| it.uri_template.as_str()));
    print("prompt", or_report("prompts", client.prompts().await).iter().map(|it| it.name.as_str()));
    let echo = || JsonObject::from([("message", "hello".into())]);
    let call = call.or_else(|| tools.iter().any(|name| name == "echo").then(|| ("echo".to_owned(), echo())));
    if let Some((tool, arguments)) = call {
        let result = client
            .tool(&tool)
            .arguments(arguments)
            .on_progress(|progress| eprintln!("{} of {:?}", progress.progress, progress.total))
            .await?;
        let failed = if result.is_error == Some(true) { "failed: " } else { "" };
        println!("{tool}: {failed}{}", mcpgen_types::to_string(&result.content));
    }
    Ok(())
}

fn print<'a>(kind: &str, names: impl Iterator<Item = &'a str>) {
    names.for_each(|name| println!("{kind}: {name}"));
}

/// A list that fails counts as empty. The error is printed, unless the server just does not support the list.
fn or_report<T>(what: &str, list: Result<Vec<T>, CallError>) -> Vec<T> {
    list.unwrap_or_else(|error| {
        let is_unsupported = match &error {
            CallError::NotAllowed(_) => true,
            CallError::ErrorResponse(error) => error.code == mcpgen_types::ErrorCode::METHOD_NOT_FOUND,
            _ => false,
        };
        if !is_unsupported {
            eprintln!("cannot list {what}: {error}");
        }
        Vec::new()
    })
}
