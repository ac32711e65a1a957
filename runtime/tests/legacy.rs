//! The era of `initialize`: who may say what, and when.

mod support;

use std::sync::Arc;

use mcpgen_runtime::client::handshake::HandshakeError;
use mcpgen_runtime::connection::Limits;
use mcpgen_runtime::peer::{CallError, Peer};
use mcpgen_runtime::protocol::info::LocalInfo;
use mcpgen_runtime::protocol::legacy::InitializeError;
use mcpgen_runtime::protocol::legacy::Legacy;
use mcpgen_runtime::protocol::{Level, Role};
use mcpgen_runtime::service::router::Router;
use mcpgen_runtime::transport::lines;
use mcpgen_runtime::{Client, connect};
use mcpgen_types::{ErrorObject, RawJson, Revision, v2024_11_05, v2025_03_26, v2025_11_25};
use serde_json::{Value, json};
use support::Wire;
use tokio::task::JoinHandle;

/// A server of tools in three revisions, which says in its answers which one it was asked in.
fn router() -> Router {
    macro_rules! tools {
        ($router:expr, $($revision:ident),*) => {
            $router$(.request::<$revision::ListToolsRequest>(|context, _| async move {
                let tool = $revision::Tool::new($revision::ToolInputSchema::new(), context.revision().as_str());
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
        let asked = context.peer().call::<v2025_11_25::ListRootsRequest>(None).await;
        let words = asked.map_or_else(|error| error.to_string(), |result| format!("{} roots", result.roots.len()));
        Ok::<_, ErrorObject>(v2025_11_25::CallToolResult::new(vec![v2025_11_25::TextContent::new(words).into()]))
    });
    tools!(router, v2024_11_05, v2025_03_26, v2025_11_25)
}

fn ours() -> LocalInfo {
    LocalInfo {
        revisions: vec![Revision::V2025_11_25, Revision::V2025_03_26, Revision::V2024_11_05],
        ..LocalInfo::new("server", "1").capability("tools", json!({})).capability("logging", json!({}))
    }
}

fn server(ours: LocalInfo) -> (Wire, Peer) {
    Wire::to(|pipe| support::run(router(), Arc::new(Legacy::new(Role::Server, ours)), Limits::default(), pipe))
}

fn initialize(revision: &str, capabilities: &Value) -> String {
    let info = json!({ "name": "client", "version": "1" });
    let params = json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": info });
    json!({ "jsonrpc": "2.0", "id": "init", "method": "initialize", "params": params }).to_string()
}

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;

/// A server that has been initialized, in its newest revision.
async fn ready(capabilities: Value) -> (Wire, Peer) {
    let (mut wire, peer) = server(ours());
    wire.ask(&initialize("2025-11-25", &capabilities)).await;
    wire.say(INITIALIZED).await;
    (wire, peer)
}

#[tokio::test]
async fn nothing_is_handled_before_initialize() {
    let (mut wire, peer) = server(ours());
    assert_eq!(wire.ask(LIST).await["error"]["code"], -32600);
    assert_eq!(wire.ask(PING).await["result"], json!({}));
    assert!(peer.peer_info().is_none());
    let error = peer.call::<v2025_11_25::ListRootsRequest>(None).await.expect_err("nobody is there yet");
    assert!(matches!(error, CallError::NotAllowed(_)), "{error}");
}

#[tokio::test]
async fn a_server_introduces_itself() {
    let (mut wire, peer) = server(LocalInfo { instructions: Some("be kind".into()), ..ours() });
    let answer = wire.ask(&initialize("2025-11-25", &json!({ "roots": {} }))).await;
    let expected = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "tools": {}, "logging": {} },
        "serverInfo": { "name": "server", "version": "1" }, "instructions": "be kind",
    });
    assert_eq!(answer["result"], expected);
    let peer_info = peer.peer_info().expect("the client has introduced itself");
    assert_eq!((peer_info.revision, &peer_info.implementation["name"]), (Revision::V2025_11_25, &json!("client")));
    assert!(peer_info.can(&["roots"]) && !peer_info.can(&["roots", "listChanged"]) && !peer_info.can(&["sampling"]));
    assert_eq!(wire.ask(&initialize("2025-11-25", &json!({}))).await["error"]["code"], -32600, "once is enough");
}

