//! The client side of Streamable HTTP, with the server of this crate and with scripted servers.
#![cfg(all(feature = "http-server", feature = "http-client"))]
#![allow(deprecated, reason = "the newest revision deprecates log messages")]

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use mcpgen_bridge::Bridge;
use mcpgen_sdk::client::handshake::HandshakeError;
use mcpgen_sdk::client::{Changes, ClientBuilder};
use mcpgen_sdk::http::client::{Authorize, AuthorizeRequest, ClientOptions, ConnectError, ConnectHttp, HttpError};
use mcpgen_sdk::http::server::{Endpoint, EndpointOptions, ServeHttp};
use mcpgen_sdk::peer::CallError;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::protocol::{ContextExt, Level, Progress};
use mcpgen_sdk::server::RequestContext;
use mcpgen_sdk::{Client, LocalInfo, Server, ServerBuilder, transport};
use mcpgen_types::v2026_07_28::{
    CallToolResult, ContentBlock, ElicitResult, ElicitResultAction, Resource, SubscriptionFilter, Tool, ToolInputSchema,
};
use mcpgen_types::{JsonObject, Revision};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tower::{BoxError, ServiceExt};

use crate::support::http_server::{Observed, endpoint, until};

/// Serves HTTP requests with a function. Returns the URL.
async fn serve<F>(response: impl Fn(Request) -> F + Clone + Send + Sync + 'static) -> String
where
    F: Future<Output = Response> + Send + 'static,
{
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let app = axum::Router::new().fallback(move |request: Request| response(request));
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/mcp")
}

/// Serves an endpoint and counts the GET streams that are opened and resumed. Returns the URL.
async fn served(endpoint: &Endpoint, observed: &Arc<Observed>) -> String {
    let (endpoint, observed) = (endpoint.clone(), Arc::clone(observed));
    serve(move |request| forward(request, endpoint.clone(), Arc::clone(&observed))).await
}

async fn forward(request: Request, endpoint: Endpoint, observed: Arc<Observed>) -> Response {
    if request.method() == http::Method::GET {
        let is_resumed = request.headers().contains_key("last-event-id");
        if is_resumed { &observed.resumed_streams } else { &observed.opened_streams }.fetch_add(1, Ordering::SeqCst);
    }
    endpoint.oneshot(request).await.expect("no error").into_response()
}

fn options() -> ClientOptions {
    ClientOptions::default().with_retry_delay(Duration::from_millis(10)).with_send_timeout(Duration::from_secs(5))
}

/// Creates a client that supports one revision or all.
fn client(revision: Option<Revision>) -> ClientBuilder {
    Client::builder("client", "1")
        .options(|options| {
            let ours = std::mem::replace(&mut options.local_info, LocalInfo::new("", ""));
            options.local_info = ours.retain_revisions(|known| revision.is_none_or(|revision| revision == known));
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

fn arguments(value: Value) -> JsonObject {
    value.try_into().expect("an object")
}

const OVER_HTTP: [Revision; 4] =
    [Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28];

#[tokio::test]
async fn calls_every_method_in_every_revision() {
    for revision in OVER_HTTP.map(Some).into_iter().chain([None]) {
        let (endpoint, observed) = endpoint(|_| {});
        let client =
            client(revision).connect_http(&served(&endpoint, &observed).await, options()).await.expect("a server");
        assert_eq!(client.revision(), revision.unwrap_or(Revision::V2026_07_28));
        assert_eq!(endpoint.sessions(), usize::from(client.revision().is_legacy()));
        assert_eq!(client.tools().await.expect("tools").len(), 8);
        let call = async |tool: &str, input: Value| {
            client
                .call_tool(tool, arguments(input))
                .await
                .unwrap_or_else(|error| panic!("{revision:?} {tool}: {error}"))
        };
        assert_eq!(text(&call("echo", json!({ "a": "ü" })).await), r#"{"a":"ü"}"#);
        let reports = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&reports);
        let params = mcpgen_types::Json::from(&json!({ "name": "progress" }));
        let progress = client.peer().raw_request("tools/call", Some(params)).on_progress(move |_: Progress| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        progress.await.expect("a response");
        assert_eq!(reports.load(Ordering::SeqCst), 3);
        assert_eq!(text(&call("region", json!({ "region": "ü\n" })).await), "stored");
        if client.revision() >= Revision::V2025_06_18 {
            assert_eq!(text(&call("ask", json!({})).await), "accept");
        }
        // Each call gets its response.
        let many = (0..50).map(|n| call("echo", json!({ "n": n })));
        for (n, result) in futures_util::future::join_all(many).await.iter().enumerate() {
            assert_eq!(text(result), format!(r#"{{"n":{n}}}"#));
        }
        // The server closes the stream before the response. The tool waits until the client has resumed the stream.
        let resumes = usize::from(client.revision() == Revision::V2025_11_25);
        let later = async {
            tokio::join!(call("later", json!({})), async {
                until(|| observed.resumed_streams.load(Ordering::SeqCst) == resumes).await;
                observed.proceed.notify_one();
            })
        };
        assert_eq!(text(&later.await.0), "at last");
        assert_eq!(observed.resumed_streams.load(Ordering::SeqCst), resumes, "{revision:?}");
        // The client cancels a call.
        let waiting =
            client.peer().raw_request("tools/call", Some(mcpgen_types::Json::from(&json!({ "name": "wait" })))).send();
        tokio::select! {
            _ = waiting => panic!("the call completed"),
            () = observed.started.notified() => {}
        }
        until(|| observed.ended.load(Ordering::SeqCst) == 1).await;
        client.close().await.expect("closed without an error");
        until(|| endpoint.sessions() == 0).await;
    }
}

#[tokio::test]
async fn receives_progress_and_changes() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let server = Server::builder("changes", "1").tool(tool("a"), || async { "a" }).build();
        let (endpoint, observed) = (server.http(Default::default()).expect("a valid server"), Arc::default());
        let received = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&received);
        let client = client(Some(revision))
            .handlers(|router| {
                router.custom_notification("notifications/tools/list_changed", move |_, _: Value| {
                    count.fetch_add(1, Ordering::SeqCst);
                    async {}
                })
            })
            .connect_http(&served(&endpoint, &observed).await, options())
            .await
            .expect("a server");
        if revision.is_legacy() {
            // The GET stream is open before the first request.
            client.ping().await.expect("a server");
            server.add_tool(tool("b"), || async { "b" }).expect("a new tool");
            until(|| received.load(Ordering::SeqCst) == 1).await;
        } else {
            let filter = SubscriptionFilter::new().with_tools_list_changed(true);
            let mut subscription = client.changes(filter).await.expect("a subscription");
            server.add_tool(tool("b"), || async { "b" }).expect("a new tool");
            assert_eq!(subscription.try_next().await.expect("a change"), Some(Change::Tools));
            // Closing the stream ends the subscription.
            drop(subscription);
            tokio::time::timeout(Duration::from_secs(5), endpoint.close()).await.expect("closed in time");
        }
    }
}

fn tool(name: &str) -> Tool {
    Tool::new(name, ToolInputSchema::new())
}

#[tokio::test]
async fn replaces_a_lost_session() {
    let (first, second) = (endpoint(|_| {}), endpoint(|_| {}));
    let current = Arc::new(Mutex::new(first));
    let routed = Arc::clone(&current);
    let url = serve(move |request| {
        let (endpoint, observed) = routed.lock().expect("no panic").clone();
        async move {
            // Requests and cancellations run while a session begins.
            if !request.headers().contains_key("mcp-session-id") {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            forward(request, endpoint, observed).await
        }
    })
    .await;
    let begun = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&begun);
    let options = options().with_on_new_session(Arc::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
    }));
    let client = client(Some(Revision::V2025_11_25)).connect_http(&url, options).await.expect("a server");
    until(|| current.lock().expect("no panic").1.opened_streams.load(Ordering::SeqCst) == 1).await;
    *current.lock().expect("no panic") = second.clone();
    let calls = (0..20).map(|n| {
        let client = &client;
        async move {
            tokio::time::sleep(Duration::from_millis(n * 10)).await;
            client.call_tool("echo", arguments(json!({ "n": n }))).await
        }
    });
    for result in futures_util::future::join_all(calls).await {
        result.expect("a response");
    }
    assert_eq!((second.0.sessions(), begun.load(Ordering::SeqCst)), (1, 1), "one session for all calls");
    until(|| second.1.opened_streams.load(Ordering::SeqCst) == 1).await;
    assert_eq!(text(&client.call_tool("ask", JsonObject::new()).await.expect("a response")), "accept");
}

/// The new session gets the log level and the subscriptions of the lost one, and changes may have been missed.
#[tokio::test]
async fn restores_the_state_of_a_lost_session() {
    let server = || {
        Server::builder("server", "1")
            .logging()
            .tool("log", |context: RequestContext| async move {
                context.log(Level::Info, None, "quiet").await;
                context.log(Level::Error, None, "loud").await;
            })
            .resource(Resource::new("file:///a", "a"), || async { "a" })
            .build()
    };
    let servers = [server(), server()];
    let endpoints = servers.each_ref().map(|server| server.http(EndpointOptions::default()).expect("an endpoint"));
    let current = Arc::<AtomicUsize>::default();
    let routed = Arc::clone(&current);
    let all = endpoints.clone();
    let url = serve(move |request| {
        let endpoint = all[routed.load(Ordering::SeqCst)].clone();
        async move { forward(request, endpoint, Arc::default()).await }
    })
    .await;
    let (sender, mut logged) = mpsc::unbounded_channel();
    let client = client(Some(Revision::V2025_11_25))
        .on_log(Level::Error, move |message| {
            let _ = sender.send(message.data);
            async {}
        })
        .connect_http(&url, options())
        .await
        .expect("a server");
    let change = Change::Resource("file:///a".to_owned());
    let filter = SubscriptionFilter::new().with_resource_subscriptions(["file:///a".to_owned()]);
    let mut changes = client.changes(filter).await.expect("a subscription");
    let next = async |changes: &mut Changes| {
        tokio::time::timeout(Duration::from_secs(10), changes.try_next()).await.expect("in time").expect("no error")
    };
    servers[0].changed(&change);
    assert_eq!(next(&mut changes).await.as_ref(), Some(&change));

    current.store(1, Ordering::SeqCst);
    client.tool("log").await.expect("a result");
    let message = tokio::time::timeout(Duration::from_secs(10), logged.recv()).await.expect("in time");
    assert_eq!(message.expect("a message"), "loud", "the call was repeated in the new session");
    assert_eq!(next(&mut changes).await.as_ref(), Some(&change), "it may have been missed");
    servers[1].changed(&change);
    assert_eq!(next(&mut changes).await.as_ref(), Some(&change));
}

#[tokio::test]
async fn replaces_a_session_that_the_get_stream_loses() {
    let (first, second) = (endpoint(|_| {}), endpoint(|_| {}));
    let current = Arc::new(Mutex::new(first.clone()));
    let routed = Arc::clone(&current);
    let url = serve(move |request| {
        let (endpoint, observed) = routed.lock().expect("no panic").clone();
        forward(request, endpoint, observed)
    })
    .await;
    let client = client(Some(Revision::V2025_11_25)).connect_http(&url, options()).await.expect("a server");
    until(|| first.1.opened_streams.load(Ordering::SeqCst) == 1).await;
    *current.lock().expect("no panic") = second.clone();
    // The streams of the endpoint end with it.
    first.0.close().await;
    until(|| second.0.sessions() == 1 && second.1.opened_streams.load(Ordering::SeqCst) == 1).await;
    assert_eq!(text(&client.call_tool("ask", JsonObject::new()).await.expect("a response")), "accept");
}

/// A bridge subscribes again after its server was restarted, and reports what its client may have missed.
#[tokio::test]
async fn a_bridge_survives_a_restart_of_its_server() {
    for behind in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let servers = [(); 2].map(|()| {
            Server::builder("behind", "1").resource(Resource::new("file:///a", "a"), || async { "a" }).build()
        });
        let endpoints = servers.each_ref().map(|server| server.http(EndpointOptions::default()).expect("an endpoint"));
        let current = Arc::<AtomicUsize>::default();
        let (routed, all) = (Arc::clone(&current), endpoints.clone());
        let url = serve(move |request| {
            let endpoint = all[routed.load(Ordering::SeqCst)].clone();
            async move { forward(request, endpoint, Arc::default()).await }
        })
        .await;
        let (client_side, to_client) = transport::duplex();
        tokio::spawn(Bridge::new().run(to_client, async move |builder: ClientBuilder| {
            builder.revisions([behind]).connect_http(&url, options()).await
        }));
        let client = client(None).connect(client_side.0, client_side.1).await.expect("a bridge");
        let change = Change::Resource("file:///a".to_owned());
        let filter = SubscriptionFilter::new().with_resource_subscriptions(["file:///a".to_owned()]);
        let mut changes = client.changes(filter).await.expect("a subscription");
        let mut next =
            async || tokio::time::timeout(Duration::from_secs(20), changes.try_next()).await.expect("in time");
        servers[0].changed(&change);
        assert_eq!(next().await.expect("open").as_ref(), Some(&change));
        current.store(1, Ordering::SeqCst);
        endpoints[0].close().await;
        assert_eq!(next().await.expect("open").as_ref(), Some(&change), "{behind}: it may have been missed");
        servers[1].changed(&change);
        assert_eq!(next().await.expect("open").as_ref(), Some(&change), "{behind}");
    }
}

/// A server that refuses to set the log level is used all the same.
#[tokio::test]
async fn replaces_a_session_although_the_log_level_is_refused() {
    for status in [400, 404, 500] {
        let server = || Server::builder("server", "1").logging().tool("a", || async { "a" }).build();
        let endpoints =
            [server(), server()].map(|server| server.http(EndpointOptions::default()).expect("an endpoint"));
        let current = Arc::<AtomicUsize>::default();
        let (routed, all) = (Arc::clone(&current), endpoints.clone());
        let url = serve(move |request| {
            let nth = routed.load(Ordering::SeqCst);
            let endpoint = all[nth].clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = axum::body::to_bytes(body, 1 << 20).await.expect("a body");
                if nth == 1 && String::from_utf8_lossy(&body).contains("logging/setLevel") {
                    return StatusCode::from_u16(status).expect("a status").into_response();
                }
                forward(Request::from_parts(parts, Body::from(body)), endpoint, Arc::default()).await
            }
        })
        .await;
        let client = client(Some(Revision::V2025_11_25)).on_log(Level::Error, |_| async {});
        let client = client.connect_http(&url, options()).await.expect("a server");
        assert_eq!(client.tool("a").text().await.expect("a result"), "a");
        current.store(1, Ordering::SeqCst);
        assert_eq!(client.tool("a").text().await.expect("a result"), "a", "{status}");
    }
}

