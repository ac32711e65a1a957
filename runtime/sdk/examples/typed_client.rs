//! A client with typed handlers that calls the tools of the example `typed_server` and prints a line per result.
//!
//! `typed_client [legacy|modern] COMMAND [ARGUMENT..]` starts a server. `typed_client [legacy|modern] URL` connects to
//! one over HTTP.
//!
//! It supports the newest legacy revision and the modern revision; `legacy` or `modern` restricts it to one of them.

#![allow(deprecated, reason = "what the newest revision deprecates is still served")]

use mcpgen_sdk::client::ChildProcess;
use mcpgen_sdk::protocol::{Level, PeerExt, Progress};
use mcpgen_sdk::tasks::TaskPeerExt;
use mcpgen_sdk::transport::lines;
use mcpgen_sdk::{Client, Limits, LocalInfo, Router, connect};
use mcpgen_types::{ErrorObject, Json, JsonObject, JsonRef, Revision, Value, v2025_11_25, v2026_07_28};
use tokio::process::Command;

type Failure = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).peekable();
    let protocol = arguments.next_if(|first| matches!(first.as_str(), "legacy" | "modern"));
    let local_info = LocalInfo::new("example-client", "0.1.0").with_level(Some(Level::Info)).with_revisions(
        match protocol.as_deref() {
            Some("legacy") => vec![Revision::V2025_11_25],
            Some(_) => vec![Revision::V2026_07_28],
            None => vec![Revision::V2026_07_28, Revision::V2025_11_25],
        },
    );
    let handlers = legacy::handlers(modern::handlers(Router::new()));
    let server = arguments.next().ok_or("usage: typed_client [legacy|modern] URL | COMMAND [ARGUMENT..]")?;
    if server.starts_with("http") {
        return run(&connect_http(local_info, handlers, &server).await?).await;
    }
    let mut command = Command::new(server);
    command.args(arguments);
    let (server, incoming, outgoing) = ChildProcess::start(command, lines::DEFAULT_LINE_LIMIT)?;
    let client = connect(local_info, handlers.clone(), handlers, incoming, outgoing, Limits::default()).await?;
    run(&client).await?;
    client.close().await?;
    println!("server ended: {}", server.close().await?);
    Ok(())
}

#[cfg(feature = "http-client")]
async fn connect_http(local_info: LocalInfo, handlers: Router, url: &str) -> Result<Client, Failure> {
    use mcpgen_sdk::http::client::{ClientOptions, open};
    let (incoming, outgoing) = open(url, ClientOptions::default())?;
    Ok(connect(local_info, handlers.clone(), handlers, incoming, outgoing, Limits::default()).await?)
}

#[cfg(not(feature = "http-client"))]
async fn connect_http(_: LocalInfo, _: Router, _: &str) -> Result<Client, Failure> {
    Err("built without the feature http-client".into())
}

async fn run(client: &Client) -> Result<(), Failure> {
    if let Some(peer_info) = client.peer().peer_info() {
        let name = peer_info.implementation.get("name").and_then(JsonRef::as_str).unwrap_or("unknown".into());
        println!("server: {name} {}", peer_info.revision);
    }
    match client.revision().is_legacy() {
        true => legacy::run(client).await,
        false => modern::run(client).await,
    }
}

