//! A scripted HTTP server with sessions. A test can replace its response to each HTTP request.

#![allow(dead_code, reason = "not every test uses everything")]

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::Response;
use http::Method;
use serde_json::{Value, json};

/// An HTTP request that the server received.
pub(crate) struct Received {
    /// `POST` with the method of the message, `POST response`, `GET` or `DELETE`.
    pub(crate) kind: String,
    pub(crate) message: Value,
    pub(crate) session: String,
    pub(crate) last_event_id: Option<String>,
}

/// A running server and the log of its HTTP requests.
#[derive(Clone)]
pub(crate) struct Sessions {
    pub(crate) url: String,
    log: Arc<Mutex<Vec<String>>>,
    begun: Arc<AtomicUsize>,
}

impl Sessions {
    /// Starts a server. If `handler` returns `None`, the server sends its default response. By default, the server
    /// responds to GET with status 405.
    pub(crate) async fn start<F>(handler: impl Fn(Received) -> F + Clone + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<Response>> + Send + 'static,
    {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let server = Self { url, log: Arc::default(), begun: Arc::default() };
        let this = server.clone();
        let app = axum::Router::new().fallback(move |request: Request| {
            let (this, handler) = (this.clone(), handler.clone());
            async move {
                let received = this.receive(request).await;
                let (kind, id) = (received.kind.clone(), received.message["id"].clone());
                match handler(received).await {
                    Some(response) => response,
                    None => this.default_response(&kind, &id),
                }
            }
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        server
    }

    /// Returns the number of HTTP requests of this kind.
    pub(crate) fn count(&self, kind: &str) -> usize {
        self.log().iter().filter(|entry| *entry == kind).count()
    }

    /// Returns the kinds of all HTTP requests received so far.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().expect("no panic").clone()
    }

    async fn receive(&self, request: Request) -> Received {
        let (parts, body) = request.into_parts();
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (session, last_event_id) = (header("mcp-session-id").unwrap_or_default(), header("last-event-id"));
        let bytes = to_bytes(body, 64 << 20).await.expect("a body");
        let message: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let kind = match parts.method {
            Method::POST => format!("POST {}", message["method"].as_str().unwrap_or("response")),
            method => method.to_string(),
        };
        self.log.lock().expect("no panic").push(kind.clone());
        Received { kind, message, session, last_event_id }
    }

    fn default_response(&self, kind: &str, id: &Value) -> Response {
        let response = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
        match kind {
            "GET" => respond(405, "", ""),
            "DELETE" => respond(204, "", ""),
            "POST initialize" => {
                let result = json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": { "tools": {} },
                    "serverInfo": { "name": "server", "version": "1" },
                });
                let mut http_response = respond(200, "application/json", &response(result));
                let session = format!("session-{}", self.begun.fetch_add(1, Ordering::SeqCst));
                http_response.headers_mut().insert("mcp-session-id", session.parse().expect("a header"));
                http_response
            }
            "POST tools/call" => respond(200, "application/json", &response(json!({ "content": [] }))),
            _ => respond(202, "", ""),
        }
    }
}

/// Creates a response with a body.
pub(crate) fn respond(status: u16, content_type: &str, body: &str) -> Response {
    let response = Response::builder().status(status).header("content-type", content_type);
    response.body(Body::from(body.to_owned())).expect("a response")
}

/// Creates an event stream that ends immediately.
pub(crate) fn events(text: &str) -> Response {
    respond(200, "text/event-stream", text)
}
