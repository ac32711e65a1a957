//! Limits of the HTTP client for servers that are slow, broken or hostile.
#![cfg(feature = "http-client")]

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use mcpgen_sdk::Client;
use mcpgen_sdk::http::client::{Authorize, AuthorizeRequest, ClientOptions, ConnectHttp};
use mcpgen_types::{JsonObject, Revision};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore, mpsc};
use tower::BoxError;

use crate::support::sessions::{Sessions, events, respond};

/// A delay longer than any test.
const NEVER: Duration = Duration::from_secs(3600);

fn options() -> ClientOptions {
    ClientOptions::default().with_retry_delay(Duration::from_millis(5)).with_send_timeout(NEVER)
}

async fn connect(server: &Sessions, options: ClientOptions) -> Client {
    let builder =
        Client::builder("client", "1").options(|options| options.known_revision = Some(Revision::V2025_11_25));
    builder.connect_http(&server.url, options).await.expect("a server")
}

async fn call(client: &Client) -> Result<(), String> {
    let called = tokio::time::timeout(Duration::from_secs(20), client.call_tool("a", JsonObject::new())).await;
    called.expect("a response in time").map(drop).map_err(|error| error.to_string())
}

async fn notify(client: &Client, number: usize) {
    client.peer().custom_notify("notifications/x", &json!({ "number": number })).await.expect("an open connection");
}

async fn until(done: impl Fn() -> bool) {
    for _ in 0..2000 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the condition was not met in time");
}

/// Creates a response whose events the test sends.
fn stream() -> (mpsc::UnboundedSender<String>, Response) {
    let (sender, receiver) = mpsc::unbounded_channel::<String>();
    let body = futures_util::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|event| (Ok::<_, std::io::Error>(Bytes::from(event)), receiver))
    });
    let response = Response::builder().header("content-type", "text/event-stream");
    (sender, response.body(Body::from_stream(body)).expect("a response"))
}

fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

#[tokio::test]
async fn treats_a_404_response_to_the_first_get_as_no_stream() {
    let server = Sessions::start(|received| async move { (received.kind == "GET").then(|| respond(404, "", "")) });
    let server = server.await;
    let client = connect(&server, options()).await;
    for _ in 0..20 {
        call(&client).await.expect("a response");
    }
    assert_eq!((server.count("POST initialize"), server.count("GET")), (1, 1));
}

#[tokio::test]
async fn fails_after_five_sessions_in_a_row_without_a_response() {
    let server =
        Sessions::start(|received| async move { (received.kind == "POST tools/call").then(|| respond(404, "", "")) });
    let server = server.await;
    let client = connect(&server, options().with_retry_delay(Duration::from_millis(50))).await;
    let start = Instant::now();
    for _ in 0..5 {
        let error = call(&client).await.expect_err("a lost session");
        assert!(error.contains("404"), "{error}");
    }
    assert!(start.elapsed() >= Duration::from_millis(50 + 100 + 200 + 400), "pauses must grow: {:?}", start.elapsed());
    let error = call(&client).await.expect_err("a lost session");
    assert!(error.contains("5 sessions in a row"), "{error}");
    assert_eq!(server.count("POST initialize"), 1 + 5);
}

#[tokio::test]
async fn fails_requests_when_a_new_session_does_not_begin_in_time() {
    let begun = Arc::new(AtomicUsize::new(0));
    let server = Sessions::start(move |received| {
        let is_again = received.kind == "POST initialize" && begun.fetch_add(1, Ordering::SeqCst) > 0;
        async move {
            match received.kind.as_str() {
                _ if is_again => std::future::pending().await,
                "POST tools/call" => Some(respond(404, "", "")),
                _ => None,
            }
        }
    });
    let server = server.await;
    let client = connect(&server, options().with_send_timeout(Duration::from_millis(50))).await;
    let error = call(&client).await.expect_err("no session");
    assert!(error.contains("timed out waiting for the server to begin a session"), "{error}");
}

/// Starts a server that loses its first session at a tool call, and never accepts `notifications/initialized` in the
/// second. Also returns the sessions that the client ended.
async fn never_initialized() -> (Sessions, Arc<Mutex<Vec<String>>>) {
    let ended = Arc::<Mutex<Vec<String>>>::default();
    let observed = Arc::clone(&ended);
    let server = Sessions::start(move |received| {
        let observed = Arc::clone(&observed);
        async move {
            match (received.kind.as_str(), received.session.as_str()) {
                ("POST tools/call", _) => Some(respond(404, "", "")),
                ("POST notifications/initialized", "session-1") => std::future::pending().await,
                ("DELETE", session) => {
                    observed.lock().expect("no panic").push(session.to_owned());
                    None
                }
                _ => None,
            }
        }
    });
    (server.await, ended)
}

