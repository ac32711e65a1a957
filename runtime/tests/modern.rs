//! The revision without a handshake: what each request says, and what each result does.

#![allow(deprecated, reason = "what the newest revision deprecates is still served")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcpgen_runtime::client::cache::Cache;
use mcpgen_runtime::client::handshake::ConnectOptions;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::peer::{CallError, Peer};
use mcpgen_runtime::protocol::cache_hints::{CacheHint, CacheHints};
use mcpgen_runtime::protocol::change::Change;
use mcpgen_runtime::protocol::config::ServerConfig;
use mcpgen_runtime::protocol::modern::{Modern, ResultRules};
use mcpgen_runtime::protocol::{Level, Role};
use mcpgen_runtime::transport::lines;
use mcpgen_runtime::{Client, Connection, Limits, LocalInfo, Router, connect};
use mcpgen_types::v2026_07_28::{
    CacheScope, CallToolRequest, CallToolRequestParams, CallToolResult, ListToolsRequest, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequest, ReadResourceRequestParams, ReadResourceResult, TextContent,
    TextResourceContents, Tool, ToolInputSchema, ToolListChangedNotification,
};
use mcpgen_types::{ErrorObject, RawJson, Revision, v2025_11_25};
use serde_json::{Value, json};
use support::Wire;

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::new(vec![TextContent::new(text).into()])
}

fn ours() -> LocalInfo {
    LocalInfo {
        instructions: Some("be kind".to_owned()),
        ..LocalInfo::new("server", "1")
            .capability("tools", json!({ "listChanged": true }))
            .capability("logging", json!({}))
    }
}

