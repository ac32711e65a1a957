//! The modern protocol: the metadata of requests, and the types and cache hints of results.

#![allow(deprecated, reason = "what the newest revision deprecates is still served")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcpgen_sdk::client::cache::Cache;
use mcpgen_sdk::client::handshake::ConnectOptions;
use mcpgen_sdk::peer::{CallError, Peer};
use mcpgen_sdk::protocol::cache_hints::{CacheHint, CacheHints};
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::protocol::config::ServerConfig;
use mcpgen_sdk::protocol::modern::{Modern, ResultRules};
use mcpgen_sdk::protocol::{ContextExt, Level, Mcp, PeerExt, Progress, Role, RouterExt};
use mcpgen_sdk::transport::lines;
use mcpgen_sdk::{Client, Connection, Limits, LocalInfo, Router, connect};
use mcpgen_types::v2026_07_28::{
    CacheScope, CallToolRequest, CallToolRequestParams, CallToolResult, ListToolsRequest, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequest, ReadResourceRequestParams, ReadResourceResult, TextContent,
    TextResourceContents, Tool, ToolInputSchema, ToolListChangedNotification,
};
use mcpgen_types::{ErrorObject, Json, JsonRef, Revision, v2025_11_25};
use serde_json::{Value, json};

use crate::support::{self, RawPeer};

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::new(vec![TextContent::new(text).into()])
}

fn local_info() -> LocalInfo {
    LocalInfo::new("server", "1")
        .capability("tools", json!({ "listChanged": true }))
        .capability("logging", json!({}))
        .with_instructions(Some("be kind".to_owned()))
}

/// Returns a router whose tools do what their names suggest.
fn router() -> Router {
    Router::new()
        .request::<ListToolsRequest>(|_, _| async {
            let tool = Tool::new("who", ToolInputSchema::new());
            Ok::<_, ErrorObject>(ListToolsResult::new(vec![tool], 7, CacheScope::Private))
        })
        .request::<ReadResourceRequest>(|context, params| async move {
            match params.uri.as_str() {
                "file:///none" => {
                    Err(mcpgen_sdk::protocol::errors::resource_not_found(context.revision(), &params.uri))
                }
                uri => Ok(ReadResourceResult::new(
                    vec![TextResourceContents::new(uri).text("").into()],
                    0,
                    CacheScope::Private,
                )
                .into()),
            }
        })
        .request::<CallToolRequest>(|context, params| async move {
            let peer_info = context.peer_info().expect("a request").clone();
            if let Some(code) = params.name.strip_prefix("fail ") {
                return Err(ErrorObject::new(code.parse::<i64>().expect("a code"), "failed"));
            }
            match params.name.as_str() {
                "who" => Ok(text(format!(
                    "{}, revision {}, capabilities {}",
                    peer_info.implementation.get("name").and_then(JsonRef::as_str).unwrap_or("unknown".into()),
                    peer_info.revision,
                    mcpgen_types::to_string(&peer_info.capabilities)
                ))
                .into()),
                "log" => {
                    context.log(Level::Debug, None, "detail").await;
                    context.log(Level::Error, Some("here"), "failure").await;
                    Ok(text("logged").into())
                }
                "sample" => {
                    context.require(&["sampling", "tools"])?;
                    Ok(text("sampled").into())
                }
                "notify" => {
                    let notified = context.peer().notify::<ToolListChangedNotification>(None).await;
                    let called = context.peer().call::<mcpgen_types::v2026_07_28::ListRootsRequest>(
                        mcpgen_types::from_str("{}").expect("params"),
                    );
                    Ok(text(format!(
                        "{}\n{}",
                        notified.expect_err("not allowed"),
                        called.await.expect_err("not allowed")
                    ))
                    .into())
                }
                "trace" => Ok(text(format!("{:?}", context.trace().parent)).into()),
                "meta" => Ok(mcpgen_types::from_value(json!({
                    "content": [], "resultType": "complete", "_meta": { "mine": 1, "_meta": {} }
                }))
                .expect("a result")),
                name => panic!("no tool {name:?}"),
            }
        })
        .custom_request("custom/bare", |_, _: Value| async { Ok::<_, ErrorObject>(json!({ "a": 1 })) })
        .custom_request("custom/echo", |_, params: Value| async move { Ok::<_, ErrorObject>(params["result"].clone()) })
        .custom_request("custom/list", |_, _: Value| async { Ok::<_, ErrorObject>(json!([1])) })
        .custom_request("tools/list", |_, _: Value| async { Ok::<_, ErrorObject>(json!({ "never": "called" })) })
}