#[tokio::test]
async fn ends_a_session_that_does_not_begin_in_time() {
    let (server, ended) = never_initialized().await;
    let client = connect(&server, options().with_send_timeout(Duration::from_millis(300))).await;
    let error = call(&client).await.expect_err("no session");
    assert!(error.contains("timed out waiting for the server to begin a session"), "{error}");
    assert_eq!(*ended.lock().expect("no panic"), ["session-1"]);
}

#[tokio::test]
async fn ends_a_session_that_begins_while_the_client_closes() {
    let (server, ended) = never_initialized().await;
    let client = connect(&server, options()).await;
    let waiting = tokio::spawn(client.peer().raw_request("tools/call", None).send());
    until(|| server.count("POST notifications/initialized") == 2).await;
    client.close().await.expect("closed without an error");
    assert!(waiting.await.expect("no panic").is_err());
    let mut ended = ended.lock().expect("no panic").clone();
    ended.sort();
    assert_eq!(ended, ["session-0", "session-1"]);
}

#[tokio::test]
async fn closes_the_stream_of_a_replaced_session() {
    let closed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&closed);
    let server = Sessions::start(move |received| {
        let response = match (received.kind.as_str(), received.session.as_str()) {
            ("GET", _) => {
                let ((sender, response), count) = (stream(), Arc::clone(&count));
                tokio::spawn(async move {
                    sender.closed().await;
                    count.fetch_add(1, Ordering::SeqCst);
                });
                Some(response)
            }
            ("POST tools/call", "session-0") => Some(respond(404, "", "")),
            _ => None,
        };
        async move { response }
    });
    let server = server.await;
    let client = connect(&server, options()).await;
    until(|| server.count("GET") == 1).await;
    call(&client).await.expect("a response in the new session");
    until(|| closed.load(Ordering::SeqCst) == 1).await;
    assert_eq!(server.count("GET"), 2);
    call(&client).await.expect("a response");
    assert_eq!(closed.load(Ordering::SeqCst), 1, "the new stream stays open");
}

#[tokio::test]
async fn begins_a_session_immediately_after_a_response() {
    let used = Arc::<Mutex<HashSet<String>>>::default();
    let server = Sessions::start(move |received| {
        let is_first = received.kind != "POST tools/call" || used.lock().expect("no panic").insert(received.session);
        async move { (!is_first).then(|| respond(404, "", "")) }
    });
    let server = server.await;
    let client = connect(&server, options().with_retry_delay(NEVER)).await;
    for _ in 0..10 {
        call(&client).await.expect("a response");
    }
    assert_eq!(server.count("POST initialize"), 10);
}

#[tokio::test]
async fn limits_sessions_that_a_stream_loses() {
    // In each session, the stream opens once, ends at once, and cannot be opened again.
    let opened = Arc::<Mutex<HashSet<String>>>::default();
    let server = Sessions::start(move |received| {
        let response =
            (received.kind == "GET").then(|| match opened.lock().expect("no panic").insert(received.session) {
                true => events(""),
                false => respond(404, "", ""),
            });
        async move { response }
    });
    let server = server.await;
    let client = connect(&server, options().with_retry_delay(Duration::from_millis(20))).await;
    until(|| server.count("POST initialize") == 1 + 5).await;
    until(|| server.count("GET") == 2 * (1 + 5)).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(server.count("POST initialize"), 1 + 5);
    // After a response, the next lost session is replaced again.
    call(&client).await.expect("a response");
}

/// Starts a server that accepts `notifications/x` only as the semaphore allows. Also returns the received numbers.
async fn slow() -> (Sessions, Arc<Semaphore>, Arc<Mutex<Vec<Value>>>) {
    let (gate, numbers) = (Arc::new(Semaphore::new(0)), Arc::<Mutex<Vec<Value>>>::default());
    let (opens, observed) = (Arc::clone(&gate), Arc::clone(&numbers));
    let server = Sessions::start(move |received| {
        let (gate, observed) = (Arc::clone(&opens), Arc::clone(&observed));
        async move {
            if received.kind == "POST notifications/x" {
                observed.lock().expect("no panic").push(received.message["params"]["number"].clone());
                gate.acquire().await.expect("open").forget();
            }
            None
        }
    });
    (server.await, gate, numbers)
}

