//! Limits of the HTTP server on memory, requests, streams and sessions.
#![cfg(all(feature = "http-server", feature = "http-client"))]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use http::{Request, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use mcpgen_sdk::http::server::{Body, Endpoint, EndpointOptions};
use mcpgen_sdk::{Limits, LocalInfo, Router};
use mcpgen_types::ErrorObject;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::http_server::big_endpoint as endpoint;
use crate::support::requests::{self, ACCEPT_BOTH, MODERN, call, modern, modern_call, read, request, send, session};

/// Sends a POST request whose body begins with `start` and never ends.
async fn send_unfinished(endpoint: &Endpoint, headers: &[(&str, &str)], start: &[u8]) -> http::Response<Body> {
    let start = Ok::<_, std::io::Error>(Frame::data(Bytes::copy_from_slice(start)));
    let body = StreamBody::new(futures_util::stream::iter([start]).chain(futures_util::stream::pending()));
    let mut request = Request::builder().method("POST");
    for (name, value) in [("host", "localhost"), ("accept", ACCEPT_BOTH), ("content-type", "application/json")] {
        request = request.header(name, value);
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    endpoint.clone().oneshot(request.body(body).expect("a request")).await.expect("no error")
}

async fn status(response: http::Response<Body>) -> u16 {
    read(response).await.0
}

/// Takes the owner from the `x-user` header.
fn by_user(options: &mut EndpointOptions) {
    options.owner = Some(Arc::new(|parts| {
        parts.headers.get("x-user").and_then(|user| user.to_str().ok()).unwrap_or_default().to_owned()
    }));
}

const CALLING: [(&str, &str); 2] = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call")];

/// Sends a modern tool call as a user.
async fn call_by(endpoint: &Endpoint, user: &str, tool: &str) -> http::Response<Body> {
    let body = request(7, "tools/call", modern(json!({ "name": tool })));
    let headers = [CALLING[0], CALLING[1], ("mcp-name", tool), ("x-user", user)];
    send(endpoint, "POST", &headers, &body).await
}

fn initialize() -> String {
    let client = json!({ "name": "t", "version": "1" });
    request(0, "initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }))
}

/// Spawns all futures and lets them start.
async fn spawn_all<F: Future + Send + 'static>(
    calls: impl IntoIterator<Item = F>,
) -> Vec<tokio::task::JoinHandle<F::Output>>
where
    F::Output: Send,
{
    let tasks = calls.into_iter().map(tokio::spawn).collect();
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    tasks
}

#[tokio::test(start_paused = true)]
async fn serves_requests_while_slow_bodies_arrive() {
    let (endpoint, _) = endpoint(|options| options.requests = 4);
    let slow = (0..16).map(|_| {
        let endpoint = endpoint.clone();
        async move { send_unfinished(&endpoint, &[], b"{").await.status() }
    });
    let slow = spawn_all(slow).await;
    assert_eq!(status(modern_call(&endpoint, "echo", json!({})).await).await, 200);
    for slow in slow {
        assert_eq!(slow.await.expect("no panic"), StatusCode::REQUEST_TIMEOUT);
    }
}

#[tokio::test(start_paused = true)]
async fn rejects_a_large_content_length_before_the_body_arrives() {
    let (endpoint, _) = endpoint(|options| options.body = 1000);
    let response = send_unfinished(&endpoint, &[("content-length", "1001")], b"").await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test(start_paused = true)]
async fn bounds_the_bytes_of_bodies_that_are_being_read() {
    let (endpoint, _) = endpoint(|options| (options.body, options.body_buffer) = (100_000, 400_000));
    let slow = |size: usize| {
        let endpoint = endpoint.clone();
        async move { send_unfinished(&endpoint, &[], &vec![b' '; size]).await }
    };
    let _empty = spawn_all((0..100).map(|_| slow(0))).await;
    let mut full = spawn_all((0..3).map(|_| slow(100_000))).await;
    assert_eq!(slow(100_000).await.status(), StatusCode::SERVICE_UNAVAILABLE, "no space for a large body");
    assert_eq!(
        status(modern_call(&endpoint, "echo", json!({})).await).await,
        200,
        "a quarter is reserved for small bodies"
    );
    full.extend(spawn_all((0..100).map(|_| slow(1_000))).await);
    let (rejected, headers, response) = read(modern_call(&endpoint, "echo", json!({})).await).await;
    assert_eq!((rejected, &headers["retry-after"]), (503, &"1".parse().expect("a value")));
    assert!(response[0].data.contains("body_buffer"), "{}", response[0].data);
    for slow in full {
        assert_eq!(slow.await.expect("no panic").status(), StatusCode::REQUEST_TIMEOUT);
    }
    assert_eq!(status(modern_call(&endpoint, "echo", json!({})).await).await, 200);
}

#[tokio::test(start_paused = true)]
async fn bounds_the_bytes_of_bodies_that_an_owner_sends() {
    let (endpoint, _) = endpoint(|options| {
        by_user(options);
        (options.body, options.body_buffer) = (1_000, 10_000);
    });
    let slow = (0..10).map(|_| {
        let endpoint = endpoint.clone();
        async move { send_unfinished(&endpoint, &[("x-user", "ann")], &[b' '; 500]).await.status().as_u16() }
    });
    let slow = spawn_all(slow).await;
    assert_eq!(status(call_by(&endpoint, "ann", "echo").await).await, 503);
    assert_eq!(status(call_by(&endpoint, "bob", "echo").await).await, 200);
    let mut found = Vec::new();
    for slow in slow {
        found.push(slow.await.expect("no panic"));
    }
    assert_eq!(found, [408, 408, 408, 408, 408, 503, 503, 503, 503, 503]);
}

#[tokio::test]
async fn bounds_the_queued_notifications() {
    let (endpoint, _) = endpoint(|options| options.message_memory = 16 << 20);
    let id = session(&endpoint, "2025-11-25").await;
    let message = json!({ "jsonrpc": "2.0", "method": "notifications/unknown" }).to_string();
    for (name, value) in [("mcp-session-id", id.as_str()), ("mcp-protocol-version", MODERN)] {
        let mut responses = Vec::new();
        // No handler runs in this loop, because `send` is always ready.
        for _ in 0..1025 {
            responses.push(send(&endpoint, "POST", &[(name, value)], &message).await.status().as_u16());
        }
        assert!(responses.iter().filter(|status| **status == 202).count() <= 1024, "{name}");
        assert_eq!(responses.last(), Some(&503), "{name}");
    }
}

#[tokio::test]
async fn accepts_responses_and_cancellations_at_the_request_limit() {
    let (endpoint, observed) = endpoint(|options| options.requests = 2);
    let id = session(&endpoint, "2025-11-25").await;
    let own_session = ("mcp-session-id", id.as_str());
    let mut stream = send(&endpoint, "POST", &[own_session], &call(1, "ask", json!({}))).await.into_body();
    let elicitation = loop {
        let frame = stream.frame().await.expect("a frame").expect("no error").into_data().expect("data");
        let event = requests::events(&String::from_utf8_lossy(&frame)).pop();
        if let Some(event) = event.filter(|event| !event.data.is_empty()) {
            break event.json();
        }
    };
    let waiting =
        spawn_all([{
            let (endpoint, id) = (endpoint.clone(), id.clone());
            async move {
                status(send(&endpoint, "POST", &[("mcp-session-id", &id)], &call(2, "wait", json!({}))).await).await
            }
        }])
        .await;
    observed.started.notified().await;
    assert_eq!(status(send(&endpoint, "POST", &[own_session], &call(3, "echo", json!({}))).await).await, 503);
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
    let response = json!({ "jsonrpc": "2.0", "id": elicitation["id"], "result": { "action": "decline" } });
    for message in [cancel, response] {
        assert_eq!(status(send(&endpoint, "POST", &[own_session], &message.to_string()).await).await, 202, "{message}");
    }
    for waiting in waiting {
        waiting.await.expect("no panic");
    }
    assert!(String::from_utf8_lossy(&stream.collect().await.expect("a body").to_bytes()).contains("decline"));
}

#[tokio::test]
async fn bounds_the_requests_of_a_session() {
    let (endpoint, observed) = endpoint(|options| options.requests = 300);
    let id = session(&endpoint, "2025-11-25").await;
    let calls = (1..=300).map(|number| {
        let (endpoint, id) = (endpoint.clone(), id.clone());
        let message = call(number, "wait", json!({}));
        async move { send(&endpoint, "POST", &[("mcp-session-id", &id)], &message).await }
    });
    let calls = spawn_all(calls).await;
    assert_eq!(
        status(modern_call(&endpoint, "echo", json!({})).await).await,
        200,
        "requests without the session are served"
    );
    let (rejected, _, response) =
        read(send(&endpoint, "POST", &[("mcp-session-id", &id)], &call(301, "echo", json!({}))).await).await;
    assert_eq!(rejected, 503);
    assert!(response[0].data.contains("requests_per_session"), "{}", response[0].data);
    // The connections are closed, but the handlers still run.
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    tokio::task::yield_now().await;
    assert_eq!(
        status(send(&endpoint, "POST", &[("mcp-session-id", &id)], &call(302, "echo", json!({}))).await).await,
        503
    );
    observed.proceed.notify_waiters();
}

#[tokio::test]
async fn bounds_the_streams_of_a_session() {
    let (endpoint, observed) = endpoint(|options| options.streams_per_session = 2);
    let id = session(&endpoint, "2025-11-25").await;
    let get = async |last_event: Option<&str>| {
        let mut headers = vec![("mcp-session-id", id.as_str())];
        headers.extend(last_event.map(|id| ("last-event-id", id)));
        send(&endpoint, "GET", &headers, "").await
    };
    // Open GET streams. A new stream replaces the earlier one, which still counts until the client reads its end.
    let open = [get(None).await, get(None).await];
    let (rejected, _, response) = read(get(None).await).await;
    assert_eq!(rejected, 503);
    assert!(response[0].data.contains("`EndpointOptions::streams_per_session`"), "{}", response[0].data);
    drop(open);
    assert_eq!(get(None).await.status(), 200);
    let other = session(&endpoint, "2025-11-25").await;
    assert_eq!(send(&endpoint, "GET", &[("mcp-session-id", &other)], "").await.status(), 200);

    // The session also keeps streams without a client. Each call goes on after it has disconnected its client.
    let mut last_events = Vec::new();
    for number in 1..=3 {
        let (_, _, events) =
            read(send(&endpoint, "POST", &[("mcp-session-id", &id)], &call(number, "later", json!({}))).await).await;
        last_events.push(events[0].id.clone());
    }
    let (rejected, _, response) = read(get(Some(&last_events[0])).await).await;
    assert_eq!(rejected, 400);
    assert!(response[0].data.contains("no longer retained"), "{}", response[0].data);
    for last_event in &last_events[1..] {
        assert_eq!(get(Some(last_event)).await.status(), 200, "{last_event}");
    }
    observed.proceed.notify_waiters();
}

#[tokio::test]
async fn bounds_the_requests_of_an_owner() {
    let (endpoint, observed) = endpoint(|options| {
        by_user(options);
        options.requests = 300;
    });
    let calls = (0..300).map(|_| {
        let endpoint = endpoint.clone();
        async move { call_by(&endpoint, "ann", "wait").await }
    });
    let _calls = spawn_all(calls).await;
    assert_eq!(status(call_by(&endpoint, "bob", "echo").await).await, 200, "other owners are served");
    let (rejected, headers, response) = read(call_by(&endpoint, "ann", "echo").await).await;
    assert_eq!((rejected, &headers["retry-after"]), (503, &"1".parse().expect("a value")));
    assert!(response[0].data.contains("requests_per_owner"), "{}", response[0].data);
    observed.proceed.notify_waiters();
}

#[tokio::test(start_paused = true)]
async fn evicts_the_least_recently_used_idle_session() {
    let (endpoint, observed) = endpoint(|options| options.sessions = 4);
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(session(&endpoint, "2025-11-25").await);
        tokio::time::advance(Duration::from_millis(10)).await;
    }
    let post = |id: &str, message: String| {
        let (endpoint, id) = (endpoint.clone(), id.to_owned());
        async move { send(&endpoint, "POST", &[("mcp-session-id", &id)], &message).await }
    };
    // The first session has a stream, the second has a running handler without a client, and the third was used last.
    let _listening = send(&endpoint, "GET", &[("mcp-session-id", &ids[0])], "").await;
    let abandoned = tokio::spawn(post(&ids[1], call(1, "wait", json!({}))));
    observed.started.notified().await;
    abandoned.abort();
    tokio::time::advance(Duration::from_millis(10)).await;
    assert_eq!(status(post(&ids[2], call(1, "echo", json!({}))).await).await, 200);
    let fifth = session(&endpoint, "2025-11-25").await;
    assert_eq!(endpoint.sessions(), 4);
    for (id, expected) in [(&ids[0], 200), (&ids[1], 200), (&ids[2], 200), (&ids[3], 404), (&fifth, 200)] {
        assert_eq!(status(post(id, call(9, "echo", json!({}))).await).await, expected);
    }
}