fn server_of(local_info: impl Into<ServerConfig>, router: Router) -> (RawPeer, Peer) {
    let protocol = Arc::new(local_info.into().protocol(&router.handled(mcpgen_sdk::protocol::Role::Server)));
    RawPeer::connect(|pipe| support::run(router, protocol, Limits::default(), pipe))
}

fn server() -> (RawPeer, Peer) {
    server_of(local_info(), router())
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// Returns the text of a request with `_meta`.
fn request(id: impl Into<Value>, method: &str, mut params: Value, meta: &Value) -> String {
    params["_meta"] = meta.clone();
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params }).to_string()
}

fn call(name: &str, meta: &Value) -> String {
    request(1, "tools/call", json!({ "name": name }), meta)
}

fn with(mut meta: Value, key: &str, value: Value) -> Value {
    let key = format!("io.modelcontextprotocol/{key}");
    match value {
        Value::Null => drop(meta.as_object_mut().expect("an object").remove(&key)),
        value => meta[key] = value,
    }
    meta
}

#[tokio::test]
async fn rejects_requests_with_invalid_metadata() {
    let (mut remote, _peer) = server();
    let cases = [
        (with(meta(), "protocolVersion", Value::Null), -32602, "protocolVersion"),
        (with(meta(), "clientCapabilities", Value::Null), -32602, "clientCapabilities"),
        (with(meta(), "protocolVersion", json!(20260728)), -32602, "protocolVersion"),
        (with(meta(), "clientCapabilities", json!([])), -32602, "clientCapabilities"),
        (with(meta(), "clientCapabilities", json!({ "roots": 1 })), -32602, "clientCapabilities"),
        (with(meta(), "clientInfo", json!({ "name": "no version" })), -32602, "clientInfo"),
        (with(meta(), "logLevel", json!("loud")), -32602, "logLevel"),
        (json!({}), -32602, "protocolVersion"),
        (with(meta(), "protocolVersion", json!("1900-01-01")), -32022, "2026-07-28"),
        (with(meta(), "protocolVersion", json!("2025-11-25")), -32022, "2026-07-28"),
    ];
    for (meta, code, names) in cases {
        for method in ["tools/call", "server/discover", "no/such"] {
            let error = remote.request(&request(1, method, json!({ "name": "who" }), &meta)).await["error"].clone();
            assert_eq!(error["code"], code, "{method} {meta}: {error}");
            assert!(error["message"].as_str().is_some_and(|message| message.contains(names)), "{error}");
        }
    }
    let error = remote.request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await["error"].clone();
    assert_eq!(error["code"], -32602, "{error}");
    let unsupported = call("who", &with(meta(), "protocolVersion", json!("1900-01-01")));
    let data = remote.request(&unsupported).await["error"]["data"].clone();
    assert_eq!(data, json!({ "supported": ["2026-07-28"], "requested": "1900-01-01" }));
}

