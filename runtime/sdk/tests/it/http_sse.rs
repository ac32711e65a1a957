//! The client side of HTTP+SSE, with servers that respond by a script.
#![cfg(feature = "http-server")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::Response;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue};
use mcpgen_sdk::client::ClientBuilder;
use mcpgen_sdk::http::client::{Authorize, AuthorizeRequest, ClientOptions, ConnectError, ConnectHttp};
use mcpgen_sdk::peer::CallError;
use mcpgen_sdk::protocol::Progress;
use mcpgen_sdk::transport::{self, Inbound};
use mcpgen_sdk::{Client, LocalInfo};
use mcpgen_types::v2026_07_28::{CallToolResult, ContentBlock, ElicitResult, ElicitResultAction};
use mcpgen_types::{Json, JsonObject, Revision};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tower::BoxError;

use crate::support::http_server::{Observed, server, until};

const ENDPOINT: &str = "event: endpoint\ndata: /messages?session=1\n\n";

/// How a server responds.
#[derive(Clone)]
struct Script {
    /// The status, content type and body of the response to POST at the URL of the stream.
    post: (u16, &'static str, &'static str),
    /// The status and content type of the response to GET.
    get: (u16, &'static str),
    /// The text at the beginning of the event stream.
    first: &'static str,
    /// Whether the event stream ends after `first`.
    ends: bool,
    /// Responds to messages with this method with status 500.
    refuses: &'static str,
    /// Responds to the POST of a request only after its response was sent on the stream.
    is_synchronous: bool,
    /// The `Authorization` header that all requests need.
    authorization: Option<&'static str>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            post: (405, "text/plain", "Method Not Allowed"),
            get: (200, "text/event-stream; charset=utf-8"),
            first: ENDPOINT,
            ends: false,
            refuses: "",
            is_synchronous: false,
            authorization: None,
        }
    }
}

/// A server with one event stream at `/sse`, which receives messages at `/messages`.
struct SseServer {
    url: String,
    observed: Arc<Observed>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The HTTP method and path of each request, and the method of its message.
    requests: Vec<String>,
    /// The open event stream.
    stream: Option<mpsc::UnboundedSender<String>>,
    to_server: Option<mpsc::UnboundedSender<Vec<u8>>>,
    /// The IDs of the responses on the stream.
    sent: Vec<Value>,
}

impl SseServer {
    async fn start(script: Script) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/sse", listener.local_addr().expect("an address"));
        let (state, observed) = (Arc::<Mutex<State>>::default(), Arc::<Observed>::default());
        let (shared, observes) = (Arc::clone(&state), Arc::clone(&observed));
        let app = axum::Router::new().fallback(move |request: Request| {
            let (script, state, observed) = (script.clone(), Arc::clone(&shared), Arc::clone(&observes));
            async move {
                let is_allowed = script
                    .authorization
                    .is_none_or(|it| request.headers().get("authorization").is_some_and(|is| is == it));
                match (request.method().as_str(), request.uri().path()) {
                    _ if !is_allowed => respond(401, "text/plain", "no token"),
                    ("GET", "/sse") => open_stream(&script, &state, &observed),
                    ("POST", "/sse") => {
                        locked(&state).requests.push("POST /sse".to_owned());
                        respond(script.post.0, script.post.1, script.post.2)
                    }
                    ("POST", "/messages") => receive(&script, &state, request).await,
                    (method, path) => panic!("{method} {path}"),
                }
            }
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, observed, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Sends a text on the event stream.
    fn send(&self, text: &str) {
        self.state().stream.as_ref().expect("an open stream").send(text.to_owned()).expect("a client");
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("no panic")
}

fn respond(status: u16, content_type: &str, body: impl Into<Body>) -> Response {
    let response = Response::builder().status(status).header("content-type", content_type);
    response.body(body.into()).expect("a response")
}

/// Opens the event stream, and runs a server that sends its messages on it.
fn open_stream(script: &Script, state: &Arc<Mutex<State>>, observed: &Arc<Observed>) -> Response {
    locked(state).requests.push("GET /sse".to_owned());
    let (sender, receiver) = mpsc::unbounded_channel::<String>();
    let body = futures_util::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|event| (Ok::<_, std::io::Error>(Bytes::from(event)), receiver))
    });
    sender.send(script.first.to_owned()).expect("a receiver");
    if !script.ends {
        let (to_server, received) = mpsc::unbounded_channel::<Vec<u8>>();
        let incoming = futures_util::stream::unfold(received, |mut received| async move {
            received.recv().await.map(|bytes| (Ok(Inbound::new(bytes)), received))
        });
        let sends = Arc::clone(state);
        let outgoing = transport::sink(move |message| {
            let text = String::from_utf8(message.bytes.clone()).expect("UTF-8");
            let json: Value = serde_json::from_str(&text).expect("JSON");
            let mut state = locked(&sends);
            state.sent.push(json["id"].clone());
            match state.stream.as_ref().map(|stream| stream.send(format!("event: message\ndata: {text}\n\n"))) {
                Some(Ok(())) => Ok(()),
                _ => Err(std::io::ErrorKind::BrokenPipe.into()),
            }
        });
        (locked(state).stream, locked(state).to_server) = (Some(sender), Some(to_server));
        tokio::spawn(mcpgen_sdk::serve(server(observed).build(), (incoming, outgoing)));
    }
    respond(script.get.0, script.get.1, Body::from_stream(body))
}