/// A GET stream that has worked is opened again even after the server has refused it, or has refused a new session.
#[tokio::test]
async fn reopens_the_get_stream_after_refusals() {
    for (refused, status) in [("GET", 401), ("GET", 403), ("GET", 503), ("initialize", 401), ("initialize", 503)] {
        let (first, second) = (endpoint(|_| {}), endpoint(|_| {}));
        let current = Arc::new(Mutex::new(first.clone()));
        let (routed, refusals) = (Arc::clone(&current), Arc::<AtomicUsize>::default());
        let left = Arc::clone(&refusals);
        let url = serve(move |request| {
            let (endpoint, observed) = routed.lock().expect("no panic").clone();
            let kind = match request.method().as_str() {
                "POST" if !request.headers().contains_key("mcp-session-id") => "initialize",
                method => method,
            };
            let take = |left: usize| left.checked_sub(1).filter(|_| kind == refused);
            let refuse = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok();
            async move {
                if refuse {
                    StatusCode::from_u16(status).expect("a status").into_response()
                } else {
                    forward(request, endpoint, observed).await
                }
            }
        })
        .await;
        let client = client(Some(Revision::V2025_11_25)).connect_http(&url, options()).await.expect("a server");
        until(|| first.1.opened_streams.load(Ordering::SeqCst) == 1).await;
        refusals.store(2, Ordering::SeqCst);
        *current.lock().expect("no panic") = second.clone();
        first.0.close().await;
        until(|| second.0.sessions() == 1 && second.1.opened_streams.load(Ordering::SeqCst) == 1).await;
        assert_eq!(refusals.load(Ordering::SeqCst), 0, "{refused} {status}");
        drop(client);
    }
}