#[tokio::test]
async fn sends_requests_while_a_notification_is_not_accepted() {
    let (server, _gate, _) = slow().await;
    let client = connect(&server, options()).await;
    for number in 0..3 {
        notify(&client, number).await;
    }
    call(&client).await.expect("a response");
    assert_eq!(server.count("POST tools/call"), 1);
    until(|| server.count("POST notifications/x") == 1).await;
    call(&client).await.expect("a response");
    assert_eq!(server.count("POST notifications/x"), 1, "one at a time");
}

#[tokio::test]
async fn sends_notifications_in_order() {
    let (server, gate, numbers) = slow().await;
    gate.add_permits(200);
    let client = connect(&server, options()).await;
    for number in 0..200 {
        notify(&client, number).await;
    }
    until(|| server.count("POST notifications/x") == 200).await;
    let expected: Vec<Value> = (0..200).map(Value::from).collect();
    assert_eq!(*numbers.lock().expect("no panic"), expected);
}

#[tokio::test]
async fn drops_notifications_beyond_the_limit_of_the_queue() {
    let (server, gate, _) = slow().await;
    let client = connect(&server, options()).await;
    for number in 0..1200 {
        notify(&client, number).await;
    }
    call(&client).await.expect("a response");
    gate.add_permits(1200);
    until(|| server.count("POST notifications/x") >= 1024).await;
    client.close().await.expect("closed without an error");
    assert_eq!(server.count("POST notifications/x"), 1024);
}

#[tokio::test]
async fn sends_queued_notifications_before_the_session_ends() {
    let (server, gate, _) = slow().await;
    let client = connect(&server, options()).await;
    for number in 0..5 {
        notify(&client, number).await;
    }
    until(|| server.count("POST notifications/x") == 1).await;
    let closed = tokio::spawn(client.close());
    gate.add_permits(5);
    closed.await.expect("no panic").expect("closed without an error");
    let log = server.log();
    assert_eq!(log[log.len() - 6..], [vec!["POST notifications/x"; 5], vec!["DELETE"]].concat());
}

#[tokio::test]
async fn close_waits_for_queued_notifications_up_to_the_send_timeout() {
    let (server, _gate, _) = slow().await;
    let client = connect(&server, options().with_send_timeout(Duration::from_millis(50))).await;
    for number in 0..1000 {
        notify(&client, number).await;
    }
    let closed = tokio::time::timeout(Duration::from_secs(8), client.close()).await;
    closed.expect("closed in time").expect("closed without an error");
    assert_eq!(server.count("DELETE"), 1);
}

#[tokio::test]
async fn responds_to_the_server_while_other_messages_are_not_accepted() {
    // The server never accepts the first response. It completes the call when it receives the second.
    let second_received = Arc::new(Notify::new());
    let server = Sessions::start(move |received| {
        let second_received = Arc::clone(&second_received);
        async move {
            match received.kind.as_str() {
                "POST notifications/x" => std::future::pending().await,
                "POST response" if received.message["id"] == "first" => std::future::pending().await,
                "POST response" => {
                    second_received.notify_one();
                    None
                }
                "POST tools/call" => {
                    let (sender, response) = stream();
                    tokio::spawn(async move {
                        for id in ["first", "second"] {
                            let _ = sender.send(event(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })));
                        }
                        second_received.notified().await;
                        let result =
                            json!({ "jsonrpc": "2.0", "id": received.message["id"], "result": { "content": [] } });
                        let _ = sender.send(event(&result));
                    });
                    Some(response)
                }
                _ => None,
            }
        }
    });
    let server = server.await;
    let client = connect(&server, options()).await;
    notify(&client, 0).await;
    call(&client).await.expect("a response");
}

#[tokio::test]
async fn cancels_a_request_only_after_the_server_received_it() {
    // The server never responds to calls.
    let server = Sessions::start(|received| async move {
        match received.kind.as_str() {
            "POST tools/call" => std::future::pending().await,
            _ => None,
        }
    });
    let server = server.await;
    let client = connect(&server, options().with_requests(1)).await;
    let sent = client.peer().raw_request("tools/call", None).send();
    let waiting = client.peer().raw_request("tools/call", None).send();
    tokio::select! {
        _ = futures_util::future::join(sent, waiting) => panic!("a call completed"),
        () = until(|| server.count("POST tools/call") == 1) => {}
    }
    until(|| server.count("POST notifications/cancelled") >= 1).await;
    // The second call was never sent, and neither is its cancellation.
    client.close().await.expect("closed without an error");
    let log = server.log();
    let messages: Vec<&str> = log.iter().map(String::as_str).filter(|what| !what.ends_with("initialized")).collect();
    assert_eq!(
        messages,
        ["POST initialize", "GET", "POST tools/call", "POST notifications/cancelled", "DELETE"],
        "{log:?}"
    );
}

