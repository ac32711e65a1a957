//! A client of a server that it starts: `client COMMAND [ARGUMENT..]`. Prints what it learns, a line each.

use mcpgen_runtime::connection::Limits;
use mcpgen_runtime::router::Router;
use mcpgen_runtime::transport::{lines, stdio::Server};
use mcpgen_runtime::{Introduction, connect};
use mcpgen_types::v2025_11_25::{
    CallToolRequest, CallToolRequestParams, CreateMessageRequest, CreateMessageResult, ListToolsRequest,
    LoggingMessageNotification, PingRequest, Role, TextContent,
};
use mcpgen_types::{ErrorObject, Revision};
use serde_json::json;
use tokio::process::Command;

type Failure = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut command = Command::new(arguments.next().ok_or("usage: client COMMAND [ARGUMENT..]")?);
    command.args(arguments);

    let (server, incoming, outgoing) = Server::start(command, lines::LONGEST)?;
    let handlers = Router::new()
        .request::<CreateMessageRequest>(|_, params| async move {
            let words = format!("{} messages read", params.messages.len());
            Ok::<_, ErrorObject>(CreateMessageResult::new(TextContent::new(words), "example-model", Role::Assistant))
        })
        .notification::<LoggingMessageNotification>(|_, params| async move { println!("log: {}", params.data) });
    let ours = Introduction {
        revisions: vec![Revision::V2025_11_25],
        ..Introduction::new("example-client", "0.1.0").able("sampling", json!({}))
    };
    let client = connect(ours, handlers.clone(), handlers, incoming, outgoing, Limits::default()).await?;
    let peer = &client.peer;
    if let Some(about) = peer.about() {
        println!("server: {} {}", about.implementation["name"], about.revision);
    }

    peer.call::<PingRequest>(None).await?;
    let listed = peer.call::<ListToolsRequest>(None).await?;
    println!("tools: {}", listed.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", "));
    for (name, arguments) in [
        ("echo", json!({ "message": "hello" })),
        ("add", json!({ "a": 2, "b": 3 })),
        ("ask", json!({ "question": "how many?" })),
        ("wait", json!({ "steps": 3 })),
        ("nothing", json!({})),
    ] {
        let params =
            CallToolRequestParams::new(name).with_arguments(arguments.as_object().cloned().unwrap_or_default());
        let call = peer.call::<CallToolRequest>(params).on_progress(|report| println!("progress: {}", report.progress));
        match call.await {
            Ok(result) => println!("{name}: {}", mcpgen_types::to_string(&result.content)),
            Err(error) => println!("{name} failed: {error}"),
        }
    }

    peer.disconnect();
    client.connection.await??;
    println!("server ended: {}", server.close().await?);
    Ok(())
}
