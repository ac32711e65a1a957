//! Rejects the keys that serde_json reserves for internal use, anywhere in a message.
//!
//! If the first key of an object is reserved, serde_json parses its value, a string, as JSON with a new recursion
//! limit. Nested objects of this kind overflow the stack and abort the process.

#![allow(deprecated, reason = "what the newest revision deprecates is still served")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[cfg(feature = "http-server")]
use mcpgen_sdk::http::server::ServeHttp;
use mcpgen_sdk::protocol::Level;
use mcpgen_sdk::server::Args;
use mcpgen_sdk::{Client, Server, transport::lines};
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use mcpgen_types::{ErrorObject, Json, JsonObject, Revision};
use serde_json::{Value, json};

use crate::support::{RawPeer, dialect};

/// Returns JSON text nested in strings, which `serde_json::Value` parses recursively.
fn nested(levels: usize) -> String {
    let quoted = |text: &str| text.replace('\\', "\\u005c").replace('"', "\\u0022");
    let mut text = "1".to_owned();
    for _ in 0..levels {
        text = format!(
            "{{\"$serde_json::private::RawValue\":\"{}{}{}\"}}",
            "[".repeat(120),
            quoted(&text),
            "]".repeat(120)
        );
    }
    text
}

/// Returns values with reserved keys.
fn values() -> Vec<String> {
    vec![
        nested(400),
        r#"{"$serde_json::private::RawValue":"[1]"}"#.to_owned(),
        r#"{"$serde_json::private::Number":"1"}"#.to_owned(),
        r#"{"\u0024serde_json::private::RawValue":"[1]"}"#.to_owned(),
        r#"{"$serde_json::priv\u0061te::Number" : "1"}"#.to_owned(),
        r#"[{"a":{"$serde_json::private::RawValue":"[1]","b":1}}]"#.to_owned(),
    ]
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}"#;

