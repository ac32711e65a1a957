//! The legacy protocol: the handshake, and the messages that each peer may send.

use std::sync::Arc;

use mcpgen_sdk::client::handshake::HandshakeError;
use mcpgen_sdk::connection::Limits;
use mcpgen_sdk::peer::{CallError, Peer};
use mcpgen_sdk::protocol::config::ServerConfig;
use mcpgen_sdk::protocol::info::{HandlerCapabilities, LocalInfo};
use mcpgen_sdk::protocol::legacy::Legacy;
use mcpgen_sdk::protocol::{ContextExt, Level, NotAllowed, PeerExt, Role};
use mcpgen_sdk::router::Router;
use mcpgen_sdk::transport::lines;
use mcpgen_sdk::{Client, connect};
use mcpgen_types::{ErrorObject, Json, Revision, v2024_11_05, v2025_03_26, v2025_11_25, v2026_07_28};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{self, RawPeer};

/// Returns a router for three revisions. `tools/list` returns the revision of the request as the name of a tool.
fn router() -> Router {
    macro_rules! tools {
        ($router:expr, $($revision:ident),*) => {
            $router$(.request::<$revision::ListToolsRequest>(|context, _| async move {
                let tool = $revision::Tool::new(context.revision().as_str(), $revision::ToolInputSchema::new());
                Ok::<_, ErrorObject>($revision::ListToolsResult::new(vec![tool]))
            }))*
        };
    }
    let router = Router::new().request::<v2025_11_25::CallToolRequest>(|context, params| async move {
        if params.name == "hang" {
            std::future::pending::<()>().await;
        }
        context.log(Level::Debug, None, "a detail").await;
        context.log(Level::Error, Some("here"), "a failure").await;
        let result = context.peer().call::<v2025_11_25::ListRootsRequest>(None).await;
        let text = result.map_or_else(|error| error.to_string(), |result| format!("{} roots", result.roots.len()));
        Ok::<_, ErrorObject>(v2025_11_25::CallToolResult::new(vec![v2025_11_25::TextContent::new(text).into()]))
    });
    tools!(router, v2024_11_05, v2025_03_26, v2025_11_25)
}

fn local_info() -> LocalInfo {
    LocalInfo::new("server", "1").capability("tools", json!({})).capability("logging", json!({})).with_revisions(vec![
        Revision::V2025_11_25,
        Revision::V2025_03_26,
        Revision::V2024_11_05,
    ])
}

fn server(local_info: LocalInfo) -> (RawPeer, Peer) {
    RawPeer::connect(|pipe| {
        support::run(router(), Arc::new(Legacy::new(Role::Server, local_info)), Limits::default(), pipe)
    })
}

fn initialize(revision: &str, capabilities: &Value) -> String {
    let info = json!({ "name": "client", "version": "1" });
    let params = json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": info });
    json!({ "jsonrpc": "2.0", "id": "init", "method": "initialize", "params": params }).to_string()
}

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;

/// Connects to a server and completes the handshake in its newest revision.
async fn ready(capabilities: Value) -> (RawPeer, Peer) {
    let (mut remote, peer) = server(local_info());
    remote.request(&initialize("2025-11-25", &capabilities)).await;
    remote.send(INITIALIZED).await;
    (remote, peer)
}

#[tokio::test]
async fn rejects_requests_before_initialize() {
    let (mut remote, peer) = server(local_info());
    assert_eq!(remote.request(LIST).await["error"]["code"], -32600);
    assert_eq!(remote.request(PING).await["result"], json!({}));
    assert!(peer.peer_info().is_none());
    let error = peer.call::<v2025_11_25::ListRootsRequest>(None).await.expect_err("not initialized");
    assert!(matches!(error, CallError::NotAllowed(_)), "{error}");
}

#[tokio::test]
async fn initialize_returns_the_server_info() {
    let (mut remote, peer) = server(local_info().with_instructions(Some("be kind".into())));
    let response = remote.request(&initialize("2025-11-25", &json!({ "roots": {} }))).await;
    let expected = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "tools": {}, "logging": {} },
        "serverInfo": { "name": "server", "version": "1" }, "instructions": "be kind",
    });
    assert_eq!(response["result"], expected);
    let peer_info = peer.peer_info().expect("the client's info");
    assert_eq!(
        (peer_info.revision, peer_info.implementation.text()),
        (Revision::V2025_11_25, r#"{"name":"client","version":"1"}"#)
    );
    assert!(peer_info.can(&["roots"]) && !peer_info.can(&["roots", "listChanged"]) && !peer_info.can(&["sampling"]));
}

