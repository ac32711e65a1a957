//! Tests that the endpoint behind the authorization layer limits request bodies, and checks the scopes they require.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::BodyExt;
use mcpgen_auth::server::{ProtectedResource, ResourceOptions, ScopePolicy};
use mcpgen_cluster::MemoryHub;
use mcpgen_sdk::Server;
use mcpgen_sdk::http::server::{BodyCheck, CheckedBody, Endpoint, EndpointOptions, ServeHttp};
use mcpgen_sdk::replicas::Replicas;
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use serde_json::{Value, json};
use tower::{BoxError, Layer, Service, ServiceExt};

use crate::scopes::ScopesAreTheToken;

/// A resource whose tool `delete` needs the scope `write`.
fn resource() -> ProtectedResource {
    let mut options = ResourceOptions::new("https://mcp.example/mcp", "https://as.example");
    options.scopes = ScopePolicy::default().for_tool("delete", ["write"]);
    ProtectedResource::new(options, ScopesAreTheToken).expect("a resource")
}

fn endpoint(change: impl FnOnce(&mut EndpointOptions)) -> Endpoint {
    let mut options = EndpointOptions::default();
    change(&mut options);
    let tool = |name: &str| Tool::new(name, ToolInputSchema::new());
    let server = Server::builder("server", "1")
        .tool(tool("get"), || async { "got" })
        .tool(tool("delete"), || async { "deleted" });
    server.build().http(options).expect("a valid server")
}

/// Returns the status, the challenge and the body.
async fn send<S, R>(service: S, request: Request<Body>) -> (StatusCode, String, String)
where
    S: Service<Request<CheckedBody>, Response = Response<R>, Error = Infallible, Future: Send> + Clone + Send + 'static,
    R: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send,
{
    let response = resource().layer(service).oneshot(request).await.expect("a response");
    let challenge = response.headers().get("www-authenticate").map(|value| value.to_str().expect("text").to_owned());
    let status = response.status();
    let body = response.into_body().collect().await.unwrap_or_else(|_| panic!("a body")).to_bytes();
    (status, challenge.unwrap_or_default(), String::from_utf8_lossy(&body).into_owned())
}

fn post(token: &str, headers: &[(&str, &str)], body: Body) -> Request<Body> {
    let mut all = vec![
        ("host", "localhost"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    all.retain(|(name, _)| !headers.iter().any(|(other, _)| other == name));
    let request = Request::post("/mcp").header("authorization", format!("Bearer {token}"));
    let request = all.iter().chain(headers).fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(body).expect("a request")
}

/// A body that sends a few bytes and never ends. Counts how many times it is read.
struct Unfinished {
    start: Option<Bytes>,
    reads: Arc<AtomicUsize>,
}

impl http_body::Body for Unfinished {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.start.take().map_or(Poll::Pending, |start| Poll::Ready(Some(Ok(Frame::data(start)))))
    }
}

fn unfinished(bytes: usize) -> (Body, Arc<AtomicUsize>) {
    let reads = Arc::new(AtomicUsize::new(0));
    let start = Some(vec![b' '; bytes].into());
    (Body::new(Unfinished { start, reads: Arc::clone(&reads) }), reads)
}

/// A user's bodies take at most that user's share of `body_buffer`, so that others can send theirs.
#[tokio::test(start_paused = true)]
async fn incomplete_bodies_count_toward_the_share_of_their_owner() {
    const SIZE: usize = 50_000;
    let endpoint = endpoint(|options| (options.body, options.body_buffer) = (2 * SIZE, 8 * SIZE));
    let service = resource().layer(endpoint);
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..300 {
        requests.spawn(service.clone().oneshot(post("write", &[], unfinished(SIZE).0)));
    }
    // Paused time only advances while all tasks are idle, so the refused requests have their responses by then.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let mut refused = 0;
    while let Some(response) = requests.try_join_next() {
        let response = response.expect("no panic").expect("a response");
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key("retry-after"));
        let body = response.into_body().collect().await.unwrap_or_else(|_| panic!("a body")).to_bytes();
        assert!(String::from_utf8_lossy(&body).contains("`EndpointOptions::body_buffer`"), "{body:?}");
        refused += 1;
    }
    assert_eq!((refused, requests.len()), (298, 2), "two bodies are an owner's share");
    while let Some(response) = requests.join_next().await {
        let status = response.expect("no panic").expect("a response").status();
        assert_eq!(status, StatusCode::REQUEST_TIMEOUT, "`EndpointOptions::body_timeout` applies");
    }
}