#[tokio::test]
async fn an_invalid_introduction_is_refused() {
    for (params, place) in [
        ("", "params"),
        (r#","params":{}"#, "protocolVersion"),
        (r#","params":{"protocolVersion":5}"#, "protocolVersion"),
        (r#","params":{"protocolVersion":"2025-11-25"}"#, "capabilities"),
        (r#","params":{"protocolVersion":"2025-11-25","capabilities":{}}"#, "clientInfo"),
        (r#","params":[]"#, "params"),
    ] {
        let (mut wire, _peer) = server(ours());
        let answer = wire.ask(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize"{params}}}"#)).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(answer["error"]["message"].to_string().contains(place), "{answer}");
        assert!(wire.ask(&initialize("2025-11-25", &json!({}))).await["result"].is_object(), "the next try counts");
    }
}

#[tokio::test]
async fn versions_are_negotiated() {
    for (asked, answered) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1.0.0", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        let (mut wire, _peer) = server(ours());
        let answer = wire.ask(&initialize(asked, &json!({}))).await;
        assert_eq!(answer["result"]["protocolVersion"], answered, "{asked}");
    }
}

#[tokio::test]
async fn requests_are_handled_in_the_agreed_revision() {
    for revision in ["2025-11-25", "2025-03-26", "2024-11-05"] {
        let (mut wire, _peer) = server(ours());
        wire.ask(&initialize(revision, &json!({}))).await;
        assert_eq!(wire.ask(LIST).await["result"]["tools"][0]["name"], revision);
    }
}

#[tokio::test]
async fn batches_are_answered_in_one_revision_only() {
    let batch = format!("[{},{LIST},", initialize("2025-03-26", &json!({})))
        + &format!("{INITIALIZED},5,{PING},{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"no/such\"}}]");
    let (mut wire, _peer) = server(ours());
    assert_eq!(wire.ask(&batch).await["error"]["code"], -32600, "not before the handshake");
    wire.ask(&initialize("2025-03-26", &json!({}))).await;
    let answer = wire.ask(&batch).await;
    let mut said: Vec<String> = answer
        .as_array()
        .expect("a batch of answers")
        .iter()
        .map(|answer| format!("{} {}", answer["id"], answer["error"]["code"]))
        .collect();
    said.sort_unstable();
    assert_eq!(said, ["\"init\" -32600", "\"p\" null", "1 null", "2 -32601", "null -32600"]);
    // Nothing to answer, and so nothing is.
    wire.say(&format!("[{INITIALIZED}]")).await;
    assert_eq!(wire.ask(LIST).await["id"], 1);
    for revision in ["2025-11-25", "2024-11-05"] {
        let (mut wire, _peer) = server(ours());
        wire.ask(&initialize(revision, &json!({}))).await;
        let answer = wire.ask(&batch).await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)), "{revision}");
    }
}

#[tokio::test]
async fn undeclared_capabilities_are_not_used() {
    let (mut wire, peer) = ready(json!({})).await;
    let answer = wire.ask(r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#).await;
    assert_eq!(answer["error"]["code"], -32601);
    assert!(answer["error"]["message"].to_string().contains("the server has not declared the capability prompts"));
    let answer = wire.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}"#).await;
    assert_eq!(answer["method"], "notifications/message");
    wire.hear().await;
    let answer = wire.hear().await;
    let said = answer["result"]["content"][0]["text"].to_string();
    assert!(said.contains("roots/list: the client has not declared the capability roots"), "{answer}");
    let error = peer.notify::<v2025_11_25::ToolListChangedNotification>(None).await.expect_err("not declared");
    assert!(error.to_string().contains("tools.listChanged"), "{error}");
}

#[tokio::test]
async fn a_server_waits_until_the_client_is_ready() {
    let (mut wire, peer) = server(ours());
    wire.ask(&initialize("2025-11-25", &json!({ "roots": {} }))).await;
    let error = peer.call::<v2025_11_25::ListRootsRequest>(None).await.expect_err("not ready");
    assert!(matches!(error, CallError::NotAllowed(_)), "{error}");
    wire.say(INITIALIZED).await;
    wire.ask(PING).await;
    let call = tokio::spawn(peer.call::<v2025_11_25::ListRootsRequest>(None));
    let asked = wire.hear().await;
    assert_eq!(asked["method"], "roots/list");
    wire.say(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": [] } }).to_string()).await;
    assert!(call.await.expect("no panic").expect("a result").roots.is_empty());
}

#[tokio::test]
async fn ping_is_answered_whatever_is_running() {
    let limits = Limits { in_flight: 1, waiting: 1, ..Limits::default() };
    let protocol = Arc::new(Legacy::new(Role::Server, ours()));
    let (mut wire, _peer) = Wire::to(|pipe| support::run(router(), protocol, limits, pipe));
    wire.ask(&initialize("2025-11-25", &json!({}))).await;
    for id in 1..=2 {
        wire.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"hang"}}}}"#)).await;
    }
    let answer = wire.ask(PING).await;
    assert_eq!((&answer["id"], &answer["result"]), (&json!("p"), &json!({})));
}