#[tokio::test]
async fn backs_off_from_100_ms_when_retry_is_zero() {
    for text in ["retry: 0\n\n", "id: 1\nretry: 0\ndata:\n\n"] {
        let server = Sessions::start(move |received| async move { (received.kind == "GET").then(|| events(text)) });
        let server = server.await;
        let start = Instant::now();
        let _client = connect(&server, options()).await;
        until(|| server.count("GET") >= 4).await;
        assert!(start.elapsed() >= Duration::from_millis(100 + 200 + 400), "{text:?}: {:?}", start.elapsed());
    }
}

#[tokio::test]
async fn gives_up_a_response_after_attempts_without_a_message() {
    // Each stream has a new event ID but no message.
    let count = Arc::new(AtomicUsize::new(0));
    let server = Sessions::start(move |received| {
        let nth = count.fetch_add(1, Ordering::SeqCst);
        let is_stream = received.kind == "POST tools/call" || received.last_event_id.is_some();
        async move { is_stream.then(|| events(&format!("id: {nth}\ndata:\n\n"))) }
    });
    let server = server.await;
    let client = connect(&server, options().with_max_retries(4)).await;
    let error = call(&client).await.expect_err("an error");
    assert!(error.contains("the stream ended"), "{error}");
    assert_eq!(server.count("GET"), 1 + 4);
}

#[tokio::test]
async fn keeps_reopening_a_stream_that_worked() {
    let (opened, received) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let server = Sessions::start(move |received| {
        let nth = if received.kind == "GET" { opened.fetch_add(1, Ordering::SeqCst) } else { usize::MAX };
        let note = event(&json!({ "jsonrpc": "2.0", "method": "notifications/x" }));
        async move {
            match nth {
                0 => Some(events("")),
                1..5 => Some(respond(503, "", "")),
                5 => Some(events(&note)),
                6 => Some(stream_that_stays()),
                _ => None,
            }
        }
    });
    let server = server.await;
    let count = Arc::clone(&received);
    let builder = Client::builder("client", "1").handlers(|router| {
        router.custom_notification("notifications/x", move |_, _: Value| {
            count.fetch_add(1, Ordering::SeqCst);
            async {}
        })
    });
    let builder = builder.options(|options| options.known_revision = Some(Revision::V2025_11_25));
    let options = options().with_max_retries(2).with_retry_delay(Duration::from_millis(1));
    let _client = builder.connect_http(&server.url, options).await.expect("a server");
    until(|| received.load(Ordering::SeqCst) == 1 && server.count("GET") == 7).await;
}

fn stream_that_stays() -> Response {
    let (sender, response) = stream();
    tokio::spawn(async move { sender.closed().await });
    response
}

#[tokio::test]
async fn gives_up_a_stream_that_never_worked() {
    let server = Sessions::start(|received| async move { (received.kind == "GET").then(|| respond(503, "", "")) });
    let server = server.await;
    let client = connect(&server, options().with_max_retries(2).with_retry_delay(Duration::from_millis(1))).await;
    until(|| server.count("GET") == 3).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    call(&client).await.expect("a response");
    assert_eq!(server.count("GET"), 3);
}

#[tokio::test]
async fn closes_while_it_waits_for_the_longest_retry() {
    const HUGE: &str = "id: 1\nretry: 18446744073709551615\ndata:\n\n";
    let server = Sessions::start(|received| async move {
        matches!(received.kind.as_str(), "GET" | "POST tools/call").then(|| events(HUGE))
    });
    let server = server.await;
    let client = connect(&server, options()).await;
    let waiting = client.peer().raw_request("tools/call", None).send();
    let waiting = tokio::spawn(waiting);
    until(|| server.count("POST tools/call") == 1).await;
    let closed = tokio::time::timeout(Duration::from_secs(8), client.close()).await;
    closed.expect("closed in time").expect("closed without an error");
    assert!(waiting.await.expect("no panic").is_err());
    assert_eq!((server.count("GET"), server.count("DELETE")), (1, 1));
}