/// Tools that do what their name says.
fn router() -> Router {
    Router::new()
        .request::<ListToolsRequest>(|_, _| async {
            let tool = Tool::new(ToolInputSchema::new(), "who");
            Ok::<_, ErrorObject>(ListToolsResult::new(CacheScope::Private, vec![tool], 7))
        })
        .request::<ReadResourceRequest>(|context, params| async move {
            match params.uri.as_str() {
                "file:///none" => Err(errors::resource_not_found(context.revision(), &params.uri)),
                uri => {
                    Ok(ReadResourceResult::new(CacheScope::Private, vec![TextResourceContents::new("", uri).into()], 0)
                        .into())
                }
            }
        })
        .request::<CallToolRequest>(|context, params| async move {
            let peer_info = context.peer_info().expect("someone asks").clone();
            if let Some(code) = params.name.strip_prefix("fail ") {
                return Err(ErrorObject::new(code.parse::<i64>().expect("a code"), "failed"));
            }
            match params.name.as_str() {
                "who" => Ok(text(format!(
                    "{} of {} can {}",
                    peer_info.implementation.get("name").and_then(Value::as_str).unwrap_or("nobody"),
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
                "tell" => {
                    let told = context.peer().notify::<ToolListChangedNotification>(None).await;
                    let asked = context.peer().call::<mcpgen_types::v2026_07_28::ListRootsRequest>(
                        mcpgen_types::from_str("{}").expect("params"),
                    );
                    Ok(text(format!("{}\n{}", told.expect_err("no"), asked.await.expect_err("no"))).into())
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

fn server_of(ours: impl Into<ServerConfig>, router: Router) -> (Wire, Peer) {
    let protocol = Arc::new(ours.into().protocol(&router.handled(mcpgen_runtime::protocol::Role::Server)));
    Wire::to(|pipe| support::run(router, protocol, Limits::default(), pipe))
}

fn server() -> (Wire, Peer) {
    server_of(ours(), router())
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A request with `_meta`.
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
async fn each_request_says_what_it_is_made_under() {
    let (mut wire, _peer) = server();
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
            let error = wire.ask(&request(1, method, json!({ "name": "who" }), &meta)).await["error"].clone();
            assert_eq!(error["code"], code, "{method} {meta}: {error}");
            assert!(error["message"].as_str().is_some_and(|message| message.contains(names)), "{error}");
        }
    }
    let error = wire.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await["error"].clone();
    assert_eq!(error["code"], -32602, "{error}");
    let unsupported = call("who", &with(meta(), "protocolVersion", json!("1900-01-01")));
    let data = wire.ask(&unsupported).await["error"]["data"].clone();
    assert_eq!(data, json!({ "supported": ["2026-07-28"], "requested": "1900-01-01" }));
}

#[tokio::test]
async fn nothing_is_inferred_from_earlier_requests() {
    let (mut wire, peer) = server();
    let capability =
        with(meta(), "clientCapabilities", json!({ "roots": {}, "extensions": { "com.example/x": { "y": 1 } } }));
    let named = with(capability, "clientInfo", json!({ "name": "ann", "version": "1", "more": true }));
    for (meta, expected) in [
        (meta(), "nobody of 2026-07-28 can {}"),
        (named, r#"ann of 2026-07-28 can {"extensions":{"com.example/x":{"y":1}},"roots":{}}"#),
        (meta(), "nobody of 2026-07-28 can {}"),
    ] {
        assert_eq!(wire.ask(&call("who", &meta)).await["result"]["content"][0]["text"], expected);
        assert!(peer.peer_info().is_none(), "a connection is nobody");
    }
    let mut traced = meta();
    traced["traceparent"] = json!("00-1-2-3");
    assert_eq!(wire.ask(&call("trace", &traced)).await["result"]["content"][0]["text"], r#"Some("00-1-2-3")"#);
}

#[tokio::test]
async fn what_takes_a_capability_is_refused_without_it() {
    let (mut wire, _peer) = server();
    let error = wire.ask(&call("sample", &with(meta(), "clientCapabilities", json!({ "sampling": {} })))).await;
    assert_eq!(error["error"]["code"], -32021);
    assert_eq!(error["error"]["data"], json!({ "requiredCapabilities": { "sampling": { "tools": {} } } }));
    let capability = with(meta(), "clientCapabilities", json!({ "sampling": { "tools": {} } }));
    assert_eq!(wire.ask(&call("sample", &capability)).await["result"]["content"][0]["text"], "sampled");
}

#[tokio::test]
async fn a_server_tells_what_it_is() {
    let hint = CacheHint { fresh_for: Duration::from_secs(60), public: true };
    let cache_hints = CacheHints::default().of::<mcpgen_types::v2026_07_28::DiscoverRequest>(hint);
    let (mut wire, _peer) = server_of(ServerConfig { cache_hints, ..ours().into() }, router());
    let answer = wire.ask(&request("d", "server/discover", json!({}), &meta())).await;
    let expected = json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        // What is handled is added to what was said.
        "capabilities": { "tools": { "listChanged": true }, "logging": {}, "resources": {} },
        "instructions": "be kind",
        "ttlMs": 60000,
        "cacheScope": "public",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "server", "version": "1" } },
    });
    assert_eq!((&answer["id"], &answer["result"]), (&json!("d"), &expected));
    let typed = mcpgen_types::from_value::<mcpgen_types::v2026_07_28::DiscoverResult>(answer["result"].clone());
    typed.expect("what the schema says");
}

#[tokio::test]
async fn results_say_what_they_are() {
    let list = CacheHint { fresh_for: Duration::from_millis(1500), public: true };
    let one = CacheHint { fresh_for: Duration::from_secs(2), public: false };
    let cache_hints = CacheHints::default().of::<ListToolsRequest>(list).of_resource("file:///a", one);
    let (mut wire, _peer) = server_of(ServerConfig { cache_hints, ..ours().into() }, router());
    let server = json!({ "io.modelcontextprotocol/serverInfo": { "name": "server", "version": "1" } });

    let result = wire.ask(&request(1, "tools/list", json!({}), &meta())).await["result"].clone();
    assert_eq!((&result["resultType"], &result["_meta"]), (&json!("complete"), &server));
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(1500), &json!("public")), "the hint of all lists");
    for (uri, ttl) in [("file:///a", 2000), ("file:///b", 0)] {
        let result = wire.ask(&request(1, "resources/read", json!({ "uri": uri }), &meta())).await["result"].clone();
        assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(ttl), &json!("private")), "{uri}");
    }
    let result = wire.ask(&call("meta", &meta())).await["result"].clone();
    assert_eq!(result["_meta"]["mine"], 1);
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "server");
    assert!(result.get("ttlMs").is_none(), "nobody keeps what a tool has done");
    let result = wire.ask(&request(1, "custom/bare", json!({}), &meta())).await["result"].clone();
    assert_eq!(result, json!({ "a": 1, "resultType": "complete", "_meta": server }));
    let answer = wire.ask(&request(1, "custom/list", json!({}), &meta())).await;
    assert_eq!(answer["error"]["code"], -32603, "a result is an object");
}

