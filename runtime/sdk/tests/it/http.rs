//! The server side of Streamable HTTP: requests, sessions, streams and shutdown.
#![cfg(all(feature = "http-server", feature = "http-client"))]

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use mcpgen_sdk::Server;
use mcpgen_sdk::http::server::{EndpointOptions, ServeHttp};
use mcpgen_sdk::protocol::ContextExt;
use mcpgen_sdk::server::RequestContext;
use mcpgen_sdk::transport::Principal;
use mcpgen_types::v2026_07_28::Prompt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::http_server::{endpoint, until};
use crate::support::requests::{ACCEPT_BOTH, MODERN, call, events, modern, modern_call, read, request, send, session};

#[tokio::test]
async fn handles_modern_requests_without_a_session() {
    let (endpoint, _) = endpoint(|_| {});
    let (status, headers, events) = read(modern_call(&endpoint, "echo", json!({ "a": 1 })).await).await;
    assert_eq!((status, events.len()), (200, 1));
    assert_eq!(headers["content-type"], "application/json");
    assert!(!headers.contains_key("mcp-session-id"));
    assert_eq!(events[0].json()["result"]["content"][0]["text"], r#"{"a":1}"#);
    assert_eq!(endpoint.sessions(), 0);

    let params = modern(json!({ "name": "progress", "_meta": { "progressToken": "p" } }));
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "progress")];
    let response = send(&endpoint, "POST", &headers, &request(7, "tools/call", params)).await;
    let (status, headers, events) = read(response).await;
    assert_eq!((status, events.len()), (200, 4));
    assert_eq!(
        (&headers["content-type"], &headers["x-accel-buffering"]),
        (&"text/event-stream".parse().unwrap(), &"no".parse().unwrap())
    );
    assert!(events.iter().all(|event| event.id.is_empty()), "modern streams cannot be resumed");
    let progress: Vec<Value> = events.iter().map(|event| event.json()["params"]["progress"].clone()).collect();
    assert_eq!(progress, [json!(1.0), json!(2.0), json!(3.0), Value::Null]);
    assert_eq!(events[3].json()["id"], 7);

    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/unknown" }).to_string();
    let (status, _, events) =
        read(send(&endpoint, "POST", &[("mcp-protocol-version", MODERN)], &notification).await).await;
    assert_eq!((status, events.len()), (202, 0));
}

/// Modern requests share what the server has cached for its configuration and for the most recent metadata.
#[tokio::test]
async fn modern_requests_see_the_current_configuration_and_their_own_client() {
    let whoami = |context: RequestContext| async move {
        let client = context.peer_info().expect("modern requests have it").implementation.clone();
        client.get("name").and_then(|name| name.as_str().map(Cow::into_owned)).unwrap_or_default()
    };
    let server = Server::builder("s", "1").tool("whoami", whoami).build();
    let endpoint = server.http(EndpointOptions::default()).expect("a valid server");
    let discover = async || {
        let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "server/discover")];
        let response = send(&endpoint, "POST", &headers, &request(1, "server/discover", modern(json!({})))).await;
        let (_, _, events) = read(response).await;
        let capabilities = &events[0].json()["result"]["capabilities"];
        capabilities.as_object().expect("an object").keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(discover().await, ["tools"]);
    server.add_prompt(Prompt::new("p"), || async { "hello" }).expect("a new prompt");
    assert_eq!(discover().await, ["prompts", "tools"]);
    for name in ["ann", "ann", "bob", "ann"] {
        let mut params = modern(json!({ "name": "whoami" }));
        params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": name, "version": "1" });
        let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "whoami")];
        let (_, _, events) = read(send(&endpoint, "POST", &headers, &request(1, "tools/call", params)).await).await;
        assert_eq!(events[0].json()["result"]["content"][0]["text"], name);
    }
}