#[tokio::test]
async fn infers_nothing_from_earlier_requests() {
    let (mut remote, peer) = server();
    let capability =
        with(meta(), "clientCapabilities", json!({ "roots": {}, "extensions": { "com.example/x": { "y": 1 } } }));
    let named = with(capability, "clientInfo", json!({ "name": "ann", "version": "1", "more": true }));
    for (meta, expected) in [
        (meta(), "unknown, revision 2026-07-28, capabilities {}"),
        (named, r#"ann, revision 2026-07-28, capabilities {"extensions":{"com.example/x":{"y":1}},"roots":{}}"#),
        (meta(), "unknown, revision 2026-07-28, capabilities {}"),
    ] {
        assert_eq!(remote.request(&call("who", &meta)).await["result"]["content"][0]["text"], expected);
        assert!(peer.peer_info().is_none(), "the connection has no peer info");
    }
    let mut traced = meta();
    traced["traceparent"] = json!("00-1-2-3");
    assert_eq!(remote.request(&call("trace", &traced)).await["result"]["content"][0]["text"], r#"Some("00-1-2-3")"#);
}

#[tokio::test]
async fn rejects_calls_without_the_required_capability() {
    let (mut remote, _peer) = server();
    let error = remote.request(&call("sample", &with(meta(), "clientCapabilities", json!({ "sampling": {} })))).await;
    assert_eq!(error["error"]["code"], -32021);
    assert_eq!(error["error"]["data"], json!({ "requiredCapabilities": { "sampling": { "tools": {} } } }));
    let capability = with(meta(), "clientCapabilities", json!({ "sampling": { "tools": {} } }));
    assert_eq!(remote.request(&call("sample", &capability)).await["result"]["content"][0]["text"], "sampled");
}

#[tokio::test]
async fn discover_returns_the_server_info() {
    let hint = CacheHint { fresh_for: Duration::from_secs(60), public: true };
    let cache_hints = CacheHints::default().of::<mcpgen_types::v2026_07_28::DiscoverRequest>(hint);
    let (mut remote, _peer) = server_of(ServerConfig::from(local_info()).with_cache_hints(cache_hints), router());
    let response = remote.request(&request("d", "server/discover", json!({}), &meta())).await;
    let expected = json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        // The capabilities of the handlers are added to the declared ones.
        "capabilities": { "tools": { "listChanged": true }, "logging": {}, "resources": {} },
        "instructions": "be kind",
        "ttlMs": 60000,
        "cacheScope": "public",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "server", "version": "1" } },
    });
    assert_eq!((&response["id"], &response["result"]), (&json!("d"), &expected));
    let typed = mcpgen_types::from_value::<mcpgen_types::v2026_07_28::DiscoverResult>(response["result"].clone());
    typed.expect("a result of the schema");
}

#[tokio::test]
async fn results_have_a_type_and_cache_hints() {
    let list = CacheHint { fresh_for: Duration::from_millis(1500), public: true };
    let one = CacheHint { fresh_for: Duration::from_secs(2), public: false };
    let cache_hints = CacheHints::default().of::<ListToolsRequest>(list).of_resource("file:///a", one);
    let (mut remote, _peer) = server_of(ServerConfig::from(local_info()).with_cache_hints(cache_hints), router());
    let server = json!({ "io.modelcontextprotocol/serverInfo": { "name": "server", "version": "1" } });

    let result = remote.request(&request(1, "tools/list", json!({}), &meta())).await["result"].clone();
    assert_eq!((&result["resultType"], &result["_meta"]), (&json!("complete"), &server));
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(1500), &json!("public")), "the hint of `tools/list`");
    for (uri, ttl) in [("file:///a", 2000), ("file:///b", 0)] {
        let result =
            remote.request(&request(1, "resources/read", json!({ "uri": uri }), &meta())).await["result"].clone();
        assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(ttl), &json!("private")), "{uri}");
    }
    let result = remote.request(&call("meta", &meta())).await["result"].clone();
    assert_eq!(result["_meta"]["mine"], 1);
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "server");
    assert!(result.get("ttlMs").is_none(), "results of tools have no cache hints");
    let result = remote.request(&request(1, "custom/bare", json!({}), &meta())).await["result"].clone();
    assert_eq!(result, json!({ "a": 1, "resultType": "complete", "_meta": server }));
    let response = remote.request(&request(1, "custom/list", json!({}), &meta())).await;
    assert_eq!(response["error"]["code"], -32603, "a result must be an object");
}