#[tokio::test]
async fn rejects_a_new_session_while_none_is_idle() {
    let (endpoint, _) = endpoint(|options| options.sessions = 1);
    let id = session(&endpoint, "2025-11-25").await;
    let listening = send(&endpoint, "GET", &[("mcp-session-id", &id)], "").await;
    let (rejected, _, response) = read(send(&endpoint, "POST", &[], &initialize()).await).await;
    assert_eq!(rejected, 503);
    assert!(response[0].data.contains("EndpointOptions::sessions"), "{}", response[0].data);
    drop(listening);
    assert_eq!(status(send(&endpoint, "POST", &[], &initialize()).await).await, 200);
}

#[tokio::test]
async fn holds_a_request_slot_until_the_response_is_read() {
    let (endpoint, _) = endpoint(|options| options.requests = 1);
    let unread = modern_call(&endpoint, "echo", json!({})).await;
    assert_eq!(status(modern_call(&endpoint, "echo", json!({})).await).await, 503);
    let written = unread.into_body().collect().await.expect("a body").to_bytes();
    assert_eq!(status(modern_call(&endpoint, "echo", json!({})).await).await, 503, "hyper may still hold the bytes");
    drop(written);
    assert_eq!(status(modern_call(&endpoint, "echo", json!({})).await).await, 200);

    let id = session(&endpoint, "2025-11-25").await;
    let own_session = ("mcp-session-id", id.as_str());
    let unread = send(&endpoint, "POST", &[own_session], &call(1, "echo", json!({}))).await;
    assert_eq!(status(send(&endpoint, "POST", &[own_session], &call(2, "echo", json!({}))).await).await, 503);
    drop(unread);
    assert_eq!(status(send(&endpoint, "POST", &[own_session], &call(2, "echo", json!({}))).await).await, 200);
}

