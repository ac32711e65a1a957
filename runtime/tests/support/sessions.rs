//! A server with sessions whose answers a test can replace, one HTTP request at a time.

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
    /// `POST tools/call`, `POST response`, `GET`, or `DELETE`.
    pub(crate) what: String,
    pub(crate) message: Value,
    pub(crate) session: String,
    pub(crate) last_event_id: Option<String>,
}

/// A running server, and what it received so far.
#[derive(Clone)]
pub(crate) struct Sessions {
    pub(crate) url: String,
    log: Arc<Mutex<Vec<String>>>,
    begun: Arc<AtomicUsize>,
}

impl Sessions {
    /// Starts a server. Requests for which `answer` returns `None` get the answer of an ordinary server without a stream.
    pub(crate) async fn start<F>(answer: impl Fn(Received) -> F + Clone + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<Response>> + Send + 'static,
    {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let server = Self { url, log: Arc::default(), begun: Arc::default() };
        let this = server.clone();
        let app = axum::Router::new().fallback(move |request: Request| {
            let (this, answer) = (this.clone(), answer.clone());
            async move {
                let received = this.receive(request).await;
                let (what, id) = (received.what.clone(), received.message["id"].clone());
                match answer(received).await {
                    Some(response) => response,
                    None => this.ordinary(&what, &id),
                }
            }
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        server
    }

    /// How many of these HTTP requests arrived.
    pub(crate) fn count(&self, what: &str) -> usize {
        self.log().iter().filter(|entry| *entry == what).count()
    }

    /// All HTTP requests so far.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().expect("no panic").clone()
    }

    async fn receive(&self, request: Request) -> Received {
        let (parts, body) = request.into_parts();
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (session, last_event_id) = (header("mcp-session-id").unwrap_or_default(), header("last-event-id"));
        let bytes = to_bytes(body, 64 << 20).await.expect("a body");
        let message: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let what = match parts.method {
            Method::POST => format!("POST {}", message["method"].as_str().unwrap_or("response")),
            method => method.to_string(),
        };
        self.log.lock().expect("no panic").push(what.clone());
        Received { what, message, session, last_event_id }
    }

    fn ordinary(&self, what: &str, id: &Value) -> Response {
        let answer = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
        match what {
            "GET" => respond(405, "", ""),
            "DELETE" => respond(204, "", ""),
            "POST initialize" => {
                let result = json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": { "tools": {} },
                    "serverInfo": { "name": "server", "version": "1" },
                });
                let mut response = respond(200, "application/json", &answer(result));
                let session = format!("session-{}", self.begun.fetch_add(1, Ordering::SeqCst));
                response.headers_mut().insert("mcp-session-id", session.parse().expect("a header"));
                response
            }
            "POST tools/call" => respond(200, "application/json", &answer(json!({ "content": [] }))),
            _ => respond(202, "", ""),
        }
    }
}

/// A response with a body.
pub(crate) fn respond(status: u16, kind: &str, body: &str) -> Response {
    let response = Response::builder().status(status).header("content-type", kind);
    response.body(Body::from(body.to_owned())).expect("a response")
}

/// A stream of events that ends at once.
pub(crate) fn events(text: &str) -> Response {
    respond(200, "text/event-stream", text)
}