#[tokio::test]
async fn does_not_send_invalid_results() {
    let config = ServerConfig::from(local_info()).with_result_types(vec!["com.example/later".to_owned()]);
    let (mut remote, _peer) = server_of(config, router());
    for (result, ok) in [
        (json!({ "resultType": "complete" }), true),
        (json!({ "resultType": "com.example/later" }), true),
        (json!({ "resultType": "com.example/other" }), false),
        (json!({ "resultType": null }), false),
        (json!({ "resultType": 1 }), false),
        (json!("x"), false),
        (json!(null), false),
    ] {
        let response = remote.request(&request(1, "custom/echo", json!({ "result": result }), &meta())).await;
        assert_eq!(response["result"].is_object(), ok, "{result}: {response}");
        assert_eq!(response["error"]["code"] == -32603, !ok, "{result}: {response}");
    }
    // The results of a custom list handler have valid and invalid cache hints.
    let list = Router::new().custom_request("prompts/list", |_, params: Value| async move {
        let mut result = params["result"].clone();
        result["prompts"] = json!([]);
        Ok::<_, ErrorObject>(result)
    });
    let (mut remote, _peer) = server_of(local_info().retain_revisions(|revision| !revision.is_legacy()), list);
    for (result, ttl, scope) in [
        (json!({}), 0, "private"),
        (json!({ "ttlMs": -5, "cacheScope": "everyone" }), 0, "private"),
        (json!({ "ttlMs": 1.5, "cacheScope": null }), 0, "private"),
        (json!({ "ttlMs": 9, "cacheScope": "public" }), 9, "public"),
    ] {
        let response = remote.request(&request(1, "prompts/list", json!({ "result": result }), &meta())).await;
        let hints = (&response["result"]["ttlMs"], &response["result"]["cacheScope"]);
        assert_eq!(hints, (&json!(ttl), &json!(scope)), "{result}");
    }
}

#[tokio::test]
async fn resource_cache_hints_apply_only_to_their_uri() {
    let hint = CacheHint { fresh_for: Duration::from_secs(1), public: true };
    let cache_hints = CacheHints::default().of_resource("file:///public", hint);
    let (mut remote, _peer) = server_of(ServerConfig::from(local_info()).with_cache_hints(cache_hints), router());
    let params = json!({ "uri": "file:///private", "name": "file:///public" });
    let result = remote.request(&request(1, "resources/read", params, &meta())).await["result"].clone();
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
}

#[tokio::test]
async fn declares_capabilities_in_the_revision_of_the_handler() {
    let handlers = Router::new()
        .request::<ListToolsRequest>(|_, _| async { Err(ErrorObject::new(-1, "")) })
        .request::<v2025_11_25::ListPromptsRequest>(|_, _| async { Err(ErrorObject::new(-1, "")) });
    let (mut remote, _peer) = server_of(LocalInfo::new("server", "1"), handlers);
    let discovered = remote.request(&request(1, "server/discover", json!({}), &meta())).await["result"].clone();
    assert_eq!(discovered["capabilities"], json!({ "tools": {} }));
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string();
    assert_eq!(remote.request(&initialize).await["result"]["capabilities"], json!({ "prompts": {} }));
}

#[tokio::test]
async fn rejects_removed_methods() {
    let (mut remote, _peer) = server();
    for method in
        ["ping", "initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/get"]
    {
        let response = remote.request(&request(1, method, json!({}), &meta())).await;
        assert_eq!(response["error"]["code"], -32601, "{method}");
    }
}

#[tokio::test]
async fn initialize_errors_list_the_supported_revisions() {
    let (mut remote, _peer) = server();
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string();
    let error = remote.request(&initialize).await["error"].clone();
    assert!(error["message"].as_str().is_some_and(|message| message.contains("2026-07-28")), "{error}");
    assert_eq!(error["data"], json!({ "supported": ["2026-07-28"], "requested": "2025-11-25" }));
}

