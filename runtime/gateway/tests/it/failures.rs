//! Servers that end, and servers that do not start.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::StreamExt;
use mcpgen_gateway::ServerConfig;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::transport::{self, Inbound};
use mcpgen_types::Revision;
use mcpgen_types::v2026_07_28::SubscriptionFilter;
use serde_json::{Value, json};

use crate::support::{ERAS, call, client, connect, for_all_eras, gateway, in_time, text, tool_names, two_servers};

#[tokio::test]
async fn a_server_that_ends_in_a_call_comes_back() {
    for_all_eras(|front, behind| async move {
        let client = connect(&gateway(two_servers(behind)), client(front)).await;
        assert_eq!(tool_names(&client).await.len(), 14);
        let shared = "a+file:///shared".to_owned();
        let filter =
            SubscriptionFilter::new().with_tools_list_changed(true).with_resource_subscriptions([shared.clone()]);
        let mut changes = in_time(client.changes(filter)).await.expect("a subscription");
        let (failed, other) = tokio::join!(call(&client, "crash"), text(&client, "b__greet"));
        assert_eq!(other, "hello from b");
        let failed = failed.expect_err("the server has ended").to_string();
        // The output of the server is in the log only.
        assert!(failed.contains("server `a`: its process exited with status 7"), "{failed}");
        assert!(!failed.contains("disk full") && !failed.contains("gateway_server"), "{failed}");
        // The lists change once for the end, and once for the return. The resource may have changed meanwhile.
        let (mut names, mut has_resource) = (Vec::new(), false);
        while names.len() != 14 || !has_resource {
            match in_time(changes.try_next()).await.expect("a subscription").expect("a change") {
                Change::Tools => names = tool_names(&client).await,
                change => has_resource |= change == Change::Resource(shared.clone()),
            }
            let is_stable = names.is_empty() || names.contains(&"b__greet".to_owned());
            assert!(is_stable, "the names of others stay: {names:?}");
        }
        assert_eq!(text(&client, "a__greet").await, "hello from a");
    })
    .await;
}

#[tokio::test]
async fn a_server_that_does_not_start_takes_only_its_tools_with_it() {
    for revision in ERAS {
        let mut config = two_servers(revision);
        let broken = ServerConfig::of_command("sh", ["-c", "echo 'no license' >&2; exit 3"]);
        config.servers.insert("broken".to_owned(), broken);
        let client = connect(&gateway(config), client(revision)).await;
        assert_eq!(tool_names(&client).await.len(), 14);
        assert_eq!(text(&client, "only_b").await, "only");
        let unknown = call(&client, "broken__tool").await.expect_err("no such tool").to_string();
        let expected = "server `broken` is not available: its process exited with status 3";
        assert!(unknown.contains(expected) && !unknown.contains("no license"), "{unknown}");
    }
}

/// The messages of a client that counts the responses to each request.
fn call_message(id: u64, tool: &str, arguments: &Value, revision: Revision) -> Vec<u8> {
    let mut params = json!({ "name": tool, "arguments": arguments });
    if !revision.is_legacy() {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": revision.as_str(),
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "counter", "version": "1" },
        });
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string().into_bytes()
}

/// Calls while the server is killed again and again. Each request gets exactly one response.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_is_lost_and_none_is_answered_twice() {
    use futures_util::SinkExt;

    const CALLS: u64 = 1200;
    for revision in [Revision::V2025_11_25, Revision::LATEST] {
        let gateway = gateway(two_servers(revision));
        let ((incoming, outgoing), to_client) = transport::duplex();
        let serving = gateway.clone();
        tokio::spawn(async move { serving.serve_client(to_client, std::future::pending()).await });
        let (mut incoming, mut outgoing) = (Box::pin(incoming), Box::pin(outgoing));
        if revision.is_legacy() {
            let params = json!({ "protocolVersion": revision.as_str(), "capabilities": {},
                "clientInfo": { "name": "counter", "version": "1" } });
            let first = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
            outgoing.send(first.to_string().into_bytes().into()).await.expect("sent");
            in_time(incoming.next()).await.expect("a response").expect("a message");
            let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            outgoing.send(ready.to_string().into_bytes().into()).await.expect("sent");
        }
        tokio::spawn(async move {
            for id in 1..=CALLS {
                let (tool, arguments) = match id % 97 {
                    0 => ("crash", json!({})),
                    _ if id % 3 == 0 => ("b__greet", json!({})),
                    _ => ("echo", json!({ "text": id.to_string() })),
                };
                outgoing.send(call_message(id, tool, &arguments, revision).into()).await.expect("sent");
                if id % 10 == 0 {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
            // Keeps the connection open.
            std::future::pending::<()>().await;
        });
        let mut responses: HashMap<u64, Value> = HashMap::new();
        while responses.len() < usize::try_from(CALLS).expect("a small number") {
            let message = in_time(incoming.next()).await.expect("an open connection").expect("a message");
            let message: Value = mcpgen_types::from_slice(&Inbound::into_bytes(message).expect("bytes")).expect("JSON");
            if let Some(id) = message["id"].as_u64().filter(|_| message.get("method").is_none()) {
                assert_eq!(responses.insert(id, message), None, "{id} has two responses");
            }
        }
        // Nothing follows.
        let more = async {
            loop {
                let message = incoming.next().await.expect("an open connection").expect("a message");
                let message: Value =
                    mcpgen_types::from_slice(&Inbound::into_bytes(message).expect("bytes")).expect("JSON");
                assert!(message.get("method").is_some(), "{message}");
            }
        };
        assert!(tokio::time::timeout(Duration::from_millis(500), more).await.is_err());
        let (mut echoed, mut failed) = (0, 0);
        for (id, response) in responses {
            match response.get("error") {
                Some(error) => {
                    failed += 1;
                    let text = error["message"].as_str().expect("a text");
                    assert!(text.contains("server `a`"), "{id}: {error}");
                }
                None if id % 97 == 0 => panic!("{id}: {response}"),
                None if id % 3 == 0 => assert_eq!(response["result"]["content"][0]["text"], "hello from b"),
                None => {
                    echoed += 1;
                    assert_eq!(response["result"]["content"][0]["text"], id.to_string());
                }
            }
        }
        eprintln!("{revision}: {echoed} echoed, {failed} failed");
        assert!(echoed > 0 && failed >= CALLS / 97, "{echoed} echoed, {failed} failed");
    }
}