#[tokio::test]
async fn sends_responses_while_requests_wait() {
    let (endpoint, observed) = endpoint(|_| {});
    let options = options().with_requests(1);
    let client = client(Some(Revision::V2025_11_25)).connect_http(&served(&endpoint, &observed).await, options).await;
    let client = client.expect("a server");
    let asks = (0..5).map(|_| client.call_tool("ask", JsonObject::new()));
    for result in futures_util::future::join_all(asks).await {
        assert_eq!(text(&result.expect("a response")), "accept");
    }
}

#[tokio::test]
async fn learns_tool_headers_from_the_list() {
    let (endpoint, observed) = endpoint(|_| {});
    let client = client(None).connect_http(&served(&endpoint, &observed).await, options()).await.expect("a server");
    // The tool was not listed, so the first attempt lacks its headers and the server rejects it.
    let result = client.call_tool("region", arguments(json!({ "region": "here" }))).await.expect("a response");
    assert_eq!(text(&result), "stored");
}

#[tokio::test]
async fn falls_back_to_older_revisions() {
    let legacy = LocalInfo::new("old", "1").retain_revisions(Revision::is_legacy);
    let server = ServerBuilder::from(legacy).tool(tool("a"), || async { "a" }).build();
    let (endpoint, observed) = (server.http(Default::default()).expect("a valid server"), Arc::default());
    let client = client(None).connect_http(&served(&endpoint, &observed).await, options()).await.expect("a server");
    assert_eq!(client.revision(), Revision::V2025_11_25);
    assert_eq!(text(&client.call_tool("a", JsonObject::new()).await.expect("a response")), "a");
}