#[tokio::test]
async fn replaces_error_codes_of_other_revisions() {
    let (mut remote, _peer) = server();
    for (code, sent) in [
        (-32002, -32602),
        (-32042, -32603),
        (-32050, -32603),
        (-32099, -32603),
        (-32023, -32603),
        (-32020, -32020),
        (-32021, -32021),
        (-32022, -32022),
        (-32019, -32019),
        (-32000, -32000),
        (-32602, -32602),
        (-1, -1),
        (7, 7),
    ] {
        let error = remote.request(&call(&format!("fail {code}"), &meta())).await["error"].clone();
        assert_eq!(error, json!({ "code": sent, "message": "failed" }), "{code}");
    }
    let missing = remote.request(&request(1, "resources/read", json!({ "uri": "file:///none" }), &meta())).await;
    assert_eq!(missing["error"]["code"], -32602);
    assert_eq!(missing["error"]["data"], json!({ "uri": "file:///none" }));
}

#[test]
fn recognizes_both_codes_for_missing_resources() {
    let uri = json!({ "uri": "file:///none" });
    for (error, expected) in [
        (ErrorObject::new(-32002, "gone"), true),
        (ErrorObject::new(-32002, "gone").with_data(uri.clone()), true),
        (ErrorObject::new(-32602, "gone").with_data(uri.clone()), true),
        (ErrorObject::new(-32602, "wrong"), false),
        (ErrorObject::new(-32603, "failed").with_data(uri), false),
        (mcpgen_sdk::protocol::errors::resource_not_found(Revision::V2025_11_25, "x"), true),
        (mcpgen_sdk::protocol::errors::resource_not_found(Revision::V2026_07_28, "x"), true),
    ] {
        assert_eq!(mcpgen_sdk::protocol::errors::is_resource_not_found(&error), expected, "{error}");
    }
}

#[tokio::test]
async fn sends_log_messages_to_requests_with_a_log_level() {
    let (mut remote, peer) = server();
    assert_eq!(remote.request(&call("log", &meta())).await["result"]["content"][0]["text"], "logged");
    remote.send(&call("log", &with(meta(), "logLevel", json!("warning")))).await;
    let event = remote.receive().await;
    assert_eq!(event["method"], "notifications/message");
    assert_eq!(event["params"], json!({ "level": "error", "logger": "here", "data": "failure" }));
    assert_eq!(remote.receive().await["result"]["content"][0]["text"], "logged");
    // Log messages require the `logging` capability, and must belong to a request.
    let (mut without_logging, _peer) = server_of(LocalInfo::new("server", "1"), router());
    without_logging.send(&call("log", &with(meta(), "logLevel", json!("debug")))).await;
    assert_eq!(without_logging.receive().await["result"]["content"][0]["text"], "logged");
    assert!(matches!(peer.raw_notify("notifications/message", None).await, Err(CallError::NotAllowed(_))));
}

#[tokio::test]
async fn a_server_sends_no_requests() {
    let (mut remote, peer) = server();
    let errors = remote.request(&call("notify", &meta())).await["result"]["content"][0]["text"].clone();
    let errors = errors.as_str().expect("text");
    assert!(errors.contains("Subscriptions") && errors.contains("InputRequiredResult"), "{errors}");
    assert!(matches!(peer.raw_request("roots/list", None).await, Err(CallError::NotAllowed(_))));
}

/// Connects a modern client to a server that the test drives.
async fn client(local_info: LocalInfo, result_rules: ResultRules, handlers: Router) -> (RawPeer, Client) {
    let (here, there) = tokio::io::duplex(1 << 16);
    let options = ConnectOptions::from(local_info.retain_revisions(|revision| !revision.is_legacy()))
        .with_result_rules(result_rules)
        .with_known_revision(Some(Revision::V2026_07_28))
        .with_check_known_revision(false);
    let (reader, writer) = tokio::io::split(there);
    let (incoming, outgoing) = (lines::receive(reader, 1 << 20), lines::send(writer));
    let client = connect(options, handlers.clone(), handlers, incoming, outgoing, Limits::default()).await;
    (RawPeer::new(here), client.expect("no handshake is needed"))
}

fn client_info() -> LocalInfo {
    LocalInfo::new("client", "2").capability("roots", json!({}))
}