/// Tools to call, with their arguments.
fn calls() -> [(&'static str, JsonObject); 5] {
    [
        ("echo", [("message", "hello".into())].into()),
        ("add", [("a", 2.into()), ("b", 3.into())].into()),
        ("ask", [("question", "how many?".into())].into()),
        ("wait", [("steps", 3.into())].into()),
        ("nothing", JsonObject::new()),
    ]
}

fn print_result(name: &str, content: Result<String, String>) {
    match content {
        Ok(content) => println!("{name}: {content}"),
        Err(error) => println!("{name} failed: {error}"),
    }
}

mod legacy {
    use super::v2025_11_25::{
        CallToolRequest, CallToolRequestParams, CreateMessageRequest, CreateMessageResult, ListToolsRequest,
        LoggingMessageNotification, PingRequest, Role, TextContent,
    };
    use super::{Client, ErrorObject, Failure, PeerExt, Router, TaskPeerExt, calls, print_result};

    pub(super) fn handlers(router: Router) -> Router {
        router
            .request::<CreateMessageRequest>(|_, params| async move {
                let text = TextContent::new(format!("{} messages read", params.messages.len()));
                Ok::<_, ErrorObject>(CreateMessageResult::new(Role::Assistant, text, "example-model"))
            })
            .notification::<LoggingMessageNotification>(|_, params| async move { println!("log: {}", params.data) })
    }

    pub(super) async fn run(client: &Client) -> Result<(), Failure> {
        let peer = client.peer();
        peer.call::<PingRequest>(None).await?;
        let listed = peer.call::<ListToolsRequest>(None).await?;
        println!("tools: {}", listed.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", "));
        for (name, arguments) in calls() {
            let params = CallToolRequestParams::new(name).with_arguments(arguments);
            let call = peer
                .request::<CallToolRequest>(params)
                .on_progress(|now: super::Progress| println!("progress: {}", now.progress));
            let content = call.await.map(|result| mcpgen_types::to_string(&result.content));
            print_result(name, content.map_err(|error| error.to_string()));
        }
        if peer.peer_info().is_some_and(|peer_info| peer_info.can(&["tasks", "requests", "tools", "call"])) {
            let (name, arguments) = ("wait", calls()[3].1.clone());
            let params = CallToolRequestParams::new(name).with_arguments(arguments);
            let created = peer.call_task::<CallToolRequest>(params).await?;
            let result = peer.task_result::<CallToolRequest>(&created.task.task_id).await?;
            println!("task: {:?}, then {}", created.task.status, mcpgen_types::to_string(&result.content));
        }
        Ok(())
    }
}

mod modern {
    use super::v2026_07_28::{
        CallToolRequest, CallToolRequestParams, CreateMessageRequest, CreateMessageResult, ListToolsRequest,
        LoggingMessageNotification, PaginatedRequestParams, Role, SubscriptionFilter, TextContent,
    };
    use super::{Client, ErrorObject, Failure, Json, Router, Value, calls, print_result};

    pub(super) fn handlers(router: Router) -> Router {
        router
            .request::<CreateMessageRequest>(|_, params| async move {
                let text = TextContent::new(format!("{} messages read", params.messages.len()));
                Ok::<_, ErrorObject>(CreateMessageResult::new(Role::Assistant, text, "example-model"))
            })
            .notification::<LoggingMessageNotification>(|_, params| async move { println!("log: {}", params.data) })
    }

    pub(super) async fn run(client: &Client) -> Result<(), Failure> {
        let params = PaginatedRequestParams::new(client.meta());
        let listed = client.peer().call::<ListToolsRequest>(params).await?;
        println!("tools: {}", listed.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", "));
        for (name, arguments) in calls() {
            let params = CallToolRequestParams::new(name, client.meta()).with_arguments(arguments);
            let result = match name {
                // A single round, with progress notifications.
                "wait" => {
                    let request = client.peer().request::<CallToolRequest>(params);
                    let result =
                        request.on_progress(|now: super::Progress| println!("progress: {}", now.progress)).await;
                    result
                        .map(|result| Json::from(&result).get("content").map_or_else(String::new, |it| it.to_string()))
                }
                _ => {
                    let result = client.complete::<CallToolRequest>(params).await;
                    result.map(|result| mcpgen_types::to_string(&result.content))
                }
            };
            print_result(name, result.map_err(|error| error.to_string()));
        }

        let mut changes = client.changes(SubscriptionFilter::new().with_tools_list_changed(true)).await?;
        client.peer().custom_request::<_, Value>("tools/call", &serde_json::json!({ "name": "touch" }))?.await?;
        println!("changed: {:?}", changes.try_next().await?);
        Ok(())
    }
}