/// Provides tokens, each valid for one request.
struct Tokens {
    issued: AtomicUsize,
    valid_after: usize,
}

impl Authorize for Tokens {
    fn authorize<'a>(&'a self, request: AuthorizeRequest<'a>) -> BoxFuture<'a, Result<Option<HeaderMap>, BoxError>> {
        Box::pin(async move {
            if let Some(challenge) = request.refused {
                assert_eq!(challenge.status, StatusCode::UNAUTHORIZED);
                assert!(challenge.www_authenticate().eq(["Bearer realm=\"t\""]));
                let refused = format!("Bearer {}", self.issued.load(Ordering::SeqCst));
                assert!(challenge.authorization.as_ref().is_some_and(|sent| *sent == refused));
                let issued = self.issued.fetch_add(1, Ordering::SeqCst) + 1;
                if issued > self.valid_after + 1 {
                    return Ok(None);
                }
            }
            let token = HeaderValue::from_str(&format!("Bearer {}", self.issued.load(Ordering::SeqCst)))?;
            Ok(Some(HeaderMap::from_iter([(AUTHORIZATION, token)])))
        })
    }
}

#[tokio::test]
async fn asks_for_a_new_token_after_a_401() {
    let (endpoint, _) = endpoint(|_| {});
    for (expected_token, is_valid) in [("Bearer 0", true), ("Bearer 2", true), ("Bearer x", false)] {
        let endpoint = endpoint.clone();
        let url = serve(move |request: Request| {
            let endpoint = endpoint.clone();
            async move {
                if request.headers().get("authorization").is_some_and(|token| token == expected_token) {
                    return endpoint.oneshot(request).await.expect("no error").into_response();
                }
                (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer realm=\"t\"")]).into_response()
            }
        })
        .await;
        let tokens = Tokens { issued: AtomicUsize::new(0), valid_after: 1 };
        let options = options().with_authorization(Arc::new(tokens));
        let connected = client(None).connect_http(&url, options).await;
        match connected {
            Ok(client) => {
                assert!(is_valid, "{expected_token}");
                client.call_tool("echo", JsonObject::new()).await.expect("a response");
            }
            Err(error) => {
                assert!(!is_valid, "{expected_token}: {error}");
                assert!(error.to_string().starts_with("the server responded with 401 Unauthorized (set "), "{error}");
            }
        }
    }
}