#[tokio::test]
async fn events_below_the_level_are_not_sent() {
    let (mut wire, _peer) = ready(json!({})).await;
    let set = |level: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":9,"method":"logging/setLevel","params":{{"level":"{level}"}}}}"#)
    };
    assert_eq!(wire.ask(&set("loud")).await["error"]["code"], -32602);
    assert_eq!(wire.ask(&set("error")).await["result"], json!({}));
    let event = wire.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#).await;
    assert_eq!(event["params"], json!({ "level": "error", "logger": "here", "data": "a failure" }));
    assert_eq!(wire.hear().await["id"], 1);
}

#[tokio::test]
async fn notifications_are_not_answered() {
    let (mut wire, _peer) = ready(json!({})).await;
    for notification in [
        r#"{"jsonrpc":"2.0","method":"no/such"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"init"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":5}"#,
    ] {
        wire.say(notification).await;
    }
    assert_eq!(wire.ask(PING).await["id"], "p");
}

/// A client, and the server's end of its connection.
fn client(handlers: Router, ours: LocalInfo) -> (Wire, JoinHandle<Result<Client, HandshakeError>>) {
    Wire::to(|pipe| {
        let (reader, writer) = tokio::io::split(pipe);
        let (incoming, outgoing) = (lines::receive(reader, 1 << 20), lines::send(writer));
        tokio::spawn(connect(ours, handlers.clone(), handlers, incoming, outgoing, Limits::default()))
    })
}

fn welcome(version: &str) -> String {
    let info = json!({ "name": "server", "version": "1" });
    let result = json!({ "protocolVersion": version, "capabilities": { "tools": {} }, "serverInfo": info });
    json!({ "jsonrpc": "2.0", "id": 1, "result": result }).to_string()
}

#[tokio::test]
async fn a_client_introduces_itself_and_says_that_it_is_ready() {
    let ours = LocalInfo::new("client", "1")
        .retain_revisions(Revision::is_legacy)
        .capability("roots", json!({ "listChanged": true }));
    let (mut wire, client) = client(Router::new(), ours);
    let asked = wire.hear().await;
    let expected = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "roots": { "listChanged": true } },
        "clientInfo": { "name": "client", "version": "1" },
    });
    assert_eq!((&asked["method"], &asked["params"]), (&json!("initialize"), &expected));
    assert_eq!(wire.ask(&welcome("2024-11-05")).await, serde_json::from_str::<Value>(INITIALIZED).expect("JSON"));
    let client = client.await.expect("no panic").expect("a connection");
    assert_eq!(client.peer.peer_info().map(|peer_info| peer_info.revision), Some(Revision::V2024_11_05));
    let error = client.peer.call::<v2024_11_05::ListPromptsRequest>(None).await.expect_err("not declared");
    assert!(error.to_string().contains("the server has not declared the capability prompts"), "{error}");
    client.peer.notify::<v2024_11_05::RootsListChangedNotification>(None).await.expect("declared");
    assert_eq!(wire.hear().await["method"], "notifications/roots/list_changed");
    // What a server may not ask, it is refused.
    let answer = wire.ask(r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}"#).await;
    assert_eq!(answer["error"]["code"], -32601);
    assert_eq!(wire.ask(PING).await["result"], json!({}));
}

#[tokio::test]
async fn a_client_leaves_if_it_does_not_speak_the_revision() {
    let (mut wire, client) = client(Router::new(), LocalInfo::new("client", "1").retain_revisions(Revision::is_legacy));
    wire.hear().await;
    wire.say(&welcome("2030-01-01")).await;
    let error = client.await.expect("no panic").expect_err("an unknown revision");
    assert!(
        matches!(&error, HandshakeError::Initialize(InitializeError::Version(version)) if version == "2030-01-01"),
        "{error}"
    );
    assert!(wire.is_over().await, "the connection is closed, and nothing more is said");
}

#[tokio::test]
async fn initialize_is_not_cancelled() {
    let (mut wire, client) = client(Router::new(), LocalInfo::new("client", "1").retain_revisions(Revision::is_legacy));
    wire.hear().await;
    client.abort();
    assert!(wire.is_over().await, "closed without another word");
}