#[tokio::test]
async fn what_is_no_result_of_the_revision_is_not_sent() {
    let config = ServerConfig { result_types: vec!["com.example/later".to_owned()], ..ours().into() };
    let (mut wire, _peer) = server_of(config, router());
    for (result, ok) in [
        (json!({ "resultType": "complete" }), true),
        (json!({ "resultType": "com.example/later" }), true),
        (json!({ "resultType": "com.example/other" }), false),
        (json!({ "resultType": null }), false),
        (json!({ "resultType": 1 }), false),
        (json!("x"), false),
        (json!(null), false),
    ] {
        let answer = wire.ask(&request(1, "custom/echo", json!({ "result": result }), &meta())).await;
        assert_eq!(answer["result"].is_object(), ok, "{result}: {answer}");
        assert_eq!(answer["error"]["code"] == -32603, !ok, "{result}: {answer}");
    }
    // A list by hand that says for how long it is fresh, and says nonsense.
    let list = Router::new().custom_request("prompts/list", |_, params: Value| async move {
        let mut result = params["result"].clone();
        result["prompts"] = json!([]);
        Ok::<_, ErrorObject>(result)
    });
    let (mut wire, _peer) = server_of(ours().retain_revisions(|revision| !revision.is_legacy()), list);
    for (result, ttl, scope) in [
        (json!({}), 0, "private"),
        (json!({ "ttlMs": -5, "cacheScope": "everyone" }), 0, "private"),
        (json!({ "ttlMs": 1.5, "cacheScope": null }), 0, "private"),
        (json!({ "ttlMs": 9, "cacheScope": "public" }), 9, "public"),
    ] {
        let answer = wire.ask(&request(1, "prompts/list", json!({ "result": result }), &meta())).await;
        let sent = (&answer["result"]["ttlMs"], &answer["result"]["cacheScope"]);
        assert_eq!(sent, (&json!(ttl), &json!(scope)), "{result}");
    }
}

#[tokio::test]
async fn a_hint_is_that_of_the_resource_and_of_nothing_else() {
    let hint = CacheHint { fresh_for: Duration::from_secs(1), public: true };
    let cache_hints = CacheHints::default().of_resource("file:///public", hint);
    let (mut wire, _peer) = server_of(ServerConfig { cache_hints, ..ours().into() }, router());
    let params = json!({ "uri": "file:///private", "name": "file:///public" });
    let result = wire.ask(&request(1, "resources/read", params, &meta())).await["result"].clone();
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
}

#[tokio::test]
async fn what_is_handled_is_declared_in_the_revision_that_it_is_handled_in() {
    let handlers = Router::new()
        .request::<ListToolsRequest>(|_, _| async { Err(ErrorObject::new(-1, "")) })
        .request::<v2025_11_25::ListPromptsRequest>(|_, _| async { Err(ErrorObject::new(-1, "")) });
    let (mut wire, _peer) = server_of(LocalInfo::new("server", "1"), handlers);
    let discovered = wire.ask(&request(1, "server/discover", json!({}), &meta())).await["result"].clone();
    assert_eq!(discovered["capabilities"], json!({ "tools": {} }));
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string();
    assert_eq!(wire.ask(&initialize).await["result"]["capabilities"], json!({ "prompts": {} }));
}

#[tokio::test]
async fn removed_methods_are_unknown() {
    let (mut wire, _peer) = server();
    for method in
        ["ping", "initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/get"]
    {
        let answer = wire.ask(&request(1, method, json!({}), &meta())).await;
        assert_eq!(answer["error"]["code"], -32601, "{method}");
    }
}