/// Creates a response.
fn respond(status: u16, content_type: &str, body: &str) -> Response {
    let response = Response::builder().status(status).header("content-type", content_type);
    response.body(Body::from(body.to_owned())).expect("a response")
}

#[tokio::test]
async fn reports_responses_of_servers_without_mcp() {
    let table: &[(u16, &str, &str, &str)] = &[
        (500, "text/plain", "out of order", "the server responded with 500 Internal Server Error: out of order"),
        (404, "text/html", "<html>", "the server responded with 404 Not Found: <html>"),
        (
            200,
            "text/html",
            "<html>",
            "the server responded with content type \"text/html\", which is neither JSON nor an event stream; check the URL",
        ),
        (200, "text/event-stream", "", "the stream ended before the response arrived"),
        (202, "text/plain", "", "the stream ended before the response arrived"),
        (403, "text/plain", "no\n", "the server responded with 403 Forbidden: no "),
        // The status comes from a proxy, so it does not show which revisions the server supports.
        (
            503,
            "application/json",
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"busy"}}"#,
            "the server responded with 503 Service Unavailable: busy",
        ),
        (
            400,
            "application/json",
            r#"{"jsonrpc":"2.0","error":{"code":-32020,"message":"header mismatch: x"}}"#,
            "header mismatch: x (-32020)",
        ),
    ];
    for (status, kind, body, expected) in table {
        let url = serve(|_| async { respond(*status, kind, body) }).await;
        let error = client(None).connect_http(&url, options()).await.expect_err("not an MCP server");
        let expected = match status {
            404 => format!("{expected}, and the same over HTTP+SSE; check the URL"),
            _ => (*expected).to_owned(),
        };
        assert_eq!(error.to_string(), expected);
    }
    let closed_address =
        tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address");
    let error =
        client(None).connect_http(&format!("http://{closed_address}/"), options()).await.expect_err("no server");
    let ConnectError::Handshake(HandshakeError::Call(CallError::Undelivered(why))) = &error else { panic!("{error}") };
    assert!(matches!(why.error.downcast_ref(), Some(HttpError::Http(error)) if error.is_connect()) && !why.reached);
    assert!(chain(&error).contains("refused"), "{error}");
    for url in ["", "example.com", "ftp://example.com/", "http://"] {
        let error = client(None).connect_http(url, options()).await.expect_err("an invalid URL");
        assert!(matches!(error, ConnectError::Open(_)), "{error}");
    }
}

