//! A client that lists what a server has, and calls its tool `echo` if there is one: `explore COMMAND [ARGUMENT..]`.

use mcpgen_runtime::transport::{lines, stdio::Server};
use mcpgen_runtime::{CallError, Client};
use mcpgen_types::v2026_07_28::{CreateMessageResult, ElicitResult, ElicitResultAction, Role, TextContent};
use serde_json::json;
use tokio::process::Command;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut command = Command::new(arguments.next().ok_or("usage: explore COMMAND [ARGUMENT..]")?);
    command.args(arguments);

    let (server, incoming, outgoing) = Server::start(command, lines::LONGEST)?;
    let client = Client::builder("explorer", "0.1.0")
        .on_sampling(|_, _| async {
            Ok(CreateMessageResult::new(TextContent::new("I am no model."), "none", Role::Assistant))
        })
        .on_elicitation(|_, _| async { Ok(ElicitResult::new(ElicitResultAction::Decline)) })
        .roots([])
        .lenient(|method, repair| eprintln!("{method}: {repair}"))
        .connect(incoming, outgoing)
        .await?;
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
    client.peer.disconnect();
    client.connection.await??;
    println!("server ended: {}", server.close().await?);
    Ok(())
}

/// A server that has nothing of a kind may not know the list of it, and a client need not ask for it.
fn unless_unknown<T>(list: Result<Vec<T>, CallError>) -> Result<Vec<T>, CallError> {
    match list {
        Err(CallError::NotAllowed(_)) => Ok(Vec::new()),
        Err(CallError::Refused(error)) if error.code == mcpgen_types::ErrorCode::METHOD_NOT_FOUND => Ok(Vec::new()),
        list => list,
    }
}