/// Receives a message.
async fn receive(script: &Script, state: &Arc<Mutex<State>>, request: Request) -> Response {
    assert_eq!(request.uri().query(), Some("session=1"));
    assert_eq!(request.headers().get("content-type").expect("a header"), "application/json");
    assert_eq!(request.headers().get("x-test").expect("a header of the options"), "yes");
    for absent in ["mcp-session-id", "mcp-protocol-version", "mcp-method"] {
        assert!(!request.headers().contains_key(absent), "{absent}");
    }
    let bytes = axum::body::to_bytes(request.into_body(), 1 << 20).await.expect("a body");
    let message: Value = serde_json::from_slice(&bytes).expect("JSON");
    let method = message["method"].as_str().unwrap_or("response");
    if method == script.refuses {
        return respond(500, "text/plain", "out of order");
    }
    if method == "notifications/initialized" {
        // The client waits until the notification is accepted.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    {
        let mut state = locked(state);
        state.requests.push(format!("POST /messages {method}"));
        let to_server = state.to_server.as_ref().expect("an open stream");
        // Fails if the server has ended.
        let _ = to_server.send(bytes.to_vec());
    }
    if script.is_synchronous && method != "response" && message.get("id").is_some() {
        until(|| locked(state).sent.contains(&message["id"])).await;
    }
    respond(202, "text/plain", "Accepted")
}

fn options() -> ClientOptions {
    ClientOptions::default()
        .with_headers(HeaderMap::from_iter([(
            http::HeaderName::from_static("x-test"),
            HeaderValue::from_static("yes"),
        )]))
        .with_send_timeout(Duration::from_secs(5))
}

/// Creates a client that supports these revisions.
fn client(is_supported: impl Fn(Revision) -> bool) -> ClientBuilder {
    Client::builder("client", "1")
        .options(|options| {
            let ours = std::mem::replace(&mut options.local_info, LocalInfo::new("", ""));
            options.local_info = ours.retain_revisions(is_supported);
        })
        .on_elicitation(|_, _| async {
            Ok(ElicitResult::new(ElicitResultAction::Accept).with_content(BTreeMap::new()))
        })
}