#[tokio::test]
async fn a_client_that_begins_with_initialize_learns_what_is_spoken() {
    let (mut wire, _peer) = server();
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string();
    let error = wire.ask(&initialize).await["error"].clone();
    assert!(error["message"].as_str().is_some_and(|message| message.contains("2026-07-28")), "{error}");
    assert_eq!(error["data"], json!({ "supported": ["2026-07-28"], "requested": "2025-11-25" }));
}

#[tokio::test]
async fn codes_of_other_revisions_are_not_sent() {
    let (mut wire, _peer) = server();
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
        let error = wire.ask(&call(&format!("fail {code}"), &meta())).await["error"].clone();
        assert_eq!(error, json!({ "code": sent, "message": "failed" }), "{code}");
    }
    let missing = wire.ask(&request(1, "resources/read", json!({ "uri": "file:///none" }), &meta())).await;
    assert_eq!(missing["error"]["code"], -32602);
    assert_eq!(missing["error"]["data"], json!({ "uri": "file:///none" }));
}

#[test]
fn a_resource_that_is_not_there_is_known_by_either_code() {
    let uri = json!({ "uri": "file:///none" });
    for (error, expected) in [
        (ErrorObject::new(-32002, "gone"), true),
        (ErrorObject::new(-32002, "gone").with_data(uri.clone()), true),
        (ErrorObject::new(-32602, "gone").with_data(uri.clone()), true),
        (ErrorObject::new(-32602, "wrong"), false),
        (ErrorObject::new(-32603, "failed").with_data(uri), false),
        (errors::resource_not_found(Revision::V2025_11_25, "x"), true),
        (errors::resource_not_found(Revision::V2026_07_28, "x"), true),
    ] {
        assert_eq!(errors::is_resource_not_found(&error), expected, "{error}");
    }
}

#[tokio::test]
async fn events_are_told_to_requests_that_ask_for_them() {
    let (mut wire, peer) = server();
    assert_eq!(wire.ask(&call("log", &meta())).await["result"]["content"][0]["text"], "logged");
    wire.say(&call("log", &with(meta(), "logLevel", json!("warning")))).await;
    let event = wire.hear().await;
    assert_eq!(event["method"], "notifications/message");
    assert_eq!(event["params"], json!({ "level": "error", "logger": "here", "data": "failure" }));
    assert_eq!(wire.hear().await["result"]["content"][0]["text"], "logged");
    // Not by someone who has not declared it, and not to nobody.
    let (mut silent, _peer) = server_of(LocalInfo::new("server", "1"), router());
    silent.say(&call("log", &with(meta(), "logLevel", json!("debug")))).await;
    assert_eq!(silent.hear().await["result"]["content"][0]["text"], "logged");
    assert!(matches!(peer.raw_notify("notifications/message", None).await, Err(CallError::NotAllowed(_))));
}

#[tokio::test]
async fn a_server_makes_no_requests() {
    let (mut wire, peer) = server();
    let words = wire.ask(&call("tell", &meta())).await["result"]["content"][0]["text"].clone();
    let words = words.as_str().expect("text");
    assert!(words.contains("Subscriptions") && words.contains("InputRequiredResult"), "{words}");
    assert!(matches!(peer.raw_request("roots/list", None).await, Err(CallError::NotAllowed(_))));
}

/// A client of this era whose server is driven by hand.
async fn client(ours: LocalInfo, reading: ResultRules, handlers: Router) -> (Wire, Client) {
    let (here, there) = tokio::io::duplex(1 << 16);
    let options = ConnectOptions {
        result_rules: reading,
        known_revision: Some(Revision::V2026_07_28),
        check_known_revision: false,
        ..ours.retain_revisions(|revision| !revision.is_legacy()).into()
    };
    let (reader, writer) = tokio::io::split(there);
    let (incoming, outgoing) = (lines::receive(reader, 1 << 20), lines::send(writer));
    let client = connect(options, handlers.clone(), handlers, incoming, outgoing, Limits::default()).await;
    (Wire::of(here), client.expect("nobody is asked"))
}

