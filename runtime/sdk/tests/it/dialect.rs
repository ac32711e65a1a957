//! The unofficial dialect of the protocol. Replays its description, a seed outside this repository, if available.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt;
use mcpgen_sdk::protocol::{Mcp, RouterExt};
use mcpgen_sdk::transport::lines;
use mcpgen_sdk::{Connection, Router, Server};
use mcpgen_types::v2025_11_25::{CallToolResult, InitializeResult};
use mcpgen_types::v2026_07_28::{Prompt, Resource, Tool, ToolInputSchema};
use serde_json::{Value, json};

use crate::support::{RawPeer, dialect};

fn server() -> Server {
    Server::builder("dialect", "1")
        .tool(Tool::new("query_database", ToolInputSchema::new()), || async { "rows" })
        .resource(Resource::new("file:///var/log/app.log", "log"), || async { "line" })
        .prompt(Prompt::new("analyze_data"), |arguments: BTreeMap<String, String>| async move {
            format!("{} arguments", arguments.len())
        })
        .build()
}

fn connect() -> RawPeer {
    let server = server();
    let protocol =
        server.config().expect("a valid server").protocol(&Router::new().handled(mcpgen_sdk::protocol::Role::Server));
    let router = dialect::handlers(server.router());
    let (remote, ()) = RawPeer::connect(|pipe| {
        let (reader, writer) = tokio::io::split(pipe);
        let connection = Connection::new(router, Mcp::new(Arc::new(protocol)));
        tokio::spawn(connection.run(dialect::incoming(lines::receive(reader, 1 << 20)), lines::send(writer)));
    });
    remote
}

/// Translates a message.
async fn received(message: &Value) -> Value {
    let stream = futures_util::stream::iter([Ok(message.to_string().into_bytes().into())]);
    let translated = std::pin::pin!(dialect::incoming(stream)).next().await.expect("a message").expect("no error");
    serde_json::from_slice(&translated.into_bytes().expect("bytes")).expect("JSON")
}

#[tokio::test]
async fn translates_only_the_dialect() {
    let notification = |method: &str| json!({ "jsonrpc": "2.0", "method": method });
    let response = |result: Value| json!({ "jsonrpc": "2.0", "id": 1, "result": result });
    let error = |code: i64| json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": code, "message": "" } });
    let initialize = |capabilities: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "capabilities": capabilities } });
    let link =
        json!({ "type": "resource", "resource": { "uri": "memory://a", "name": "A", "mimeType": "text/plain" } });
    let cases = [
        (notification("initialized"), notification("notifications/initialized")),
        (notification("tools/list-changed"), notification("notifications/tools/list_changed")),
        (notification("prompts/list-changed"), notification("notifications/prompts/list_changed")),
        (notification("resources/updated"), notification("notifications/resources/updated")),
        (notification("notifications/initialized"), notification("notifications/initialized")),
        (notification("exit"), notification("exit")),
        (
            initialize(json!({ "tools": true, "prompts": false, "sampling": {}, "experimental": { "x": true } })),
            initialize(json!({ "tools": {}, "sampling": {}, "experimental": { "x": {} } })),
        ),
        (error(-32000), error(-32602)),
        (error(-32001), error(-32603)),
        (error(-32002), error(-32002)),
        (error(-32003), error(-32602)),
        (error(-32004), error(-32602)),
        (error(-32005), error(-32603)),
        (error(-32006), error(-32006)),
        (
            response(json!({ "content": [link] })),
            response(
                json!({ "content": [{ "type": "resource_link", "uri": "memory://a", "name": "A", "mimeType": "text/plain" }] }),
            ),
        ),
        (
            json!([notification("initialized"), error(-32000)]),
            json!([notification("notifications/initialized"), error(-32602)]),
        ),
        (json!(1), json!(1)),
    ];
    for (message, expected) in cases {
        assert_eq!(received(&message).await, expected, "{message}");
    }
    // A request with the name of a notification is a custom request.
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialized" });
    assert_eq!(received(&request).await, request);
}

#[tokio::test]
async fn serves_clients_of_the_dialect() {
    let mut remote = connect();
    let params = json!({ "protocolVersion": "1.0.0", "capabilities": { "tools": true }, "clientInfo": { "name": "c", "version": "1" } });
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    assert_eq!(remote.request(&initialize.to_string()).await["result"]["protocolVersion"], "2025-11-25");
    remote.send(r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#).await;
    let list = remote.request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert_eq!(list["result"]["tools"][0]["name"], "query_database");
    assert_eq!(remote.request(r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#).await["result"], json!({}));
    remote.send(r#"{"jsonrpc":"2.0","method":"exit"}"#).await;
    assert!(remote.is_closed().await);
}

/// Returns the JSON documents in a text.
fn documents(text: &str) -> Vec<Value> {
    let starts = text.match_indices('{').filter(|(at, _)| *at == 0 || text[..*at].ends_with('\n'));
    let first = |(at, _)| serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>().next()?.ok();
    starts.filter_map(first).collect()
}

fn seed() -> Option<String> {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/seeds");
    let files = fs::read_dir(folder).ok()?.filter_map(|file| fs::read_to_string(file.ok()?.path()).ok());
    files.into_iter().find(|text| text.contains("tools/list-changed"))
}

#[tokio::test]
async fn replays_the_seed() {
    let Some(seed) = seed() else {
        eprintln!("NOTE: the seed of the dialect is not available, so it is not replayed");
        return;
    };
    let (mut remote, mut replayed, mut responses) = (connect(), 0, 0);
    for (id, mut message) in documents(&seed).into_iter().enumerate() {
        let Some(method) = message["method"].as_str().map(str::to_owned) else {
            // Clients can decode the results of the dialect's servers.
            let mut result =
                received(&json!({ "jsonrpc": "2.0", "id": 1, "result": message["result"] })).await["result"].clone();
            if result.get("serverInfo").is_some() {
                mcpgen_types::from_value::<InitializeResult>(result).expect("an official result");
                responses += 1;
            } else if result.get("content").is_some() {
                mcpgen_types::from_value::<CallToolResult>(result.take()).expect("an official result");
                responses += 1;
            }
            continue;
        };
        if method.contains("namespace") || method == "exit" {
            continue;
        }
        message["jsonrpc"] = json!("2.0");
        let is_notification = ["initialized", "tools/list-changed", "resources/updated"].contains(&method.as_str());
        replayed += 1;
        if is_notification {
            remote.send(&message.to_string()).await;
            continue;
        }
        message["id"] = json!(id);
        let response = remote.request(&message.to_string()).await;
        match message["params"].get("cursor") {
            // The cursor belongs to another server.
            Some(_) => assert_eq!(response["error"]["code"], -32602, "{message}"),
            None => assert!(response["result"].is_object(), "{message}: {response}"),
        }
    }
    assert!(replayed >= 12 && responses >= 2, "{replayed} messages, {responses} responses");
    remote.send(r#"{"jsonrpc":"2.0","method":"exit"}"#).await;
    assert!(remote.is_closed().await);
}