#[tokio::test]
async fn ids_are_not_used_twice() {
    let (mut wire, peer) = ready(json!({ "roots": {} })).await;
    wire.ask(PING).await;
    let mut observed = std::collections::BTreeSet::new();
    for _ in 0..100 {
        let call = tokio::spawn(peer.call::<v2025_11_25::ListRootsRequest>(None));
        let id = wire.hear().await["id"].clone();
        wire.say(&json!({ "jsonrpc": "2.0", "id": id, "result": { "roots": [] } }).to_string()).await;
        call.await.expect("no panic").expect("a result");
        assert!(observed.insert(id.to_string()), "{id} comes again");
    }
}

#[tokio::test]
async fn a_server_ends_when_its_client_hangs_up() {
    let (mut wire, peer) = ready(json!({ "roots": {} })).await;
    wire.ask(PING).await;
    let call = tokio::spawn(peer.call::<v2025_11_25::ListRootsRequest>(None));
    wire.hear().await;
    wire.close_output().await;
    assert!(wire.is_over().await);
    assert!(matches!(call.await.expect("no panic"), Err(CallError::Closed(_))));
}

#[tokio::test]
async fn types_of_another_revision_are_not_sent() {
    let (mut wire, peer) = server(ours());
    wire.ask(&initialize("2024-11-05", &json!({ "roots": {} }))).await;
    wire.say(INITIALIZED).await;
    wire.ask(PING).await;
    let error = peer.call::<v2025_11_25::ListRootsRequest>(None).await.expect_err("another revision");
    let words = "roots/list: the type belongs to revision 2025-11-25, but the connection uses 2024-11-05";
    assert_eq!(error.to_string(), words);
    let call = tokio::spawn(peer.call::<v2024_11_05::ListRootsRequest>(None));
    assert_eq!(wire.hear().await["method"], "roots/list");
    call.abort();
    let error = peer.call::<v2024_11_05::ListToolsRequest>(None).await.expect_err("not a request to a client");
    assert_eq!(error.to_string(), "tools/list: a client does not handle this request");
}

#[tokio::test]
async fn a_server_is_not_made_ready_before_it_is_introduced() {
    let (mut wire, peer) = server(ours());
    wire.say(INITIALIZED).await;
    wire.ask(&initialize("2025-11-25", &json!({ "roots": {} }))).await;
    let error = peer.call::<v2025_11_25::ListRootsRequest>(None).await.expect_err("not ready");
    assert!(matches!(error, CallError::NotAllowed(_)), "{error}");
}

/// What a server says right behind its introduction is heard.
#[tokio::test]
async fn nothing_is_lost_behind_the_handshake() {
    let received = Arc::new(std::sync::Mutex::new(Vec::new()));
    let handles_notification = received.clone();
    let handlers = Router::new().notification::<v2025_11_25::LoggingMessageNotification>(move |_, params| {
        let handles_notification = handles_notification.clone();
        async move { handles_notification.lock().expect("no panic").push(params.data) }
    });
    let (mut wire, client) = client(handlers, LocalInfo::new("client", "1").retain_revisions(Revision::is_legacy));
    wire.hear().await;
    let event = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    wire.say(&format!("{}\n{event}", welcome("2025-11-25"))).await;
    wire.hear().await;
    let client = client.await.expect("no panic").expect("a connection");
    wire.ask(PING).await;
    tokio::task::yield_now().await;
    assert_eq!(*received.lock().expect("no panic"), [json!(1)]);
    drop(client);
}

#[tokio::test]
async fn what_params_take_is_declared_too() {
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
        let (mut wire, peer) = ready(capabilities.clone()).await;
        wire.ask(PING).await;
        let call = tokio::spawn(peer.raw_request(method, Some(RawJson::from(&params))).send());
        if allowed {
            assert_eq!(wire.hear().await["method"], method, "{capabilities} {params}");
        } else {
            let error = call.await.expect("no panic").expect_err("not declared");
            assert!(matches!(error, CallError::NotAllowed(_)), "{capabilities} {method} {params}: {error}");
        }
    }
}

/// Whoever asked for a task takes it back by `tasks/cancel`, and not by dropping the call.
#[tokio::test]
async fn a_call_for_a_task_is_not_cancelled_by_a_notification() {
    let tasks = json!({ "requests": { "sampling": { "createMessage": {} } } });
    let (mut wire, peer) = ready(json!({ "sampling": {}, "tasks": tasks })).await;
    wire.ask(PING).await;
    for (params, cancelled) in [(json!({ "task": {} }), false), (json!({}), true)] {
        let params = RawJson::from(&params);
        let call = tokio::spawn(peer.raw_request("sampling/createMessage", Some(params)).send());
        wire.hear().await;
        call.abort();
        assert!(call.await.is_err());
        wire.say(PING).await;
        let received = wire.hear().await;
        assert_eq!(received["method"] == "notifications/cancelled", cancelled, "{received}");
    }
}