/// A session has one client. Another client begins its own session, without sending an ID.
#[tokio::test]
async fn refuses_a_second_initialize_in_a_session() {
    let (endpoint, _) = endpoint(|_| {});
    let id = session(&endpoint, "2025-11-25").await;
    let client = json!({ "name": "c", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let headers = [("mcp-session-id", id.as_str()), ("mcp-protocol-version", "2025-11-25")];
    let (_, _, events) = read(send(&endpoint, "POST", &headers, &request(1, "initialize", params)).await).await;
    assert_eq!(events[0].json()["error"]["code"], -32600);
    let (status, _, _) = read(send(&endpoint, "POST", &headers, &call(2, "echo", json!({}))).await).await;
    assert_eq!(status, 200, "the session continues");
}

#[tokio::test]
async fn rejects_headers_that_differ_from_the_body() {
    let (endpoint, _) = endpoint(|_| {});
    let list = request(1, "tools/list", modern(json!({})));
    let echo = request(1, "tools/call", modern(json!({ "name": "echo" })));
    let region = request(1, "tools/call", modern(json!({ "name": "region", "arguments": { "region": "über" } })));
    let without_region = request(1, "tools/call", modern(json!({ "name": "region" })));
    let unknown = request(1, "tools/unknown", modern(json!({})));
    let future = list.replace(MODERN, "2099-01-01");
    let nameless = request(1, "tools/list", json!({}));
    let without = request(1, "tools/list", json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": MODERN } }));
    let version = ("mcp-protocol-version", MODERN);
    let listing = ("mcp-method", "tools/list");
    let calling = ("mcp-method", "tools/call");
    let (an_echo, a_region) = (("mcp-name", "echo"), ("mcp-name", "region"));
    let region_header = ("mcp-param-region", "=?base64?w7xiZXI=?=");
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, u16, i64);
    let table: &[Case<'_>] = &[
        (&[version, listing], &list, 200, 0),
        (&[version, ("MCP-METHOD", "tools/list")], &list, 200, 0),
        (&[listing], &list, 400, -32020),
        (&[version], &list, 400, -32020),
        (&[version, ("mcp-method", "TOOLS/LIST")], &list, 400, -32020),
        (&[version, calling], &list, 400, -32020),
        (&[version, listing, listing], &list, 400, -32020),
        (&[("mcp-protocol-version", "2025-11-25"), listing], &list, 400, -32020),
        (&[version, listing], &future, 400, -32020),
        (&[("mcp-protocol-version", "2099-01-01"), listing], &future, 400, -32022),
        (&[version, listing], &nameless, 400, -32602),
        (&[version, listing], &without, 400, -32602),
        (&[version, ("mcp-method", "tools/unknown")], &unknown, 404, -32601),
        (&[version, calling, an_echo], &echo, 200, 0),
        (&[version, calling], &echo, 400, -32020),
        (&[version, calling, a_region], &echo, 400, -32020),
        (&[version, calling, ("mcp-name", "=?base64?ZWNobw==?=")], &echo, 200, 0),
        (&[version, calling, ("mcp-name", "=?base64?ZWNo!?=")], &echo, 400, -32020),
        (&[version, calling, a_region, region_header], &region, 200, 0),
        (&[version, calling, a_region], &region, 400, -32020),
        (&[version, calling, a_region, ("mcp-param-region", "uber")], &region, 400, -32020),
        (&[version, calling, a_region], &without_region, 200, 0),
        (&[version, calling, a_region, region_header], &without_region, 400, -32020),
        (&[version, calling, a_region, region_header, ("mcp-param-other", "x")], &region, 200, 0),
        (&[version], "{", 400, -32700),
        (&[version], "[]", 400, -32600),
        (&[version], r#"{"jsonrpc":"2.0","id":1}"#, 400, -32600),
        (&[version, listing], r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 400, -32600),
    ];
    for (headers, body, status, code) in table {
        let (found, _, events) = read(send(&endpoint, "POST", headers, body).await).await;
        let response = events[0].json();
        assert_eq!(
            (found, response["error"]["code"].as_i64().unwrap_or(0)),
            (*status, *code),
            "{headers:?} {body}: {response}"
        );
        if *code != 0 && !matches!(*code, -32700 | -32600) {
            assert_eq!(response["id"], 1, "{response}");
        }
    }
}

#[tokio::test]
async fn closing_the_response_cancels_a_modern_request() {
    let (endpoint, observed) = endpoint(|_| {});
    let waiting = tokio::spawn({
        let endpoint = endpoint.clone();
        async move { read(modern_call(&endpoint, "wait", json!({})).await).await }
    });
    observed.started.notified().await;
    waiting.abort();
    until(|| observed.ended.load(Ordering::SeqCst) == 1).await;

    // In a session the connection may break. The request continues, and a notification can cancel it.
    let id = session(&endpoint, "2025-11-25").await;
    for cancelled in [false, true] {
        let waiting = tokio::spawn({
            let (endpoint, id) = (endpoint.clone(), id.clone());
            async move { read(send(&endpoint, "POST", &[("mcp-session-id", &id)], &call(1, "wait", json!({}))).await).await }
        });
        observed.started.notified().await;
        let before = observed.ended.load(Ordering::SeqCst);
        if cancelled {
            let message =
                json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
            let (status, ..) =
                read(send(&endpoint, "POST", &[("mcp-session-id", &id)], &message.to_string()).await).await;
            assert_eq!(status, 202);
            let (_, _, events) = waiting.await.expect("no panic");
            assert!(events.iter().all(|event| event.data.is_empty()), "the request has no response: {events:?}");
        } else {
            waiting.abort();
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert_eq!(observed.ended.load(Ordering::SeqCst), before, "the request continues");
            observed.proceed.notify_one();
        }
        until(|| observed.ended.load(Ordering::SeqCst) == before + 1).await;
    }
}

#[tokio::test]
async fn begins_and_ends_sessions() {
    let (endpoint, _) = endpoint(|options| options.sessions = 2);
    let id = session(&endpoint, "2025-06-18").await;
    let other = session(&endpoint, "2025-03-26").await;
    assert!(id != other && endpoint.sessions() == 2);
    let begin = request(
        0,
        "initialize",
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
    );
    let echo = call(1, "echo", json!({}));
    let (own_session, other_session) =
        (("mcp-session-id", id.as_str()), ("mcp-session-id", "0123456789abcdef0123456789abcdef"));
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, u16);
    let table: &[Case<'_>] = &[
        ("POST", &[own_session], &echo, 200),
        ("POST", &[own_session, ("mcp-protocol-version", "2025-06-18")], &echo, 200),
        ("POST", &[own_session, ("mcp-protocol-version", "2025-11-25")], &echo, 200),
        ("POST", &[own_session, ("mcp-protocol-version", "1999-01-01")], &echo, 400),
        ("POST", &[], &echo, 400),
        ("POST", &[other_session], &echo, 404),
        ("GET", &[], "", 400),
        ("GET", &[other_session], "", 404),
        ("GET", &[own_session, ("last-event-id", "nonsense")], "", 400),
        ("GET", &[own_session, ("last-event-id", "9-1")], "", 400),
        ("DELETE", &[], "", 400),
        ("DELETE", &[other_session], "", 404),
        ("DELETE", &[own_session], "", 204),
        ("DELETE", &[own_session], "", 404),
        ("POST", &[own_session], &echo, 404),
        ("GET", &[own_session], "", 404),
        ("POST", &[], &begin, 200),
        ("POST", &[("mcp-session-id", &other)], &format!("[{echo},{}]", call(2, "echo", json!({}))), 200),
    ];
    for (method, headers, body, status) in table {
        let (found, _, events) = read(send(&endpoint, method, headers, body).await).await;
        assert_eq!(found, *status, "{method} {headers:?} {body}: {events:?}");
    }
    let (found, _, responses) = read(
        send(&endpoint, "POST", &[("mcp-session-id", &other)], &format!("[{echo},{}]", call(2, "echo", json!({}))))
            .await,
    )
    .await;
    assert_eq!((found, responses[0].json().as_array().map(Vec::len)), (200, Some(2)), "a batch has one response");
}

#[tokio::test]
async fn keeps_no_session_after_a_failed_handshake() {
    let (endpoint, _) = endpoint(|_| {});
    let (status, headers, events) =
        read(send(&endpoint, "POST", &[], &request(0, "initialize", json!({}))).await).await;
    assert_eq!((status, events[0].json()["error"]["code"].as_i64()), (400, Some(-32602)));
    assert!(!headers.contains_key("mcp-session-id"));
    until(|| endpoint.sessions() == 0).await;
}

#[tokio::test]
async fn ends_idle_sessions() {
    let (endpoint, observed) = endpoint(|options| options.idle = Duration::from_millis(100));
    let (idle, used) = (session(&endpoint, "2025-11-25").await, session(&endpoint, "2025-11-25").await);
    let listening = send(&endpoint, "GET", &[("mcp-session-id", &used)], "").await;
    until(|| endpoint.sessions() == 1).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (status, ..) =
        read(send(&endpoint, "POST", &[("mcp-session-id", &idle)], &call(1, "echo", json!({}))).await).await;
    assert_eq!((status, endpoint.sessions()), (404, 1));
    drop(listening);
    until(|| endpoint.sessions() == 0).await;
    // A pending response does not keep the session open.
    let session_id = session(&endpoint, "2025-11-25").await;
    let waiting = tokio::spawn({
        let endpoint = endpoint.clone();
        async move { send(&endpoint, "POST", &[("mcp-session-id", &session_id)], &call(1, "wait", json!({}))).await }
    });
    observed.started.notified().await;
    waiting.abort();
    until(|| endpoint.sessions() == 0 && observed.ended.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn rejects_event_ids_of_other_sessions() {
    let (endpoint, observed) = endpoint(|_| {});
    let (one, other) = (session(&endpoint, "2025-11-25").await, session(&endpoint, "2025-11-25").await);
    for id in [&one, &other] {
        let (_, _, received) =
            read(send(&endpoint, "POST", &[("mcp-session-id", id)], &call(1, "later", json!({}))).await).await;
        let last_event_id = received[0].id.clone();
        observed.proceed.notify_one();
        let other_session = if id == &one { &other } else { &one };
        let (status, ..) = read(
            send(&endpoint, "GET", &[("mcp-session-id", other_session), ("last-event-id", &last_event_id)], "").await,
        )
        .await;
        assert_eq!(status, 400);
        let (status, _, received) =
            read(send(&endpoint, "GET", &[("mcp-session-id", id), ("last-event-id", &last_event_id)], "").await).await;
        assert_eq!((status, &received.last().expect("a response").json()["id"]), (200, &json!(1)));
    }
}

#[tokio::test]
async fn lists_the_supported_revisions_without_sessions() {
    let modern = mcpgen_sdk::LocalInfo::new("new", "1").retain_revisions(|revision| !revision.is_legacy());
    let endpoint =
        mcpgen_sdk::server::ServerBuilder::from(modern).build().http(Default::default()).expect("a valid server");
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let (status, _, received) = read(send(&endpoint, "POST", &[], &request(1, "initialize", params)).await).await;
    assert_eq!((status, &received[0].json()["error"]["data"]["supported"]), (400, &json!([MODERN])));
    for method in ["GET", "DELETE"] {
        let (status, headers, _) = read(send(&endpoint, method, &[("mcp-session-id", "x")], "").await).await;
        assert_eq!((status, &headers["allow"]), (405, &"POST".parse().expect("a value")));
    }
}

#[tokio::test]
async fn hides_sessions_from_other_owners() {
    let (endpoint, observed) = endpoint(|options| {
        options.owner = Some(Arc::new(|parts| {
            parts.headers.get("x-user").and_then(|user| user.to_str().ok()).unwrap_or_default().to_owned()
        }));
    });
    let begin = request(
        0,
        "initialize",
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
    );
    let (_, headers, _) = read(send(&endpoint, "POST", &[("x-user", "ann")], &begin).await).await;
    let id = headers["mcp-session-id"].to_str().expect("text");
    for (user, status) in [("ann", 200), ("bob", 404), ("", 404)] {
        let headers = [("mcp-session-id", id), ("x-user", user)];
        let (found, _, events) = read(send(&endpoint, "POST", &headers, &call(1, "who", json!({}))).await).await;
        assert_eq!(found, status, "{user}");
        if status == 200 {
            assert_eq!(events[0].json()["result"]["content"][0]["text"], user, "handlers see the headers");
        }
    }
    assert_eq!(observed.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn principals_own_sessions() {
    let (endpoint, _) = endpoint(|_| {});
    let send_as = |principal: Option<&str>, session: &str, body: String| {
        let mut post = Request::post("/mcp").header("host", "localhost").header("accept", ACCEPT_BOTH);
        post = post.header("content-type", "application/json");
        if !session.is_empty() {
            post = post.header("mcp-session-id", session);
        }
        let mut request = post.body(axum::body::Body::from(body)).expect("a request");
        if let Some(principal) = principal {
            request.extensions_mut().insert(Principal::new(principal));
        }
        endpoint.clone().oneshot(request)
    };
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let begun = send_as(Some("ann"), "", request(0, "initialize", params)).await.expect("a response");
    let id = begun.headers()["mcp-session-id"].to_str().expect("text").to_owned();
    for (principal, status) in [(Some("ann"), 200), (Some("bob"), 404), (None, 404)] {
        let response = send_as(principal, &id, request(1, "ping", json!({}))).await.expect("a response");
        assert_eq!(response.status(), status, "{principal:?}");
    }
}

#[tokio::test]
async fn resumes_a_stream_after_the_last_event_id() {
    let (endpoint, observed) = endpoint(|_| {});
    let id = session(&endpoint, "2025-11-25").await;
    let own_session = ("mcp-session-id", id.as_str());
    let (status, _, received) = read(send(&endpoint, "POST", &[own_session], &call(5, "later", json!({}))).await).await;
    assert_eq!((status, received.len()), (200, 2));
    assert_eq!((received[0].data.as_str(), received[1].retry.as_str()), ("", "20"), "{received:?}");
    let last_event_id = received[0].id.clone();
    assert!(!last_event_id.is_empty());
    observed.proceed.notify_one();
    let again = [own_session, ("last-event-id", last_event_id.as_str())];
    for _ in 0..2 {
        let (status, _, received) = read(send(&endpoint, "GET", &again, "").await).await;
        let response = received.last().expect("a response").json();
        assert_eq!(
            (status, &response["id"], &response["result"]["content"][0]["text"]),
            (200, &json!(5), &json!("at last"))
        );
    }
    // Older revisions cannot resume streams, so the stream stays open.
    let old = session(&endpoint, "2025-06-18").await;
    observed.proceed.notify_one();
    let (_, _, received) =
        read(send(&endpoint, "POST", &[("mcp-session-id", &old)], &call(5, "later", json!({}))).await).await;
    assert_eq!(received[0].json()["id"], 5);
}

#[tokio::test]
async fn sends_each_message_on_one_stream() {
    let (endpoint, _) = endpoint(|_| {});
    let id = session(&endpoint, "2025-11-25").await;
    let own_session = ("mcp-session-id", id.as_str());
    // Open the stream for messages that belong to no request.
    let mut listening = send(&endpoint, "GET", &[own_session], "").await.into_body();
    let first = listening.frame().await.expect("a frame").expect("no error").into_data().expect("data");
    assert_eq!(events(&String::from_utf8_lossy(&first))[0].data, "", "the first event has only an ID");
    // A server request is sent on the stream of the client request that caused it. Its response is a separate POST.
    let mut stream = send(&endpoint, "POST", &[own_session], &call(1, "ask", json!({}))).await.into_body();
    let mut next = async || loop {
        let frame = stream.frame().await?.expect("no error").into_data().expect("data");
        let event = events(&String::from_utf8_lossy(&frame)).pop().filter(|event| !event.data.is_empty());
        if let Some(event) = event {
            return Some(event.json());
        }
    };
    let elicitation = next().await.expect("a request");
    assert_eq!(elicitation["method"], "elicitation/create");
    let response = json!({ "jsonrpc": "2.0", "id": elicitation["id"], "result": { "action": "decline" } }).to_string();
    let (status, ..) = read(send(&endpoint, "POST", &[own_session], &response).await).await;
    assert_eq!(status, 202);
    let result = next().await.expect("a response");
    assert_eq!((&result["id"], &result["result"]["content"][0]["text"]), (&json!(1), &json!("decline")));
    assert_eq!(next().await, None, "the stream ends with the response");
    // Send two requests with the same ID, the second while the first is pending.
    let waiting = tokio::spawn({
        let (endpoint, id) = (endpoint.clone(), id.clone());
        async move { read(send(&endpoint, "POST", &[("mcp-session-id", &id)], &call(2, "later", json!({}))).await).await }
    });
    waiting.await.expect("no panic");
    let (status, _, received) = read(send(&endpoint, "POST", &[own_session], &call(2, "echo", json!({}))).await).await;
    assert_eq!((status, received[0].json()["error"]["code"].as_i64()), (400, Some(-32600)));
    // A new reader replaces the previous one.
    let _other = send(&endpoint, "GET", &[own_session], "").await;
    assert!(listening.frame().await.is_none());
}

#[tokio::test]
async fn rejects_requests_beyond_the_limits() {
    let (endpoint, observed) = endpoint(|options| {
        (options.requests, options.streams, options.body) = (1, 1, 1000);
        options.body_timeout = Duration::from_millis(50);
    });
    let waiting = tokio::spawn({
        let endpoint = endpoint.clone();
        async move { modern_call(&endpoint, "wait", json!({})).await }
    });
    observed.started.notified().await;
    let (status, headers, _) = read(modern_call(&endpoint, "echo", json!({})).await).await;
    assert_eq!((status, &headers["retry-after"]), (503, &"1".parse().expect("a value")));
    observed.proceed.notify_one();
    read(waiting.await.expect("no panic")).await;
    let (status, ..) = read(modern_call(&endpoint, "echo", json!({ "a": "x".repeat(1000) })).await).await;
    assert_eq!(status, 413);
    let id = session(&endpoint, "2025-11-25").await;
    let _listening = send(&endpoint, "GET", &[("mcp-session-id", &id)], "").await;
    let (status, ..) = read(send(&endpoint, "GET", &[("mcp-session-id", &id)], "").await).await;
    assert_eq!(status, 503);
    // A body that never arrives.
    let body = http_body_util::StreamBody::new(futures_util::stream::pending::<
        Result<http_body::Frame<Bytes>, std::io::Error>,
    >());
    let request = Request::builder()
        .method("POST")
        .header("host", "localhost")
        .header("accept", ACCEPT_BOTH)
        .header("content-type", "application/json")
        .body(body)
        .expect("a request");
    let response = endpoint.clone().oneshot(request).await.expect("no error");
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
}

#[tokio::test]
async fn close_does_not_wait_for_clients_that_do_not_read() {
    let (endpoint, _) = endpoint(|_| {});
    let params = modern(json!({ "name": "progress", "_meta": { "progressToken": "p" } }));
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "progress")];
    let unread = send(&endpoint, "POST", &headers, &request(7, "tools/call", params)).await;
    tokio::time::timeout(Duration::from_secs(5), endpoint.close()).await.expect("closed in time");
    drop(unread);
}

#[tokio::test]
async fn close_finishes_requests_and_ends_sessions() {
    let (endpoint, observed) = endpoint(|_| {});
    let id = session(&endpoint, "2025-11-25").await;
    let listening = tokio::spawn(read(send(&endpoint, "GET", &[("mcp-session-id", &id)], "").await));
    let params = modern(json!({ "notifications": { "toolsListChanged": true } }));
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "subscriptions/listen")];
    let subscribed =
        tokio::spawn(read(send(&endpoint, "POST", &headers, &request(9, "subscriptions/listen", params)).await));
    let waiting = tokio::spawn({
        let endpoint = endpoint.clone();
        async move { read(modern_call(&endpoint, "wait", json!({})).await).await }
    });
    observed.started.notified().await;
    let closing = tokio::spawn({
        let endpoint = endpoint.clone();
        async move { endpoint.close().await }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    let (status, ..) = read(modern_call(&endpoint, "echo", json!({})).await).await;
    assert_eq!(status, 503);
    observed.proceed.notify_one();
    let (status, _, response) = waiting.await.expect("no panic");
    assert_eq!(
        (status, &response[0].json()["result"]["content"][0]["text"]),
        (200, &json!("waited")),
        "the request completes"
    );
    let (_, _, received) = subscribed.await.expect("no panic");
    assert_eq!(received.last().expect("the response").json()["id"], 9, "the subscription ends with its result");
    listening.await.expect("no panic");
    closing.await.expect("no panic");
    assert_eq!(endpoint.sessions(), 0);
}