fn visitor() -> LocalInfo {
    LocalInfo::new("visitor", "2").capability("roots", json!({}))
}

#[tokio::test]
async fn a_client_says_the_same_of_itself_each_time() {
    let introduction = LocalInfo { level: Some(Level::Notice), ..visitor() };
    let (mut wire, client) = client(introduction, ResultRules::default(), Router::new()).await;
    let expected = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "roots": {} },
        "io.modelcontextprotocol/clientInfo": { "name": "visitor", "version": "2" },
        "io.modelcontextprotocol/logLevel": "notice",
    });
    let peer = client.peer.clone();
    let calls = tokio::spawn(async move {
        let typed = CallToolRequestParams::new(client.meta(), "a");
        let _ = peer.call::<CallToolRequest>(typed).await;
        let _ = peer.raw_request("tools/call", Some(RawJson::from(&json!({ "name": "a" })))).await;
        let own = json!({ "name": "a", "_meta": { "io.modelcontextprotocol/logLevel": "debug", "mine": [1] } });
        let _ = peer.raw_request("tools/call", Some(RawJson::from(&own))).await;
        let _ = peer.custom_request::<_, Value>("custom/none", &json!(null)).expect("params").await;
        let _ = peer.raw_request("tools/call", None).on_progress(|_| {}).await;
    });
    let mut with_more = expected.clone();
    (with_more["io.modelcontextprotocol/logLevel"], with_more["mine"]) = (json!("debug"), json!([1]));
    for expected in [&expected, &expected, &with_more, &expected] {
        let request = wire.hear().await;
        assert_eq!(&request["params"]["_meta"], expected);
        wire.say(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": {} }).to_string()).await;
    }
    let request = wire.hear().await;
    assert_eq!(request["params"]["_meta"]["progressToken"], request["id"]);
    drop(wire);
    calls.await.expect("done");
}

#[tokio::test]
async fn a_client_reads_results_by_their_kind() {
    let extended = ResultRules { result_types: vec!["com.example/later".to_owned()], ..ResultRules::default() };
    let strict = ResultRules { strict: true, ..ResultRules::default() };
    for (result, lenient_ok, strict_ok, extended_ok) in [
        (json!({ "resultType": "complete" }), true, true, true),
        (json!({}), true, false, true),
        (json!({ "resultType": "com.example/later" }), false, false, true),
        (json!({ "resultType": "unheard of" }), false, false, false),
        // Only three requests are answered so.
        (json!({ "resultType": "input_required", "requestState": "" }), false, false, false),
        (json!({ "resultType": null }), false, false, false),
        (json!({ "resultType": 1 }), false, false, false),
        (json!([]), false, false, false),
    ] {
        for (reading, expected) in
            [(ResultRules::default(), lenient_ok), (strict.clone(), strict_ok), (extended.clone(), extended_ok)]
        {
            let (mut wire, client) = client(visitor(), reading.clone(), Router::new()).await;
            let call = tokio::spawn(client.peer.raw_request("tools/list", None).send());
            let id = wire.hear().await["id"].clone();
            wire.say(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()).await;
            let answer = call.await.expect("done");
            assert_eq!(answer.is_ok(), expected, "{result} {reading:?}: {answer:?}");
            if let Ok(answer) = answer {
                let kind = answer.decode::<Value>().expect("JSON")["resultType"].clone();
                assert_eq!(kind, result.get("resultType").cloned().unwrap_or(json!("complete")));
            }
        }
    }
}