#[tokio::test]
async fn rejects_invalid_initialize_params() {
    for (params, member) in [
        ("", "params"),
        (r#","params":{}"#, "protocolVersion"),
        (r#","params":{"protocolVersion":5}"#, "protocolVersion"),
        (r#","params":{"protocolVersion":"2025-11-25"}"#, "capabilities"),
        (r#","params":{"protocolVersion":"2025-11-25","capabilities":{}}"#, "clientInfo"),
        (r#","params":[]"#, "params"),
    ] {
        let (mut remote, _peer) = server(local_info());
        let response = remote.request(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize"{params}}}"#)).await;
        assert_eq!(response["error"]["code"], -32602, "{response}");
        assert!(response["error"]["message"].to_string().contains(member), "{response}");
        assert!(
            remote.request(&initialize("2025-11-25", &json!({}))).await["result"].is_object(),
            "a valid request is accepted afterwards"
        );
    }
}

#[tokio::test]
async fn negotiates_the_revision() {
    for (requested, expected) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1.0.0", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        let (mut remote, _peer) = server(local_info());
        let response = remote.request(&initialize(requested, &json!({}))).await;
        assert_eq!(response["result"]["protocolVersion"], expected, "{requested}");
    }
}

#[tokio::test]
async fn handles_requests_in_the_negotiated_revision() {
    for revision in ["2025-11-25", "2025-03-26", "2024-11-05"] {
        let (mut remote, _peer) = server(local_info());
        remote.request(&initialize(revision, &json!({}))).await;
        assert_eq!(remote.request(LIST).await["result"]["tools"][0]["name"], revision);
    }
}

#[tokio::test]
async fn accepts_batches_in_one_revision_only() {
    let batch = format!("[{},{LIST},", initialize("2025-03-26", &json!({})))
        + &format!("{INITIALIZED},5,{PING},{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"no/such\"}}]");
    let (mut remote, _peer) = server(local_info());
    assert_eq!(remote.request(&batch).await["error"]["code"], -32600, "not before the handshake");
    remote.request(&initialize("2025-03-26", &json!({}))).await;
    let response = remote.request(&batch).await;
    let mut codes: Vec<String> = response
        .as_array()
        .expect("a batch of responses")
        .iter()
        .map(|response| format!("{} {}", response["id"], response["error"]["code"]))
        .collect();
    codes.sort_unstable();
    assert_eq!(codes, ["\"init\" -32600", "\"p\" null", "1 null", "2 -32601", "null -32600"]);
    // A batch of notifications has no response.
    remote.send(&format!("[{INITIALIZED}]")).await;
    assert_eq!(remote.request(LIST).await["id"], 1);
    for revision in ["2025-11-25", "2024-11-05"] {
        let (mut remote, _peer) = server(local_info());
        remote.request(&initialize(revision, &json!({}))).await;
        let response = remote.request(&batch).await;
        assert_eq!((&response["id"], &response["error"]["code"]), (&Value::Null, &json!(-32600)), "{revision}");
    }
}

/// If the ID of an error response is unknown, the schema of the revision decides whether the ID is null or left out.
/// Before the handshake, the schema of the revision that the server prefers decides.
#[tokio::test]
async fn an_unknown_id_is_null_or_left_out() {
    let batch = "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},5]";
    for revision in Revision::ALL.iter().filter(|revision| revision.is_legacy()) {
        let expected = if revision.has_optional_error_id() { None } else { Some(&Value::Null) };
        let (mut remote, _peer) = server(local_info().with_revisions(vec![*revision]));
        for garbage in ["{", "5", "[]"] {
            assert_eq!(
                remote.request(garbage).await.get("id"),
                expected,
                "{revision}: {garbage}, before the handshake"
            );
        }
        remote.request(&initialize(revision.as_str(), &json!({}))).await;
        for garbage in ["{", "5", "[]"] {
            let response = remote.request(garbage).await;
            assert_eq!(response.get("id"), expected, "{revision}: {garbage}");
            if *revision == Revision::V2025_11_25 {
                mcpgen_types::from_value::<v2025_11_25::JsonRpcErrorResponse>(response).expect("a valid response");
            }
        }
        if revision.has_batches() {
            assert_eq!(remote.request(batch).await[1].get("id"), Some(&Value::Null));
        }
    }
    let rules = ServerConfig::from(LocalInfo::new("server", "1")).protocol(&HandlerCapabilities::default());
    let (mut remote, _peer) = RawPeer::connect(|pipe| support::run(router(), Arc::new(rules), Limits::default(), pipe));
    let response = remote.request("{").await;
    assert_eq!(response.get("id"), None, "2026-07-28");
    mcpgen_types::from_value::<v2026_07_28::JsonRpcErrorResponse>(response).expect("a valid response");
    remote.request(&initialize("2024-11-05", &json!({}))).await;
    assert_eq!(remote.request("{").await.get("id"), Some(&Value::Null));
}

#[tokio::test]
async fn does_not_use_undeclared_capabilities() {
    let (mut remote, peer) = ready(json!({})).await;
    // A server may serve a list without declaring the capability. This one has no handler for it.
    let response = remote.request(r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#).await;
    assert_eq!(response["error"]["code"], -32601);
    let response = remote.request(r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get"}"#).await;
    assert_eq!(response["error"]["code"], -32601);
    assert!(response["error"]["message"].to_string().contains("the server has not declared the `prompts` capability"));
    let response = remote.request(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}"#).await;
    assert_eq!(response["method"], "notifications/message");
    remote.receive().await;
    let response = remote.receive().await;
    let text = response["result"]["content"][0]["text"].to_string();
    assert!(text.contains("roots/list: the client has not declared the `roots` capability"), "{response}");
    let error = peer.notify::<v2025_11_25::ToolListChangedNotification>(None).await.expect_err("not declared");
    assert!(error.to_string().contains("tools.listChanged"), "{error}");
}

#[tokio::test]
async fn sends_no_requests_before_the_initialized_notification() {
    let (mut remote, peer) = server(local_info());
    remote.request(&initialize("2025-11-25", &json!({ "roots": {} }))).await;
    let error = peer.call::<v2025_11_25::ListRootsRequest>(None).await.expect_err("not ready");
    assert!(matches!(error, CallError::NotAllowed(_)), "{error}");
    remote.send(INITIALIZED).await;
    remote.request(PING).await;
    let call = tokio::spawn(peer.call::<v2025_11_25::ListRootsRequest>(None));
    let request = remote.receive().await;
    assert_eq!(request["method"], "roots/list");
    remote.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "roots": [] } }).to_string()).await;
    assert!(call.await.expect("no panic").expect("a result").roots.is_empty());
}

#[tokio::test]
async fn responds_to_ping_while_the_queue_is_full() {
    let limits = Limits::default().with_in_flight(1).with_queued_requests(1);
    let protocol = Arc::new(Legacy::new(Role::Server, local_info()));
    let (mut remote, _peer) = RawPeer::connect(|pipe| support::run(router(), protocol, limits, pipe));
    remote.request(&initialize("2025-11-25", &json!({}))).await;
    for id in 1..=2 {
        remote
            .send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"hang"}}}}"#))
            .await;
    }
    let response = remote.request(PING).await;
    assert_eq!((&response["id"], &response["result"]), (&json!("p"), &json!({})));
}