#[tokio::test]
async fn a_client_sends_its_metadata_with_each_request() {
    let local_info = client_info().with_level(Some(Level::Notice));
    let (mut remote, client) = client(local_info, ResultRules::default(), Router::new()).await;
    let expected = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "roots": {} },
        "io.modelcontextprotocol/clientInfo": { "name": "client", "version": "2" },
        "io.modelcontextprotocol/logLevel": "notice",
    });
    let peer = client.peer().clone();
    let calls = tokio::spawn(async move {
        let typed = CallToolRequestParams::new("a", client.meta());
        let _ = peer.call::<CallToolRequest>(typed).await;
        let _ = peer.raw_request("tools/call", Some(Json::from(&json!({ "name": "a" })))).await;
        let own = json!({ "name": "a", "_meta": { "io.modelcontextprotocol/logLevel": "debug", "mine": [1] } });
        let _ = peer.raw_request("tools/call", Some(Json::from(&own))).await;
        let _ = peer.custom_request::<_, Value>("custom/none", &json!(null)).expect("params").await;
        let _ = peer.raw_request("tools/call", None).on_progress(|_: Progress| {}).await;
    });
    let mut with_more = expected.clone();
    (with_more["io.modelcontextprotocol/logLevel"], with_more["mine"]) = (json!("debug"), json!([1]));
    for expected in [&expected, &expected, &with_more, &expected] {
        let request = remote.receive().await;
        assert_eq!(&request["params"]["_meta"], expected);
        remote.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": {} }).to_string()).await;
    }
    let request = remote.receive().await;
    assert_eq!(request["params"]["_meta"]["progressToken"], request["id"]);
    drop(remote);
    calls.await.expect("no panic");
}

#[tokio::test]
async fn a_client_checks_result_types() {
    let extended = ResultRules::default().with_result_types(vec!["com.example/later".to_owned()]);
    let strict = ResultRules::default().with_strict(true);
    for (result, lenient_ok, strict_ok, extended_ok) in [
        (json!({ "resultType": "complete" }), true, true, true),
        (json!({}), true, false, true),
        (json!({ "resultType": "com.example/later" }), false, false, true),
        (json!({ "resultType": "unknown" }), false, false, false),
        // Only three methods may have this result type.
        (json!({ "resultType": "input_required", "requestState": "" }), false, false, false),
        (json!({ "resultType": null }), false, false, false),
        (json!({ "resultType": 1 }), false, false, false),
        (json!([]), false, false, false),
    ] {
        for (result_rules, expected) in
            [(ResultRules::default(), lenient_ok), (strict.clone(), strict_ok), (extended.clone(), extended_ok)]
        {
            let (mut remote, client) = client(client_info(), result_rules.clone(), Router::new()).await;
            let call = tokio::spawn(client.peer().raw_request("tools/list", None).send());
            let id = remote.receive().await["id"].clone();
            remote.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()).await;
            let response = call.await.expect("no panic");
            assert_eq!(response.is_ok(), expected, "{result} {result_rules:?}: {response:?}");
            if let Ok(response) = response {
                let kind = response.decode::<Value>().expect("JSON")["resultType"].clone();
                assert_eq!(kind, result.get("resultType").cloned().unwrap_or(json!("complete")));
            }
        }
    }
}