#[tokio::test(start_paused = true)]
async fn refuses_by_the_head_before_the_body_is_read() {
    type Row = (&'static str, &'static [(&'static str, &'static str)], u16);
    let table: &[Row] = &[
        ("write", &[("host", "evil.example")], 403),
        ("write", &[("origin", "https://evil.example")], 403),
        ("write", &[("content-type", "text/plain")], 415),
        ("write", &[("accept", "text/html")], 406),
        ("write", &[("content-length", "5000000")], 413),
        ("", &[], 401),
    ];
    for (token, headers, expected) in table {
        let (body, reads) = unfinished(10);
        let response = send(endpoint(|_| {}), post(token, headers, body));
        let response = tokio::time::timeout(std::time::Duration::from_secs(1), response).await;
        let (status, _, text) = response.expect("a response while the body is incomplete");
        assert_eq!((status.as_u16(), reads.load(Ordering::SeqCst)), (*expected, 0), "{headers:?}: {text}");
    }
}

fn call(id: u32, tool: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": {} } })
}

fn modern(tool: &str) -> (Vec<(&'static str, String)>, Value) {
    let mut body = call(1, tool);
    body["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
    });
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", tool)];
    (headers.map(|(name, value)| (name, value.to_owned())).to_vec(), body)
}

/// Every way to call a tool is checked: without a session, in one, in a batch, and through another replica.
#[tokio::test]
async fn checks_the_scopes_of_every_message() {
    let hub = MemoryHub::new(100, 64 << 10);
    let replicas = [(); 2].map(|()| {
        let replicas = Replicas::new(hub.replica());
        endpoint(|options| options.replicas = Some(replicas))
    });
    let begin = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    } });
    let service = resource().layer(replicas[0].clone());
    let response = service.oneshot(post("read", &[], begin.to_string().into())).await.expect("a response");
    let session = response.headers()["mcp-session-id"].to_str().expect("text").to_owned();
    let in_session = |body: Value| (vec![("mcp-session-id", session.clone())], body);
    for ((headers, body), needs_scope) in [
        (modern("get"), false),
        (modern("delete"), true),
        (in_session(call(1, "get")), false),
        (in_session(call(2, "delete")), true),
        (in_session(json!([call(3, "get"), call(4, "get")])), false),
        (in_session(json!([call(5, "get"), call(6, "delete")])), true),
    ] {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        for (index, replica) in replicas.iter().enumerate() {
            for token in ["read", "read.write"] {
                let request = post(token, &headers, body.to_string().into());
                let (status, challenge, text) = send(replica.clone(), request).await;
                if needs_scope && token == "read" {
                    assert_eq!(status, StatusCode::FORBIDDEN, "replica {index}, {body}: {text}");
                    assert!(challenge.contains("insufficient_scope") && challenge.contains("scope=\"write\""));
                } else {
                    let expected = if needs_scope { "deleted" } else { "got" };
                    assert!(status == StatusCode::OK && text.contains(expected), "replica {index}, {body}: {text}");
                }
            }
        }
    }
    // These requests have no messages.
    for (method, expected) in [("GET", StatusCode::OK), ("DELETE", StatusCode::NO_CONTENT)] {
        let mut request = post("read", &[("mcp-session-id", &session)], Body::empty());
        *request.method_mut() = method.parse().expect("a method");
        let response = resource().layer(replicas[1].clone()).oneshot(request).await.expect("a response");
        assert_eq!(response.status(), expected, "{method}");
    }
}

/// A service that does not check bodies can neither read them nor send a successful response.
#[tokio::test]
async fn services_that_check_no_bodies_get_none() {
    async fn read(body: CheckedBody) -> Response<Body> {
        match body.collect().await {
            Ok(read) => Response::new(read.to_bytes().into()),
            Err(error) => {
                let mut response = Response::new(error.to_string().into());
                *response.status_mut() = StatusCode::BAD_REQUEST;
                response
            }
        }
    }
    let request = |token: &str| post(token, &[], call(1, "delete").to_string().into());
    let reads = tower::service_fn(|request: Request<_>| async { Ok(read(request.into_body()).await) });
    let (status, _, text) = send(reads, request("write")).await;
    assert!(status == StatusCode::BAD_REQUEST && text.contains("`BodyCheck::take`"), "{status} {text}");

    let ignores = tower::service_fn(|_: Request<CheckedBody>| async { Ok(Response::new(Body::from("secret"))) });
    let takes = tower::service_fn(|request: Request<_>| async {
        let (mut parts, body) = request.into_parts();
        let _check = BodyCheck::take(&mut parts);
        Ok(read(body).await)
    });
    for (status, _, text) in [send(ignores, request("write")).await, send(takes, request("write")).await] {
        assert!(status == StatusCode::INTERNAL_SERVER_ERROR && text.contains("does not check"), "{status} {text}");
    }
}