#[tokio::test]
async fn sends_no_log_messages_below_the_level() {
    let (mut remote, _peer) = ready(json!({})).await;
    let set = |level: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":9,"method":"logging/setLevel","params":{{"level":"{level}"}}}}"#)
    };
    assert_eq!(remote.request(&set("loud")).await["error"]["code"], -32602);
    assert_eq!(remote.request(&set("error")).await["result"], json!({}));
    let event = remote.request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#).await;
    assert_eq!(event["params"], json!({ "level": "error", "logger": "here", "data": "a failure" }));
    assert_eq!(remote.receive().await["id"], 1);
}

#[tokio::test]
async fn sends_no_response_to_notifications() {
    let (mut remote, _peer) = ready(json!({})).await;
    for notification in [
        r#"{"jsonrpc":"2.0","method":"no/such"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"init"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":5}"#,
    ] {
        remote.send(notification).await;
    }
    assert_eq!(remote.request(PING).await["id"], "p");
}

/// Starts a client whose server the test drives.
fn client(handlers: Router, local_info: LocalInfo) -> (RawPeer, JoinHandle<Result<Client, HandshakeError>>) {
    RawPeer::connect(|pipe| {
        let (reader, writer) = tokio::io::split(pipe);
        let (incoming, outgoing) = (lines::receive(reader, 1 << 20), lines::send(writer));
        tokio::spawn(connect(local_info, handlers.clone(), handlers, incoming, outgoing, Limits::default()))
    })
}

fn initialize_result(version: &str) -> String {
    let info = json!({ "name": "server", "version": "1" });
    let result = json!({ "protocolVersion": version, "capabilities": { "tools": {} }, "serverInfo": info });
    json!({ "jsonrpc": "2.0", "id": 1, "result": result }).to_string()
}