/// Starts a server that responds to calls and resumed streams by a script. Also returns the event IDs of GET requests.
async fn scripted(script: &'static [&'static str]) -> (String, Arc<Mutex<Vec<String>>>) {
    let resumed: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&resumed);
    let step = Arc::new(AtomicUsize::new(0));
    let url = serve(move |request: Request| {
        let (log, step) = (Arc::clone(&log), Arc::clone(&step));
        async move {
            let method = request.method().clone();
            let last = request.headers().get("last-event-id").map(|id| id.to_str().expect("text").to_owned());
            let stream = |text: &str| respond(200, "text/event-stream", text);
            if method == http::Method::GET {
                let Some(last) = last else { return StatusCode::METHOD_NOT_ALLOWED.into_response() };
                log.lock().expect("no panic").push(last);
                let next = step.fetch_add(1, Ordering::SeqCst);
                return match script.get(next) {
                    Some(text) => stream(text),
                    None => StatusCode::BAD_REQUEST.into_response(),
                };
            }
            let bytes = axum::body::to_bytes(request.into_body(), 1 << 20).await.expect("a body");
            let message: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            match message["method"].as_str() {
                Some("initialize") => {
                    let result = json!({ "jsonrpc": "2.0", "id": message["id"], "result": {
                        "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                        "serverInfo": { "name": "s", "version": "1" },
                    } });
                    respond(200, "application/json", &result.to_string())
                }
                Some("tools/call") => {
                    let next = step.fetch_add(1, Ordering::SeqCst);
                    stream(&script[next].replace("ID", &message["id"].to_string()))
                }
                _ => StatusCode::ACCEPTED.into_response(),
            }
        }
    })
    .await;
    (url, resumed)
}