fn text(result: &CallToolResult) -> &str {
    match result.content.as_slice() {
        [ContentBlock::TextContent(only)] => &only.text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn calls_methods_over_http_sse() {
    for expected in [Revision::V2024_11_05, Revision::V2025_11_25] {
        let is_supported = |revision| expected == Revision::V2025_11_25 || revision == expected;
        for is_synchronous in [false, true] {
            let server = SseServer::start(Script { is_synchronous, ..Script::default() }).await;
            let client = client(is_supported).connect_http_sse(&server.url, options()).await.expect("a server");
            assert_eq!(client.revision(), expected);
            assert_eq!(client.tools().await.expect("tools").len(), 8);
            let first = ["GET /sse", "POST /messages initialize", "POST /messages notifications/initialized"];
            assert_eq!(server.state().requests[..3], first);
            let calls = (0..20).map(|n| {
                let arguments = JsonObject::from([("n", n.into())]);
                client.call_tool("echo", arguments)
            });
            for (n, result) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
                assert_eq!(text(&result.expect("a response")), format!(r#"{{"n":{n}}}"#));
            }
            let reports = Arc::<AtomicUsize>::default();
            let count = Arc::clone(&reports);
            let progress = Json::from(&json!({ "name": "progress" }));
            let progress = client.peer().raw_request("tools/call", Some(progress)).on_progress(move |_: Progress| {
                count.fetch_add(1, Ordering::SeqCst);
            });
            progress.await.expect("a response");
            assert_eq!(reports.load(Ordering::SeqCst), 3);
            if client.revision() >= Revision::V2025_06_18 {
                // The server sends a request before it responds.
                assert_eq!(text(&client.call_tool("ask", JsonObject::new()).await.expect("a response")), "accept");
            }
            let wait = Json::from(&json!({ "name": "wait" }));
            tokio::select! {
                _ = client.peer().raw_request("tools/call", Some(wait)).send() => panic!("the call completed"),
                () = server.observed.started.notified() => {}
            }
            until(|| server.observed.ended.load(Ordering::SeqCst) == 1).await;
            client.close().await.expect("closed without an error");
            until(|| server.state().stream.as_ref().is_some_and(mpsc::UnboundedSender::is_closed)).await;
        }
    }
}

#[tokio::test]
async fn falls_back_if_the_server_has_no_streamable_http() {
    const JSON: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}"#;
    let table = [
        // The response to POST, and the error if the client does not fall back.
        ((400, "text/plain", "No session"), None),
        ((404, "text/html", "<pre>Cannot POST /sse</pre>"), None),
        ((405, "application/json", r#"{"detail":"Method Not Allowed"}"#), None),
        (
            (401, "text/plain", ""),
            Some(
                "the server responded with 401 Unauthorized (set `ClientOptions::authorization`, or send a valid token in `ClientOptions::headers`)",
            ),
        ),
        ((403, "text/plain", ""), Some("the server responded with 403 Forbidden")),
        ((500, "text/plain", ""), Some("the server responded with 500 Internal Server Error")),
        ((400, "application/json", JSON), Some("no (-32000)")),
    ];
    for (post, expected) in table {
        let server = SseServer::start(Script { post, ..Script::default() }).await;
        let connected = client(|_| true).connect_http(&server.url, options()).await;
        match (connected, expected) {
            (Ok(client), None) => {
                assert_eq!(client.revision(), Revision::V2025_11_25);
                client.call_tool("echo", JsonObject::new()).await.expect("a response");
            }
            (Err(error), Some(expected)) => {
                assert_eq!(error.to_string(), expected);
                assert!(!server.state().requests.contains(&"GET /sse".to_owned()), "{post:?}");
            }
            (connected, expected) => panic!("{post:?}: {connected:?} instead of {expected:?}"),
        }
    }
    // A known revision makes no difference.
    let server = SseServer::start(Script::default()).await;
    let known = client(|_| true).options(|options| options.known_revision = Some(Revision::V2024_11_05));
    known.connect_http(&server.url, options()).await.expect("a server");
    // A client without legacy revisions cannot use HTTP+SSE.
    let server = SseServer::start(Script::default()).await;
    let modern = || client(|revision| !revision.is_legacy());
    modern().connect_http(&server.url, options()).await.expect_err("no modern server");
    let error = modern().connect_http_sse(&server.url, options()).await.expect_err("no legacy revision");
    assert!(matches!(error, ConnectError::NoLegacyRevision), "{error}");
    assert_eq!(server.state().requests, ["POST /sse"]);
}

#[tokio::test]
async fn reports_why_the_stream_cannot_be_opened() {
    let table: [(Script, &str); 9] = [
        (
            Script { get: (404, "text/html"), first: "<html>", ends: true, ..Script::default() },
            "the server responded with 404 Not Found: <html>",
        ),
        (
            Script { get: (200, "text/html"), ends: true, ..Script::default() },
            "the server responded to GET with 200 OK and content type \"text/html\" instead of an event stream",
        ),
        (
            Script { first: ":\n\nevent: message\ndata: {}\n\n", ends: true, ..Script::default() },
            "the event stream ended before the `endpoint` event; check the URL",
        ),
        (
            Script {
                first: "event: endpoint\ndata: 0123456789012345678901234567890123456789\n\n",
                ..Script::default()
            },
            "the event stream ended before the `endpoint` event (event is larger than 32 bytes); check the URL",
        ),
        (
            Script { first: ": comment\n\n", ..Script::default() },
            "no `endpoint` event within 300ms; check the URL, or raise `ClientOptions::send_timeout` if the server is slow",
        ),
        (
            Script { first: "event: endpoint\ndata: http://[\n\n", ..Script::default() },
            "the `endpoint` event of the server contains \"http://[\", which is not a URL: invalid IPv6 address",
        ),
        (
            Script { first: "event: endpoint\ndata: http://localhost/\n\n", ..Script::default() },
            "the `endpoint` event of the server contains \"http://localhost/\", whose origin is not that of the event \
             stream (ORIGIN); connect to the origin of the endpoint instead",
        ),
        (
            Script { first: "event: endpoint\ndata: //example.com/\n\n", ..Script::default() },
            "the `endpoint` event of the server contains \"//example.com/\", whose origin is not that of the event \
             stream (ORIGIN); connect to the origin of the endpoint instead",
        ),
        (
            Script { authorization: Some("Bearer t"), ..Script::default() },
            "the server responded with 401 Unauthorized (set `ClientOptions::authorization`, or send a valid token in \
             `ClientOptions::headers`): no token",
        ),
    ];
    for (script, expected) in table {
        let is_slow = expected.contains("300ms");
        let send_timeout = if is_slow { Duration::from_millis(300) } else { Duration::from_secs(30) };
        let options = options().with_max_message_bytes(32).with_send_timeout(send_timeout);
        let server = SseServer::start(script).await;
        let origin = server.url.strip_suffix("/sse").expect("the path");
        let error = client(|_| true).connect_http_sse(&server.url, options.clone()).await.expect_err("no HTTP+SSE");
        assert!(matches!(error, ConnectError::OpenSse(_)), "{error}");
        let expected = expected.replace("ORIGIN", origin);
        assert_eq!(error.to_string(), expected);
        // The fallback of `connect_http` reports both reasons.
        let error = client(|_| true).connect_http(&server.url, options).await.expect_err("no HTTP+SSE");
        if let ConnectError::NoStreamableHttp { .. } = &error {
            let post = "the server responded with 405 Method Not Allowed: Method Not Allowed";
            let expected = format!("{post}; and no connection over HTTP+SSE: {expected}; check the URL");
            assert_eq!(error.to_string(), expected);
        } else {
            assert_eq!(error.to_string(), expected);
        }
        assert!(!server.state().requests.iter().any(|request| request.starts_with("POST /messages")));
    }
}

#[tokio::test]
async fn a_silent_server_times_out() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/sse", listener.local_addr().expect("an address"));
    let options = options().with_send_timeout(Duration::from_millis(200));
    let error = client(|_| true).connect_http_sse(&url, options).await.expect_err("no response");
    assert_eq!(error.to_string(), "the server sent no response headers within 200ms");
}

#[tokio::test]
async fn a_refused_message_fails_alone() {
    let server = SseServer::start(Script { refuses: "tools/list", ..Script::default() }).await;
    let client = client(|_| true).connect_http_sse(&server.url, options()).await.expect("a server");
    let error = client.tools().await.expect_err("the server refuses it");
    assert!(matches!(error, CallError::Undelivered(_)), "{error:?}");
    assert_eq!(error.to_string(), "the server responded with 500 Internal Server Error: out of order");
    client.peer().raw_request("ping", None).await.expect("a response");
    let server = SseServer::start(Script { refuses: "initialize", ..Script::default() }).await;
    let error = crate::http_sse::client(|_| true).connect_http_sse(&server.url, options()).await;
    let error = error.expect_err("the server refuses it");
    assert_eq!(error.to_string(), "the server responded with 500 Internal Server Error: out of order");
}

#[tokio::test]
async fn a_lost_stream_ends_the_connection() {
    let table = [
        ("", "the connection failed: the event stream ended; connect again"),
        (
            "data: 01234567890123456789",
            "the connection failed: the event stream failed: event is larger than 4096 bytes; connect again",
        ),
    ];
    for (last, expected) in table {
        let server = SseServer::start(Script::default()).await;
        let options = options().with_max_message_bytes(4096);
        let client = client(|_| true).connect_http_sse(&server.url, options).await.expect("a server");
        let lose = async {
            server.observed.started.notified().await;
            if last.is_empty() {
                server.state().stream = None;
            } else {
                server.send(&last.repeat(256));
            }
        };
        let (called, ()) = tokio::join!(client.call_tool("wait", JsonObject::new()), lose);
        assert_eq!(called.expect_err("no response").to_string(), expected);
        // Every later call fails in the same way.
        let later = client.call_tool("echo", JsonObject::new()).await.expect_err("no connection");
        assert_eq!(later.to_string(), expected);
        let ended = client.close().await.expect_err("the connection failed");
        assert!(expected.ends_with(&ended.to_string()), "{ended}");
        assert!(!server.state().requests.contains(&"POST /sse".to_owned()));
        assert_eq!(server.state().requests.iter().filter(|request| *request == "GET /sse").count(), 1, "no new stream");
    }
}

/// Provides a token after the first response with status 401.
struct Token;

impl Authorize for Token {
    fn authorize<'a>(&'a self, request: AuthorizeRequest<'a>) -> BoxFuture<'a, Result<Option<HeaderMap>, BoxError>> {
        let path = request.url.path();
        let token = (request.refused.is_some() || path == "/messages").then(|| HeaderValue::from_static("Bearer t"));
        let headers = token.map(|token| HeaderMap::from_iter([(http::header::AUTHORIZATION, token)]));
        Box::pin(std::future::ready(Ok(headers)))
    }
}

#[tokio::test]
async fn authorizes_all_requests() {
    let server = SseServer::start(Script { authorization: Some("Bearer t"), ..Script::default() }).await;
    let options = options().with_authorization(Arc::new(Token));
    for is_fallback in [false, true] {
        let builder = client(|_| true);
        let client = match is_fallback {
            true => builder.connect_http(&server.url, options.clone()).await,
            false => builder.connect_http_sse(&server.url, options.clone()).await,
        };
        client.expect("a server").call_tool("echo", JsonObject::new()).await.expect("a response");
    }
}