#[tokio::test]
async fn a_client_sends_initialize_and_initialized() {
    let local_info = LocalInfo::new("client", "1")
        .retain_revisions(Revision::is_legacy)
        .capability("roots", json!({ "listChanged": true }));
    let (mut remote, client) = client(Router::new(), local_info);
    let request = remote.receive().await;
    let expected = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "roots": { "listChanged": true } },
        "clientInfo": { "name": "client", "version": "1" },
    });
    assert_eq!((&request["method"], &request["params"]), (&json!("initialize"), &expected));
    assert_eq!(
        remote.request(&initialize_result("2024-11-05")).await,
        serde_json::from_str::<Value>(INITIALIZED).expect("JSON")
    );
    let client = client.await.expect("no panic").expect("a connection");
    assert_eq!(client.peer().peer_info().map(|peer_info| peer_info.revision), Some(Revision::V2024_11_05));
    let error = client.peer().call::<v2024_11_05::ListPromptsRequest>(None).await.expect_err("not declared");
    assert!(error.to_string().contains("the server has not declared the `prompts` capability"), "{error}");
    client.peer().notify::<v2024_11_05::RootsListChangedNotification>(None).await.expect("declared");
    assert_eq!(remote.receive().await["method"], "notifications/roots/list_changed");
    // The client rejects requests whose capability it has not declared.
    let response = remote.request(r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}"#).await;
    assert_eq!(response["error"]["code"], -32601);
    assert_eq!(remote.request(PING).await["result"], json!({}));
}

#[tokio::test]
async fn a_client_disconnects_from_an_unsupported_revision() {
    for (selected, expected) in [
        ("2030-01-01", "the server selected revision \"2030-01-01\", which this client does not support"),
        (
            "2026-07-28",
            "the server selected revision 2026-07-28 in its response to `initialize`, which that revision does not have",
        ),
    ] {
        let (mut remote, client) =
            client(Router::new(), LocalInfo::new("client", "1").retain_revisions(Revision::is_legacy));
        remote.receive().await;
        remote.send(&initialize_result(selected)).await;
        let error = client.await.expect("no panic").expect_err("it is not supported");
        assert!(matches!(&error, HandshakeError::Initialize(_)), "{error}");
        assert_eq!(error.to_string(), expected);
        assert!(remote.is_closed().await, "the client closes the connection without another message");
    }
}

#[tokio::test]
async fn does_not_cancel_initialize() {
    let (mut remote, client) =
        client(Router::new(), LocalInfo::new("client", "1").retain_revisions(Revision::is_legacy));
    remote.receive().await;
    client.abort();
    assert!(remote.is_closed().await, "the client closes the connection without another message");
}

#[tokio::test]
async fn uses_each_request_id_once() {
    let (mut remote, peer) = ready(json!({ "roots": {} })).await;
    remote.request(PING).await;
    let mut observed = std::collections::BTreeSet::new();
    for _ in 0..100 {
        let call = tokio::spawn(peer.call::<v2025_11_25::ListRootsRequest>(None));
        let id = remote.receive().await["id"].clone();
        remote.send(&json!({ "jsonrpc": "2.0", "id": id, "result": { "roots": [] } }).to_string()).await;
        call.await.expect("no panic").expect("a result");
        assert!(observed.insert(id.to_string()), "{id} was used twice");
    }
}

#[tokio::test]
async fn a_server_stops_when_its_client_disconnects() {
    let (mut remote, peer) = ready(json!({ "roots": {} })).await;
    remote.request(PING).await;
    let call = tokio::spawn(peer.call::<v2025_11_25::ListRootsRequest>(None));
    remote.receive().await;
    remote.close_output().await;
    assert!(remote.is_closed().await);
    assert!(matches!(call.await.expect("no panic"), Err(CallError::Closed(_))));
}

#[tokio::test]
async fn rejects_types_of_other_revisions() {
    let (mut remote, peer) = server(local_info());
    remote.request(&initialize("2024-11-05", &json!({ "roots": {} }))).await;
    remote.send(INITIALIZED).await;
    remote.request(PING).await;
    let error = peer.call::<v2025_11_25::ListRootsRequest>(None).await.expect_err("another revision");
    let expected = "roots/list: the type belongs to revision 2025-11-25, but the connection uses 2024-11-05";
    assert_eq!(error.to_string(), expected);
    let call = tokio::spawn(peer.call::<v2024_11_05::ListRootsRequest>(None));
    assert_eq!(remote.receive().await["method"], "roots/list");
    call.abort();
    let error = peer.call::<v2024_11_05::ListToolsRequest>(None).await.expect_err("not a request to a client");
    assert_eq!(error.to_string(), "tools/list: a client does not handle this request");
}