#[tokio::test]
async fn resumes_interrupted_streams() {
    const RESPONSE: &str = "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[]}}\n\n";
    const NOTIFICATION: &str = "id: e3\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n";
    const POLLS: [&str; 8] = [
        "id: p1\ndata: \n\n",
        "id: p2\ndata: \n\n",
        "id: p3\ndata: \n\n",
        "id: p4\ndata: \n\n",
        NOTIFICATION,
        "id: p5\ndata: \n\n",
        "id: p6\ndata: \n\n",
        RESPONSE,
    ];
    let table: &[(&[&str], &[&str], bool)] = &[
        (&[RESPONSE], &[], true),
        (&["id: e1\ndata: \n\nretry: 1\n\n", RESPONSE], &["e1"], true),
        (&["id: e1\ndata: \n\n", "", "id: e2\ndata:\n\n", NOTIFICATION, RESPONSE], &["e1", "e1", "e2", "e3"], true),
        // No event ID to resume from.
        (&["retry: 1\n\n", RESPONSE], &[], false),
        // Missed events are not retained.
        (&["id: e1\ndata: \n\n"], &["e1"], false),
        (&["id: e1\ndata: \n\n", "", "", "", "", "", RESPONSE], &["e1", "e1", "e1", "e1", "e1"], false),
        // A message resets the count of attempts.
        (&POLLS, &["p1", "p2", "p3", "p4", "e3", "p5", "p6"], true),
    ];
    for (script, resumed, is_ok) in table {
        let (url, log) = scripted(script).await;
        let client = client(Some(Revision::V2025_11_25)).connect_http(&url, options()).await.expect("a server");
        let result = client.call_tool("a", JsonObject::new()).await;
        assert_eq!(result.is_ok(), *is_ok, "{script:?}: {result:?}");
        assert_eq!(*log.lock().expect("no panic"), *resumed, "{script:?}");
    }
}

#[tokio::test]
async fn relays_messages_without_metadata() {
    use futures_util::{SinkExt, StreamExt};
    let (endpoint, observed) = endpoint(|_| {});
    let url = served(&endpoint, &observed).await;
    let (incoming, outgoing) = mcpgen_sdk::http::client::open(&url, options()).expect("a URL");
    let (mut incoming, mut outgoing) = (std::pin::pin!(incoming), std::pin::pin!(outgoing));
    let call = json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {
        "name": "region",
        "arguments": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        },
    } });
    outgoing.send(call.to_string().into_bytes().into()).await.expect("an open connection");
    let response = incoming.next().await.expect("a response").expect("a message").into_bytes().expect("JSON");
    let response: Value = serde_json::from_slice(&response).expect("JSON");
    assert_eq!((&response["id"], &response["result"]["content"][0]["text"]), (&json!("a"), &json!("stored")));
}

/// Formats an error with its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let chain = std::iter::successors(Some(error), |error| error.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
