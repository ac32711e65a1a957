//! A client that lists the tools, resources and prompts of a server, and calls the tool `echo` if the server has it.
//! `explore COMMAND [ARGUMENT..]` starts the server, `explore URL` connects to it over HTTP.

#![allow(deprecated, reason = "what the newest revision deprecates is still served")]

use mcpgen_runtime::prelude::*;
use mcpgen_types::v2026_07_28::{CreateMessageResult, ElicitResult, ElicitResultAction, Role, TextContent};
use serde_json::json;
use tokio::process::Command;

type Failure = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().ok_or("usage: explore URL | COMMAND [ARGUMENT..]")?;
    let client = Client::builder("explorer", "0.1.0")
        .on_sampling(|_, _| async {
            Ok(CreateMessageResult::new(TextContent::new("I am not a model."), "none", Role::Assistant))
        })
        .on_elicitation(|_, _| async { Ok(ElicitResult::new(ElicitResultAction::Decline)) })
        .roots([])
        .lenient(|method, repair| eprintln!("{method}: {repair}"));
    if server.starts_with("http") {
        return explore(&connect_http(client, &server).await?).await;
    }
    let mut command = Command::new(server);
    command.args(arguments);
    let client = client.connect_command(command).await?;
    explore(&client).await?;
    client.close().await?;
    println!("server ended");
    Ok(())
}

#[cfg(feature = "http-client")]
async fn connect_http(client: ClientBuilder, url: &str) -> Result<Client, Failure> {
    Ok(client.connect_http(url, mcpgen_runtime::http::client::ClientOptions::default()).await?)
}

#[cfg(not(feature = "http-client"))]
async fn connect_http(_: ClientBuilder, _: &str) -> Result<Client, Failure> {
    Err("built without the feature http-client".into())
}

async fn explore(client: &Client) -> Result<(), Failure> {
    println!("revision: {}", client.revision());
    for tool in client.tools().await?.iter() {
        println!("tool: {}", tool.name);
    }
    for resource in unless_unknown(client.resources().await)? {
        println!("resource: {}", resource.uri);
    }
    for template in unless_unknown(client.resource_templates().await)? {
        println!("template: {}", template.uri_template);
    }
    for prompt in unless_unknown(client.prompts().await)? {
        println!("prompt: {}", prompt.name);
    }
    if client.tools().await?.iter().any(|tool| tool.name == "echo") {
        let arguments = json!({ "message": "hello" }).as_object().cloned().unwrap_or_default();
        let result = client.call_tool("echo", arguments).await?;
        println!("echo: {}", mcpgen_types::to_string(&result.content));
    }
    Ok(())
}

/// Returns an empty list if the server does not support the list method.
fn unless_unknown<T>(list: Result<Vec<T>, CallError>) -> Result<Vec<T>, CallError> {
    match list {
        Err(CallError::NotAllowed(_)) => Ok(Vec::new()),
        Err(CallError::ErrorResponse(error)) if error.code == mcpgen_types::ErrorCode::METHOD_NOT_FOUND => {
            Ok(Vec::new())
        }
        list => list,
    }
}