/// Creates a server whose handlers decode parts of messages as `Value`. Also returns the number of handled calls.
fn server() -> (Server, Arc<AtomicUsize>) {
    let calls = Arc::<AtomicUsize>::default();
    let counted = || {
        let calls = Arc::clone(&calls);
        move || calls.fetch_add(1, Ordering::SeqCst)
    };
    let tool = |name: &str| Tool::new(name, ToolInputSchema::new());
    let by_hand = counted();
    let server = Server::builder("server", "1").tool(tool("by_hand"), move |arguments: JsonObject| {
        by_hand();
        async move { mcpgen_types::to_string(&arguments) }
    });
    let server = {
        let typed = counted();
        server.tool("typed", move |Args(Arguments { any })| {
            typed();
            async move { any.to_string() }
        })
    };
    (server.build(), calls)
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Arguments {
    any: Value,
}

/// Connects to the server. Its router handles custom messages, too.
fn connect() -> (RawPeer, Arc<AtomicUsize>) {
    let (server, calls) = server();
    let (requests, notifications) = (Arc::clone(&calls), Arc::clone(&calls));
    let router = server
        .router()
        .custom_request("custom", move |_, params: Value| {
            requests.fetch_add(1, Ordering::SeqCst);
            async move { Ok::<_, ErrorObject>(params) }
        })
        .custom_notification("notifications/custom", move |_, _: Value| {
            notifications.fetch_add(1, Ordering::SeqCst);
            async {}
        });
    let config = server.config().expect("a valid server");
    let (here, there) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(there);
    let (incoming, outgoing) = (lines::receive(reader, 1 << 22), lines::send(writer));
    tokio::spawn(mcpgen_sdk::serve((config, router), (incoming, outgoing)));
    (RawPeer::new(here), calls)
}

/// Legacy and modern requests: the text before and after the value.
const REQUESTS: &[(&str, &str)] = &[
    (r#""method":"tools/call","params":{"name":"by_hand","arguments":{"any":"#, "},META}"),
    (r#""method":"tools/call","params":{"name":"typed","arguments":{"any":"#, "},META}"),
    (r#""method":"tools/call","params":{"name":"by_hand","inputResponses":{"a":"#, "},META}"),
    (r#""method":"custom","params":{"any":"#, ",META}"),
    (r#""method":"custom","any":"#, r#","params":{META}"#),
    (r#""method":"server/discover","params":{"any":"#, ",META}"),
    (r#""method":"ping","params":{"any":"#, "}"),
    (
        r#""method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"a","version":"1"},"capabilities":{"experimental":"#,
        "}}",
    ),
];

#[tokio::test]
async fn rejects_requests_with_reserved_keys() {
    for value in values() {
        for (before, after) in REQUESTS {
            let (mut remote, calls) = connect();
            let request = format!(r#"{{"jsonrpc":"2.0","id":7,{before}{value}{after}}}"#).replace("META", META);
            let response = remote.request(&request).await;
            assert_eq!(response["id"], 7, "{before}: {response}");
            assert_eq!(response["error"]["code"], -32600, "{before}: {response}");
            let message = response["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains("$serde_json::private::"), "{before}: {message}");
            let path = response["error"]["data"]["path"].as_str().unwrap_or_default();
            assert!(path.ends_with("RawValue") || path.ends_with("Number"), "{before}: {response}");
            let next = remote.request(r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#).await;
            assert_eq!(next, json!({ "jsonrpc": "2.0", "id": 8, "result": {} }), "{before}");
            assert_eq!(calls.load(Ordering::SeqCst), 0, "{before}");
        }
    }
}

#[tokio::test]
async fn reports_the_path_of_a_reserved_key() {
    let (mut remote, _) = connect();
    let request =
        r#"{"jsonrpc":"2.0","id":1,"method":"custom","params":{"a/b":[0,{"c":{"$serde_json::private::Number":"1"}}]}}"#;
    let response = remote.request(request).await;
    assert_eq!(
        response["error"],
        json!({
            "code": -32600,
            "message": "params[\"a/b\"][1].c[\"$serde_json::private::Number\"]: serde_json reserves this key, so it is not \
                        accepted; rename it",
            "data": { "path": "/params/a~1b/1/c/$serde_json::private::Number" },
        })
    );
}

#[tokio::test]
async fn drops_notifications_with_reserved_keys() {
    for value in values() {
        for notification in [
            r#""method":"notifications/initialized","params":{"any":VALUE}"#,
            r#""method":"notifications/initialized","params":{"any":VALUE,META}"#,
            r#""method":"notifications/custom","params":{"any":VALUE}"#,
            r#""method":"notifications/cancelled","params":{"requestId":1,"any":VALUE}"#,
            r#""method":"notifications/progress","params":{"progressToken":1,"progress":1,"any":VALUE}"#,
            r#""id":1,"result":{"any":VALUE}"#,
            r#""id":1,"error":{"code":1,"message":"no","data":VALUE}"#,
        ] {
            let (mut remote, calls) = connect();
            let message = notification.replace("VALUE", &value).replace("META", META);
            remote.send(&format!(r#"{{"jsonrpc":"2.0",{message}}}"#)).await;
            // When the response arrives, all earlier messages have been handled.
            let request = r#"{"jsonrpc":"2.0","id":8,"method":"custom","params":{"a":1,META}}"#.replace("META", META);
            let mut next = remote.request(&request).await;
            if next["error"]["code"] == -32600 {
                assert_eq!(next["id"], Value::Null, "{notification}");
                next = remote.receive().await;
            }
            assert_eq!(next["result"]["a"], 1, "{notification}: {next}");
            assert_eq!(calls.load(Ordering::SeqCst), 1, "{notification}: only the request that follows is handled");
        }
    }
}

#[tokio::test]
async fn does_not_translate_messages_with_reserved_keys() {
    use futures_util::StreamExt;
    for value in values() {
        let message = format!(r#"{{"jsonrpc":"2.0","method":"initialized","params":{{"any":{value}}}}}"#);
        let arrived = futures_util::stream::iter([Ok(message.clone().into_bytes().into())]);
        let translated: Vec<_> = dialect::incoming(arrived).collect().await;
        let translated =
            translated.into_iter().next().expect("a message").expect("no error").into_bytes().expect("not parsed");
        let translated = String::from_utf8(translated).expect("text");
        let read = |text: &str| mcpgen_types::from_str::<Value>(text).map_err(|error| error.to_string());
        match read(&message) {
            Ok(mut expected) => {
                expected["method"] = json!("notifications/initialized");
                assert_eq!(read(&translated), Ok(expected));
            }
            Err(_) => assert_eq!(translated, message, "a message that cannot be parsed is unchanged"),
        }
    }
}

#[cfg(feature = "http-server")]
#[tokio::test]
async fn rejects_reserved_keys_over_http() {
    use http_body_util::{BodyExt, Full};
    use tower::ServiceExt;
    for value in values() {
        for (before, after) in REQUESTS {
            let (server, calls) = server();
            let endpoint = server.http(mcpgen_sdk::http::server::EndpointOptions::default()).expect("a valid server");
            let body = format!(r#"{{"jsonrpc":"2.0","id":7,{before}{value}{after}}}"#).replace("META", META);
            let request =
                http::Request::post("/mcp").header("host", "localhost").header("content-type", "application/json");
            let request = request.body(Full::new(bytes::Bytes::from(body))).expect("a request");
            let response = endpoint.oneshot(request).await.expect("no error");
            assert_eq!(response.status(), 400, "{before}");
            let body = response.into_body().collect().await.expect("a body").to_bytes();
            let error: Value = mcpgen_types::from_slice(&body).expect("JSON");
            assert_eq!((&error["id"], &error["error"]["code"]), (&json!(7), &json!(-32600)), "{before}: {error}");
            assert_eq!(calls.load(Ordering::SeqCst), 0, "{before}");
        }
    }
}

#[tokio::test]
async fn accepts_reserved_names_in_strings() {
    let (mut remote, _) = connect();
    let text = json!({ "a": "$serde_json::private::RawValue", "$serde_json::private::": "\"$serde_json::private::Number\":1" });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "custom", "params": { "text": text } });
    let request = request.to_string().replace(r#""params":{"#, &format!(r#""params":{{{META},"#));
    for request in [request.clone(), request.replace('$', "\\u0024")] {
        assert_eq!(remote.request(&request).await["result"]["text"], text);
    }
}

/// Connects a client to a server that the test drives.
async fn client(received: Arc<Mutex<Vec<Value>>>) -> (Client, RawPeer) {
    let (here, there) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(here);
    let client = Client::builder("client", "1")
        .options(|options| {
            (options.known_revision, options.check_known_revision) = (Some(Revision::V2026_07_28), false)
        })
        .on_log(Level::Debug, move |event| {
            received.lock().expect("no panic").push(event.data.to_value());
            async {}
        });
    (
        client.connect(lines::receive(reader, 1 << 22), lines::send(writer)).await.expect("no handshake"),
        RawPeer::new(there),
    )
}

#[tokio::test]
async fn rejects_results_and_log_messages_with_reserved_keys() {
    for value in values() {
        let received = Arc::<Mutex<Vec<Value>>>::default();
        let (client, mut remote) = client(Arc::clone(&received)).await;
        let calling = tokio::spawn(async move {
            let failed = client.call_tool("a", JsonObject::new()).await;
            (client, failed.map(drop).map_err(|error| error.to_string()))
        });
        let id = remote.receive().await["id"].clone();
        let event = |data: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"error","data":{data}}}}}"#
            )
        };
        remote.send(&event(&value)).await;
        remote.send(&event("5")).await;
        remote.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[],"structuredContent":{value}}}}}"#))
            .await;
        let completed = tokio::time::timeout(Duration::from_secs(20), calling).await.expect("the call ends");
        let (client, failed) = completed.expect("no panic");
        let failed = failed.expect_err("the result is rejected");
        assert!(failed.contains("$serde_json::private::"), "{failed}");
        let params = Json::from(&json!({ "a": 1 }));
        let calling =
            tokio::spawn(async move { client.peer().raw_request("next", Some(params)).await.map(|it| it.to_string()) });
        let id = loop {
            // The client may respond to a rejected log message with an error.
            let message = remote.receive().await;
            if message["method"] == "next" {
                break message["id"].clone();
            }
        };
        remote.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete"}}}}"#)).await;
        assert!(calling.await.expect("no panic").is_ok());
        assert_eq!(*received.lock().expect("no panic"), [json!(5)]);
    }
}