/// Starts a server whose response to `tools/call` is a stream that ends early. `resumed` responds to GET requests that
/// resume the stream.
async fn interrupted(resumed: impl Fn() -> Response + Clone + Send + Sync + 'static) -> Sessions {
    Sessions::start(move |received| {
        let response = match (received.kind.as_str(), received.last_event_id.is_some()) {
            ("POST tools/call", _) if received.session == "session-0" => Some(events("id: 1\ndata:\n\n")),
            ("GET", true) => Some(resumed()),
            _ => None,
        };
        async move { response }
    })
    .await
}

#[tokio::test]
async fn replaces_a_session_that_is_lost_when_a_stream_is_resumed() {
    let server = interrupted(|| respond(404, "", "")).await;
    let client = connect(&server, options()).await;
    let error = call(&client).await.expect_err("the request was sent in the lost session");
    assert!(error.contains("the stream ended"), "{error}");
    assert_eq!(server.count("POST initialize"), 2, "{:?}", server.log());
    call(&client).await.expect("a response in the new session");
    assert_eq!(server.count("POST tools/call"), 2, "the client uses the new session");
}

#[tokio::test]
async fn reports_the_content_type_of_a_get_response_that_is_no_stream() {
    let table = [
        (200, "application/json", "200 OK and content type \"application/json\""),
        (202, "", "202 Accepted and content type \"\""),
        (200, "text/html", "200 OK and content type \"text/html\""),
    ];
    for (status, kind, expected) in table {
        let server = interrupted(move || respond(status, kind, "{}")).await;
        let error = call(&connect(&server, options()).await).await.expect_err("no stream");
        let expected = format!("the server responded to GET with {expected} instead of an event stream");
        assert!(error.contains(&expected), "{error}");
    }
}

#[tokio::test]
async fn reports_a_new_session_with_another_revision() {
    for (version, expected) in [(json!("2025-06-18"), "`2025-06-18`"), (json!(5), "none")] {
        let count = Arc::new(AtomicUsize::new(0));
        let server = Sessions::start(move |received| {
            let is_first = count.load(Ordering::SeqCst) == 0;
            let response = match received.kind.as_str() {
                "POST initialize" => {
                    count.fetch_add(1, Ordering::SeqCst);
                    let result = json!({ "protocolVersion": version, "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } });
                    let message = json!({ "jsonrpc": "2.0", "id": received.message["id"], "result": result });
                    (!is_first).then(|| respond(200, "application/json", &message.to_string()))
                }
                "POST tools/call" => Some(respond(404, "", "")),
                _ => None,
            };
            async move { response }
        });
        let server = server.await;
        let error = call(&connect(&server, options()).await).await.expect_err("another revision");
        let text = format!(
            "the session was lost, and the server chose another revision for the new one: {expected}; connect again"
        );
        assert!(error.ends_with(&text), "{error}");
    }
}

/// Provides one token, and no other after the server has rejected it.
struct OneToken;

impl Authorize for OneToken {
    fn authorize<'a>(&'a self, request: AuthorizeRequest<'a>) -> BoxFuture<'a, Result<Option<HeaderMap>, BoxError>> {
        let token = || HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("Bearer x"))]);
        Box::pin(async move { Ok(request.refused.is_none().then(token)) })
    }
}

#[tokio::test]
async fn shows_the_body_of_a_401_without_another_token() {
    let server = Sessions::start(|received| async move {
        (received.kind == "POST tools/call").then(|| respond(401, "text/plain", "the token has expired"))
    });
    let server = server.await;
    let client = connect(&server, options().with_authorization(Arc::new(OneToken))).await;
    let error = call(&client).await.expect_err("an error response");
    assert!(
        error.contains("the server responded with 401 Unauthorized (set ")
            && error.contains("): the token has expired"),
        "{error}"
    );
    assert_eq!(server.count("POST tools/call"), 1);
}

#[tokio::test]
async fn shows_the_beginning_of_a_long_error_body() {
    let server = Sessions::start(|received| async move {
        (received.kind == "POST tools/call").then(|| respond(500, "text/plain", &"out of order ".repeat(10_000)))
    });
    let server = server.await;
    let error = call(&connect(&server, options()).await).await.expect_err("an error");
    assert!(error.contains("500 Internal Server Error: out of order out of order"), "{error}");
}