#[tokio::test]
async fn a_client_answers_no_requests() {
    let (mut wire, client) = client(visitor(), ResultRules::default(), Router::new()).await;
    wire.say(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#).await;
    wire.say(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#).await;
    let call = tokio::spawn(client.peer.raw_request("tools/list", None).send());
    assert_eq!(wire.hear().await["method"], "tools/list", "and nothing before it");
    call.abort();
    // The removed notifications of a client stay there too, and types of other revisions.
    for method in ["notifications/initialized", "notifications/roots/list_changed", "notifications/progress"] {
        assert!(matches!(client.peer.raw_notify(method, None).await, Err(CallError::NotAllowed(_))), "{method}");
    }
    let other = client.peer.call::<v2025_11_25::ListToolsRequest>(None).await;
    assert!(matches!(other, Err(CallError::NotAllowed(_))));
}

#[tokio::test(start_paused = true)]
async fn fresh_results_are_kept() {
    let (mut wire, client) = client(visitor(), ResultRules::default(), Router::new()).await;
    let cache = Arc::new(Cache::new(2));
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    tokio::spawn(async move {
        loop {
            let request = wire.hear().await;
            let nth = count.fetch_add(1, Ordering::SeqCst);
            let ttl = request["params"]["cursor"].as_str().map_or(json!(1000), |ttl| ttl.parse().expect("a number"));
            let tool = json!({ "name": nth.to_string(), "inputSchema": { "type": "object" } });
            let result = json!({
                "tools": [tool], "ttlMs": ttl, "cacheScope": "public", "resultType": "complete",
                "contents": [],
            });
            wire.say(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string()).await;
        }
    });
    let list = async |cursor: Option<&str>| {
        let mut params = PaginatedRequestParams::new(client.meta());
        params.cursor = cursor.map(str::to_owned);
        let result = cache.call::<ListToolsRequest>(&client.peer, params).await.expect("tools");
        result.tools[0].name.clone()
    };
    assert_eq!([list(None).await, list(None).await], ["0", "0"], "fresh");
    tokio::time::advance(Duration::from_millis(1001)).await;
    assert_eq!([list(None).await, list(None).await], ["1", "1"], "stale, then fresh");
    cache.invalidate(&Change::Prompts);
    assert_eq!(list(None).await, "1");
    cache.invalidate(&Change::Tools);
    assert_eq!(list(None).await, "2", "told that it has changed");
    assert_eq!([list(Some("0")).await, list(Some("0")).await], ["3", "4"], "stale at once");
    assert_eq!([list(Some("9000")).await, list(Some("9000")).await], ["5", "5"], "each page by itself");
    let asked_again = [list(Some("8000")).await, list(None).await, list(Some("9000")).await, list(Some("8000")).await];
    assert_eq!(asked_again, ["6", "7", "5", "8"], "no more than two: what is stale first goes first");
    let read = async |uri: &str| {
        let params = ReadResourceRequestParams::new(client.meta(), uri);
        cache.call::<ReadResourceRequest>(&client.peer, params).await.expect("contents");
        asked.load(Ordering::SeqCst)
    };
    cache.clear();
    assert_eq!([read("file:///a").await, read("file:///b").await, read("file:///a").await], [10, 11, 11]);
    cache.invalidate(&Change::Resource("file:///a".to_owned()));
    assert_eq!([read("file:///b").await, read("file:///a").await], [11, 12]);

    // What has changed on its way is not kept.
    cache.clear();
    let on_its_way = read("file:///b");
    let changed = async { cache.invalidate(&Change::Resource("file:///b".to_owned())) };
    assert_eq!(tokio::join!(on_its_way, changed).0, 13);
    assert_eq!(read("file:///b").await, 14);
}

#[tokio::test]
async fn the_era_can_be_had_alone() {
    let protocol = Modern::new(Role::Server, ours()).cache_hints(CacheHints::default());
    let (incoming, outgoing) = mcpgen_runtime::transport::duplex();
    let connection = Connection::new(router(), router(), Arc::new(protocol), Limits::default());
    tokio::spawn(connection.run(incoming.0, incoming.1));
    let options = visitor().retain_revisions(|revision| !revision.is_legacy());
    let client = connect(options, Router::new(), Router::new(), outgoing.0, outgoing.1, Limits::default()).await;
    let client = client.expect("connected");
    assert_eq!(client.peer.peer_info().expect("discovered").instructions.as_deref(), Some("be kind"));
    let tools = client.peer.call::<ListToolsRequest>(PaginatedRequestParams::new(client.meta())).await.expect("tools");
    assert_eq!(tools.tools[0].name, "who");
    assert!(tools.meta.is_some_and(|meta| meta.server_info.is_some()));
}