#[tokio::test]
async fn replaces_a_large_response_with_an_error_once_it_is_read() {
    let (endpoint, _) = endpoint(|_| {});
    let id = session(&endpoint, "2025-11-25").await;
    let own_session = ("mcp-session-id", id.as_str());
    for (size, is_kept) in [(1_000, true), (400_000, false)] {
        let params = json!({ "name": "big", "arguments": { "size": size, "ms": 5 }, "_meta": { "progressToken": 1 } });
        let (_, _, events) =
            read(send(&endpoint, "POST", &[own_session], &request(1, "tools/call", params)).await).await;
        assert!(events.last().expect("a response").data.len() > size);
        let resume = [own_session, ("last-event-id", events[events.len() - 2].id.as_str())];
        let (_, _, resumed) = read(send(&endpoint, "GET", &resume, "").await).await;
        let response = resumed.last().expect("a response").json();
        assert_eq!(
            (&response["id"], response.get("result").is_some()),
            (&json!(1), is_kept),
            "a response of {size} bytes"
        );
    }
}

#[tokio::test]
async fn bounds_the_retained_events_of_a_session() {
    let (endpoint, _) = endpoint(|_| {});
    let id = session(&endpoint, "2025-11-25").await;
    let own_session = ("mcp-session-id", id.as_str());
    let (mut first, mut open) = (Vec::new(), Vec::new());
    for number in 1..=3 {
        let arguments = json!({ "before": 100_000, "ms": 60_000 });
        let params = json!({ "name": "big", "arguments": arguments, "_meta": { "progressToken": number } });
        let mut stream =
            send(&endpoint, "POST", &[own_session], &request(number, "tools/call", params)).await.into_body();
        let mut next = async || {
            let frame = stream.frame().await.expect("a frame").expect("no error").into_data().expect("data");
            requests::events(&String::from_utf8_lossy(&frame)).remove(0)
        };
        first.push(next().await.id);
        assert!(next().await.data.len() > 100_000);
        open.push(stream);
    }
    for (event, expected) in first.iter().zip([400, 200, 200]) {
        let response = send(&endpoint, "GET", &[own_session, ("last-event-id", event)], "").await;
        assert_eq!(response.status().as_u16(), expected, "{event}");
    }
}

