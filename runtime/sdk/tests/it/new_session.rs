//! A second `initialize` on one connection, which a gateway sends for its next client.

use std::sync::Arc;

use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::protocol::{ContextExt, Level, PeerExt, Role, RouterExt};
use mcpgen_sdk::server::{RequestContext, ToolError};
use mcpgen_sdk::{CallError, Limits, Peer, Router, Server};
use mcpgen_types::v2026_07_28::{Resource, Tool, ToolInputSchema};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::support::{self, RawPeer};

fn tool(name: &str) -> Tool {
    Tool::new(name, ToolInputSchema::new())
}

/// Reports when it is dropped.
struct OnDrop(mpsc::UnboundedSender<&'static str>, &'static str);

impl Drop for OnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(self.1);
    }
}

/// Returns a server, and what its handlers report when they end.
fn server() -> (Server, mpsc::UnboundedReceiver<&'static str>) {
    let (ended, reports) = mpsc::unbounded_channel();
    let hang_ended = ended.clone();
    let server = Server::builder("server", "1")
        .logging()
        .tool(tool("hang"), move || {
            let on_drop = OnDrop(hang_ended.clone(), "hang");
            async move {
                let _on_drop = on_drop;
                std::future::pending::<&str>().await
            }
        })
        .tool(tool("asks"), move |context: RequestContext| {
            let on_drop = OnDrop(ended.clone(), "asks");
            async move {
                let _on_drop = on_drop;
                context.roots("where").await?;
                Ok::<_, ToolError>("asked")
            }
        })
        .tool(tool("logs"), |context: RequestContext| async move {
            context.log(Level::Info, None, "an event").await;
            "logged"
        })
        .resource(Resource::new("file:///a", "a"), || async { "a" })
        .build();
    (server, reports)
}

fn connect(server: &Server) -> (RawPeer, Peer) {
    let config = server.config().expect("a valid server");
    let protocol = Arc::new(config.protocol(&Router::new().handled(Role::Server)));
    RawPeer::connect(|pipe| support::run(server.router(), protocol, Limits::default(), pipe))
}

fn request(id: i64, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn call(id: i64, name: &str) -> String {
    request(id, "tools/call", json!({ "name": name, "arguments": {} }))
}

fn modern_call(id: i64, name: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    request(id, "tools/call", json!({ "name": name, "arguments": {}, "_meta": meta }))
}

fn initialize(id: i64, revision: &str, capabilities: Value) -> String {
    let client = json!({ "name": revision, "version": "1" });
    request(
        id,
        "initialize",
        json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": client }),
    )
}

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

#[tokio::test]
async fn a_second_initialize_begins_a_new_session() {
    let (server, mut ended) = server();
    let (mut remote, peer) = connect(&server);
    remote.request(&initialize(0, "2025-06-18", json!({ "roots": {} }))).await;
    remote.send(INITIALIZED).await;
    remote.request(&request(1, "resources/subscribe", json!({ "uri": "file:///a" }))).await;
    remote.request(&request(2, "logging/setLevel", json!({ "level": "error" }))).await;
    remote.send(&call(3, "hang")).await;
    remote.send(&modern_call(4, "hang")).await;
    let asked = remote.request(&call(5, "asks")).await;
    assert_eq!(asked["method"], "roots/list");
    let asking = tokio::spawn(peer.raw_request("roots/list", None).send());
    assert_eq!(remote.receive().await["method"], "roots/list");

    // An invalid request changes nothing.
    assert_eq!(remote.request(&request(6, "initialize", json!({}))).await["error"]["code"], -32602);
    assert!(!asking.is_finished() && ended.try_recv().is_err());

    // The ID is that of a request of the first session, which gets no response.
    let response = remote.request(&initialize(3, "2025-11-25", json!({}))).await;
    assert_eq!((&response["id"], &response["result"]["protocolVersion"]), (&json!(3), &json!("2025-11-25")));
    let mut both = [ended.recv().await, ended.recv().await];
    both.sort_unstable();
    assert_eq!(both, [Some("asks"), Some("hang")], "the requests of the first session are cancelled");
    assert!(matches!(asking.await.expect("no panic"), Err(CallError::Closed(_))), "a call to the first client fails");
    let info = peer.peer_info().expect("a client");
    assert_eq!(info.implementation.get("name").expect("a name"), "2025-11-25");
    assert!(!info.can(&["roots"]));

    // The second client is not notified before it is ready, nor of what the first client subscribed to.
    server.changed(&Change::Resource("file:///a".to_owned()));
    server.changed(&Change::Tools);
    assert_eq!(remote.request(&request(7, "ping", json!({}))).await["id"], 7);
    remote.send(INITIALIZED).await;
    assert_eq!(remote.request(&call(5, "asks")).await["id"], 5, "this client has no roots");
    remote.request(&request(6, "resources/subscribe", json!({ "uri": "file:///b" }))).await;
    server.changed(&Change::Resource("file:///a".to_owned()));
    server.changed(&Change::Resource("file:///b".to_owned()));
    assert_eq!(remote.receive().await["params"]["uri"], "file:///b");
    server.changed(&Change::Tools);
    assert_eq!(remote.receive().await["method"], "notifications/tools/list_changed");
    // The log level that the first client set does not apply to the second client.
    assert_eq!(remote.request(&call(8, "logs")).await["method"], "notifications/message");
    assert_eq!(remote.receive().await["id"], 8);
    // The modern request belongs to no session, so it is still running.
    while let Ok(report) = ended.try_recv() {
        assert_eq!(report, "asks");
    }
    assert_eq!(remote.request(&modern_call(4, "logs")).await["error"]["code"], -32600, "it is still pending");
}

/// All sessions together have more subscriptions and requests than one session may have.
#[tokio::test]
async fn sessions_keep_nothing_of_those_before() {
    let (server, mut ended) = server();
    let (mut remote, _peer) = connect(&server);
    for session in 0..3 {
        assert!(remote.request(&initialize(0, "2025-11-25", json!({}))).await["result"].is_object(), "{session}");
        remote.send(INITIALIZED).await;
        for uri in 0..1000 {
            let subscribe = request(1, "resources/subscribe", json!({ "uri": format!("file:///{session}/{uri}") }));
            assert_eq!(remote.request(&subscribe).await["result"], json!({}), "{session} {uri}");
        }
        for id in 2..202 {
            remote.send(&call(id, "hang")).await;
        }
        assert_eq!(remote.request(&call(1, "logs")).await["method"], "notifications/message");
        assert_eq!(remote.receive().await["id"], 1, "session {session}");
    }
    for _ in 0..400 {
        assert_eq!(ended.recv().await, Some("hang"));
    }
}