#[tokio::test]
async fn a_client_ignores_requests() {
    let (mut remote, client) = client(client_info(), ResultRules::default(), Router::new()).await;
    remote.send(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#).await;
    remote.send(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#).await;
    let call = tokio::spawn(client.peer().raw_request("tools/list", None).send());
    assert_eq!(remote.receive().await["method"], "tools/list", "the client sends no responses");
    call.abort();
    // The client sends neither notifications that this revision has removed nor types of other revisions.
    for method in ["notifications/initialized", "notifications/roots/list_changed", "notifications/progress"] {
        assert!(matches!(client.peer().raw_notify(method, None).await, Err(CallError::NotAllowed(_))), "{method}");
    }
    let other = client.peer().call::<v2025_11_25::ListToolsRequest>(None).await;
    assert!(matches!(other, Err(CallError::NotAllowed(_))));
}

#[tokio::test(start_paused = true)]
async fn caches_fresh_results() {
    let (mut remote, client) = client(client_info(), ResultRules::default(), Router::new()).await;
    let cache = Arc::new(Cache::new(2));
    let requests = Arc::new(AtomicUsize::new(0));
    let count = requests.clone();
    tokio::spawn(async move {
        loop {
            let request = remote.receive().await;
            let nth = count.fetch_add(1, Ordering::SeqCst);
            let ttl = request["params"]["cursor"].as_str().map_or(json!(1000), |ttl| ttl.parse().expect("a number"));
            let tool = json!({ "name": nth.to_string(), "inputSchema": { "type": "object" } });
            let result = json!({
                "tools": [tool], "ttlMs": ttl, "cacheScope": "public", "resultType": "complete",
                "contents": [],
            });
            remote.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string()).await;
        }
    });
    let list = async |cursor: Option<&str>| {
        let mut params = PaginatedRequestParams::new(client.meta());
        params.cursor = cursor.map(str::to_owned);
        let result = cache.call::<ListToolsRequest>(client.peer(), params).await.expect("tools");
        result.tools[0].name.clone()
    };
    assert_eq!([list(None).await, list(None).await], ["0", "0"], "fresh");
    tokio::time::advance(Duration::from_millis(1001)).await;
    assert_eq!([list(None).await, list(None).await], ["1", "1"], "stale, then fresh");
    cache.invalidate(&Change::Prompts);
    assert_eq!(list(None).await, "1");
    cache.invalidate(&Change::Tools);
    assert_eq!(list(None).await, "2", "invalidated by the change");
    assert_eq!([list(Some("0")).await, list(Some("0")).await], ["3", "4"], "stale at once");
    assert_eq!([list(Some("9000")).await, list(Some("9000")).await], ["5", "5"], "each page has its own entry");
    let names = [list(Some("8000")).await, list(None).await, list(Some("9000")).await, list(Some("8000")).await];
    assert_eq!(names, ["6", "7", "5", "8"], "at most two entries: the one that expires first is removed");
    let read = async |uri: &str| {
        let params = ReadResourceRequestParams::new(uri, client.meta());
        cache.call::<ReadResourceRequest>(client.peer(), params).await.expect("contents");
        requests.load(Ordering::SeqCst)
    };
    cache.clear();
    assert_eq!([read("file:///a").await, read("file:///b").await, read("file:///a").await], [10, 11, 11]);
    cache.invalidate(&Change::Resource("file:///a".to_owned()));
    assert_eq!([read("file:///b").await, read("file:///a").await], [11, 12]);

    // A result that changes while it is requested is not cached.
    cache.clear();
    let pending = read("file:///b");
    let changed = async { cache.invalidate(&Change::Resource("file:///b".to_owned())) };
    assert_eq!(tokio::join!(pending, changed).0, 13);
    assert_eq!(read("file:///b").await, 14);
}

#[tokio::test]
async fn serves_only_modern_revisions() {
    let protocol = Modern::new(Role::Server, local_info()).cache_hints(CacheHints::default());
    let (incoming, outgoing) = mcpgen_sdk::transport::duplex();
    let connection = Connection::new(router(), Mcp::new(Arc::new(protocol)));
    tokio::spawn(connection.run(incoming.0, incoming.1));
    let options = client_info().retain_revisions(|revision| !revision.is_legacy());
    let client = connect(options, Router::new(), Router::new(), outgoing.0, outgoing.1, Limits::default()).await;
    let client = client.expect("connected");
    assert_eq!(client.peer().peer_info().expect("discovered").instructions.as_deref(), Some("be kind"));
    let tools =
        client.peer().call::<ListToolsRequest>(PaginatedRequestParams::new(client.meta())).await.expect("tools");
    assert_eq!(tools.tools[0].name, "who");
    assert!(tools.meta.is_some_and(|meta| meta.server_info.is_some()));
}