#[tokio::test]
async fn replaces_a_large_unread_response_with_an_error() {
    let (endpoint, _) = endpoint(|_| {});
    let id = session(&endpoint, "2025-11-25").await;
    let own_session = ("mcp-session-id", id.as_str());
    let params = json!({ "name": "big", "arguments": { "size": 400_000, "ms": 50 }, "_meta": { "progressToken": 1 } });
    let mut unread = send(&endpoint, "POST", &[own_session], &request(1, "tools/call", params)).await.into_body();
    let first = unread.frame().await.expect("a frame").expect("no error").into_data().expect("data");
    let first = requests::events(&String::from_utf8_lossy(&first)).remove(0);
    drop(unread);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let resume = [own_session, ("last-event-id", first.id.as_str())];
    let (_, _, events) = read(send(&endpoint, "GET", &resume, "").await).await;
    let response = events.last().expect("a response").json();
    assert_eq!((&response["id"], response["error"]["code"].as_i64()), (&json!(1), Some(-32603)), "{response}");
}

#[tokio::test]
async fn rejects_a_subscription_to_too_many_resources() {
    let (endpoint, _) = endpoint(|_| {});
    let listen = async |uris: Vec<String>| {
        let params = modern(json!({ "notifications": { "resourceSubscriptions": uris } }));
        let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "subscriptions/listen")];
        let response = send(&endpoint, "POST", &headers, &request(9, "subscriptions/listen", params)).await;
        match response.headers()["content-type"] == "text/event-stream" {
            true => Value::Null,
            false => read(response).await.2[0].json()["error"].clone(),
        }
    };
    assert_eq!(listen((0..1024).map(|n| format!("file:///{n}")).collect()).await, Value::Null);
    for uris in [(0..1025).map(|n| format!("file:///{n}")).collect(), vec!["x".repeat(600_000); 2]] {
        let error = listen(uris).await;
        assert_eq!(error["code"], -32602, "{error}");
        assert!(
            error["message"].as_str().expect("text").contains("params.notifications.resourceSubscriptions"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn calls_the_owner_function_outside_the_lock() {
    let cell = Arc::<OnceLock<Endpoint>>::default();
    let (calls, locked) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (endpoint, _) = endpoint({
        let (cell, calls, locked) = (Arc::clone(&cell), Arc::clone(&calls), Arc::clone(&locked));
        move |options| {
            options.owner = Some(Arc::new(move |_| {
                calls.fetch_add(1, Ordering::SeqCst);
                let (counted, count) = mpsc::channel();
                if let Some(endpoint) = cell.get().cloned() {
                    std::thread::spawn(move || counted.send(endpoint.sessions()));
                    locked
                        .fetch_add(usize::from(count.recv_timeout(Duration::from_secs(1)).is_err()), Ordering::SeqCst);
                }
                "ann".to_owned()
            }));
        }
    });
    assert!(cell.set(endpoint.clone()).is_ok());
    let id = session(&endpoint, "2025-11-25").await;
    assert_eq!(calls.load(Ordering::SeqCst), 2, "once for `initialize`, once for `notifications/initialized`");
    send(&endpoint, "DELETE", &[("mcp-session-id", &id)], "").await;
    assert_eq!((calls.load(Ordering::SeqCst), locked.load(Ordering::SeqCst)), (3, 0));
}

#[tokio::test]
async fn errors_quote_little_of_the_request() {
    let (endpoint, _) = endpoint(|_| {});
    let long = "x".repeat(1 << 20);
    let bodies = [
        json!({ "jsonrpc": "1.0", "id": long, "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { &long: { "$serde_json::private::Number": 1 } } }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": long, "params": { "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        } } }),
    ];
    for body in bodies {
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "ping")];
        let response = send(&endpoint, "POST", &headers, &body.to_string()).await;
        assert_eq!(response.status(), 400);
        let error = response.into_body().collect().await.expect("a body").to_bytes();
        assert!(error.len() < 4096, "{} bytes", error.len());
    }
}

#[tokio::test]
async fn evicts_an_idle_session_of_an_owner_at_its_limit() {
    let (endpoint, _) = endpoint(|options| {
        by_user(options);
        options.sessions_per_owner = 2;
    });
    let begin = async |user: &str| {
        let (status, headers, response) = read(send(&endpoint, "POST", &[("x-user", user)], &initialize()).await).await;
        let id = headers.get("mcp-session-id").map(|id| id.to_str().expect("text").to_owned());
        (status, id.unwrap_or_default(), response)
    };
    let ping = async |user: &str, id: &str| {
        let headers = [("x-user", user), ("mcp-session-id", id)];
        status(send(&endpoint, "POST", &headers, &request(1, "ping", json!({}))).await).await
    };
    let (_, other, _) = begin("bob").await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(begin("ann").await.1);
    }
    assert_eq!([ping("ann", &ids[0]).await, ping("ann", &ids[1]).await, ping("ann", &ids[2]).await], [404, 200, 200]);
    // Sessions with an open stream are not idle.
    let mut streams = Vec::new();
    for id in &ids[1..] {
        streams.push(send(&endpoint, "GET", &[("x-user", "ann"), ("mcp-session-id", id)], "").await);
    }
    let (rejected, _, response) = begin("ann").await;
    assert_eq!(rejected, 503);
    assert!(response[0].data.contains("sessions_per_owner"), "{}", response[0].data);
    assert_eq!(ping("bob", &other).await, 200);
}

/// A search for an idle session gives up after 256 sessions in use. The next search continues after them.
#[tokio::test]
async fn searches_few_sessions_for_an_idle_one() {
    let (endpoint, _) = endpoint(|options| {
        by_user(options);
        options.sessions_per_owner = 301;
        options.streams_per_owner = 301;
    });
    let mut streams = Vec::new();
    for number in 0..301 {
        let (_, headers, _) = read(send(&endpoint, "POST", &[("x-user", "ann")], &initialize()).await).await;
        let id = headers["mcp-session-id"].to_str().expect("text");
        if number < 300 {
            streams.push(send(&endpoint, "GET", &[("x-user", "ann"), ("mcp-session-id", id)], "").await);
        }
    }
    for expected in [503, 200] {
        assert_eq!(status(send(&endpoint, "POST", &[("x-user", "ann")], &initialize()).await).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn shutdown_takes_no_longer_than_the_drain_time() {
    let router = Router::new()
        .custom_request("never", |_, _: Value| std::future::pending::<Result<Value, ErrorObject>>())
        .custom_notification("never", |_, _: Value| std::future::pending());
    let drain = Duration::from_secs(10);
    let options = EndpointOptions::default().with_limits(Limits::default().with_drain_timeout(drain));
    let endpoint = Endpoint::new(LocalInfo::new("http", "1"), router.clone(), router, options);
    let session = session(&endpoint, "2025-11-25").await;
    let headers = [("mcp-session-id", &*session)];
    let notification = json!({ "jsonrpc": "2.0", "method": "never" }).to_string();
    assert_eq!(status(send(&endpoint, "POST", &headers, &notification).await).await, 202);
    let request = request(1, "never", json!({}));
    let _response = tokio::spawn({
        let (endpoint, session) = (endpoint.clone(), session.clone());
        async move { send(&endpoint, "POST", &[("mcp-session-id", &*session)], &request).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let start = tokio::time::Instant::now();
    endpoint.close().await;
    let elapsed = start.elapsed();
    assert!((drain..drain + Duration::from_secs(2)).contains(&elapsed), "{elapsed:?}");
    assert_eq!(endpoint.sessions(), 0);
}

#[tokio::test]
async fn limits_the_memory_of_messages_that_a_session_has_not_processed() {
    let (endpoint, _) = endpoint(|_| {});
    let id = session(&endpoint, "2025-11-25").await;
    // The index of this text takes several times as much memory as the text.
    let dense = format!("[{}1]", "1,".repeat(500_000));
    let sparse = format!("\"{}\"", "x".repeat(1_000_000));
    for (params, all_fit) in [(sparse, true), (dense, false)] {
        let message = format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"x":{params}}}}}"#);
        // The session's task does not run until all messages have been posted.
        let headers = [("mcp-session-id", id.as_str())];
        let posts = (0..8).map(|_| send(&endpoint, "POST", &headers, &message));
        let responses = futures_util::future::join_all(posts).await;
        let statuses: Vec<u16> = responses.iter().map(|response| response.status().as_u16()).collect();
        assert_eq!(statuses[0], 202, "one message always fits");
        assert_eq!(statuses.iter().all(|status| *status == 202), all_fit, "{statuses:?}");
        assert!(statuses.iter().all(|status| matches!(status, 202 | 503)), "{statuses:?}");
        // The response follows all queued messages.
        while send(&endpoint, "POST", &headers, &request(1, "ping", json!({}))).await.status() != 200 {
            tokio::task::yield_now().await;
        }
    }
}