#[tokio::test]
async fn ignores_the_initialized_notification_before_initialize() {
    let (mut remote, peer) = server(local_info());
    remote.send(INITIALIZED).await;
    remote.request(&initialize("2025-11-25", &json!({ "roots": {} }))).await;
    let error = peer.call::<v2025_11_25::ListRootsRequest>(None).await.expect_err("not ready");
    assert!(matches!(error, CallError::NotAllowed(_)), "{error}");
}

/// The client handles messages that the server sends directly after its `initialize` result.
#[tokio::test]
async fn handles_messages_that_directly_follow_the_handshake() {
    let received = Arc::new(std::sync::Mutex::new(Vec::new()));
    let handles_notification = received.clone();
    let handlers = Router::new().notification::<v2025_11_25::LoggingMessageNotification>(move |_, params| {
        let handles_notification = handles_notification.clone();
        async move { handles_notification.lock().expect("no panic").push(params.data) }
    });
    let (mut remote, client) = client(handlers, LocalInfo::new("client", "1").retain_revisions(Revision::is_legacy));
    remote.receive().await;
    let event = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    remote.send(&format!("{}\n{event}", initialize_result("2025-11-25"))).await;
    remote.receive().await;
    let client = client.await.expect("no panic").expect("a connection");
    remote.request(PING).await;
    tokio::task::yield_now().await;
    assert_eq!(*received.lock().expect("no panic"), [json!(1)]);
    drop(client);
}

#[tokio::test]
async fn params_may_require_capabilities() {
    let table = [
        (json!({ "elicitation": {} }), "elicitation/create", json!({ "mode": "form" }), true),
        (json!({ "elicitation": {} }), "elicitation/create", json!({ "mode": "url" }), false),
        (json!({ "elicitation": { "url": {} } }), "elicitation/create", json!({ "mode": "url" }), true),
        (json!({ "elicitation": { "url": {} } }), "elicitation/create", json!({}), false),
        (json!({ "sampling": {} }), "sampling/createMessage", json!({}), true),
        (json!({ "sampling": {} }), "sampling/createMessage", json!({ "tools": [] }), false),
        (json!({ "sampling": { "tools": {} } }), "sampling/createMessage", json!({ "tools": [] }), true),
        (json!({ "sampling": {} }), "sampling/createMessage", json!({ "task": {} }), false),
        (
            json!({ "sampling": {}, "tasks": { "requests": { "sampling": { "createMessage": {} } } } }),
            "sampling/createMessage",
            json!({ "task": {} }),
            true,
        ),
        (json!({}), "tasks/list", json!({}), false),
        (json!({ "tasks": { "list": {} } }), "tasks/list", json!({}), true),
    ];
    for (capabilities, method, params, allowed) in table {
        let (mut remote, peer) = ready(capabilities.clone()).await;
        remote.request(PING).await;
        let call = tokio::spawn(peer.raw_request(method, Some(Json::from(&params))).send());
        if allowed {
            assert_eq!(remote.receive().await["method"], method, "{capabilities} {params}");
        } else {
            let error = call.await.expect("no panic").expect_err("not declared");
            let lacks = error.downcast_ref().is_some_and(|why| match why {
                NotAllowed::Capability { role, capability, .. } => *role == Role::Client && !capability.is_empty(),
                _ => false,
            });
            assert!(lacks, "{capabilities} {method} {params}: {error}");
        }
    }
}

/// Dropping the call of a request that runs as a task does not cancel the task. That takes `tasks/cancel`.
#[tokio::test]
async fn does_not_send_cancelled_for_task_requests() {
    let tasks = json!({ "requests": { "sampling": { "createMessage": {} } } });
    let (mut remote, peer) = ready(json!({ "sampling": {}, "tasks": tasks })).await;
    remote.request(PING).await;
    for (params, cancelled) in [(json!({ "task": {} }), false), (json!({}), true)] {
        let params = Json::from(&params);
        let call = tokio::spawn(peer.raw_request("sampling/createMessage", Some(params)).send());
        remote.receive().await;
        call.abort();
        assert!(call.await.is_err());
        remote.send(PING).await;
        let received = remote.receive().await;
        assert_eq!(received["method"] == "notifications/cancelled", cancelled, "{received}");
    }
}
