//! HTTP requests to an endpoint in this process, and its responses.

#![allow(dead_code, reason = "each test file uses a part of it")]

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use mcpgen_sdk::http::server::{Body, Endpoint};
use mcpgen_sdk::transport::Principal;
use serde_json::{Value, json};
use tower::ServiceExt;

pub(crate) const ACCEPT_BOTH: &str = "application/json, text/event-stream";

/// Sends a request. `headers` replace or extend the default headers.
pub(crate) async fn send(
    endpoint: &Endpoint,
    method: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> http::Response<Body> {
    send_as(None, endpoint, method, headers, body).await
}

/// Sends a request of an authenticated user.
pub(crate) async fn send_as(
    user: Option<&str>,
    endpoint: &Endpoint,
    method: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> http::Response<Body> {
    let mut request = Request::builder().method(method).uri("/mcp");
    for (name, value) in [("host", "localhost"), ("accept", ACCEPT_BOTH), ("content-type", "application/json")] {
        if !headers.iter().any(|(known, _)| *known == name) {
            request = request.header(name, value);
        }
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Full::new(Bytes::from(body.to_owned()))).expect("a request");
    if let Some(user) = user {
        request.extensions_mut().insert(Principal::new(user));
    }
    endpoint.clone().oneshot(request).await.expect("no error")
}

/// Reads a response: its status, its headers, and its JSON message or its events.
pub(crate) async fn read(response: http::Response<Body>) -> (u16, HeaderMap, Vec<Event>) {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.expect("a body").to_bytes();
    let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let events = match parts.headers.get("content-type").map(|kind| kind.to_str().expect("text")) {
        Some("text/event-stream") => events(&text),
        Some("application/json") => vec![Event { data: text, ..Event::default() }],
        _ => Vec::new(),
    };
    (parts.status.as_u16(), parts.headers, events)
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) data: String,
    pub(crate) retry: String,
}

impl Event {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).expect("JSON")
    }
}

pub(crate) fn events(text: &str) -> Vec<Event> {
    let lines = |event: &str| {
        let mut read = Event::default();
        for line in event.lines() {
            match line.split_once(": ") {
                Some(("id", id)) => read.id = id.to_owned(),
                Some(("data", data)) => read.data = data.to_owned(),
                Some(("retry", retry)) => read.retry = retry.to_owned(),
                _ => {}
            }
        }
        read
    };
    text.split_terminator("\n\n").filter(|event| *event != ":").map(lines).collect()
}

pub(crate) const MODERN: &str = "2026-07-28";

/// Adds the metadata of a modern request to params.
pub(crate) fn modern(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": { "form": {} } });
    params
}

pub(crate) fn request(id: i64, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

pub(crate) fn call(id: i64, tool: &str, arguments: Value) -> String {
    request(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// Sends a modern tool call with the required headers.
pub(crate) async fn modern_call(endpoint: &Endpoint, tool: &str, arguments: Value) -> http::Response<Body> {
    let body = request(7, "tools/call", modern(json!({ "name": tool, "arguments": arguments })));
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", tool)];
    send(endpoint, "POST", &headers, &body).await
}

/// Begins a session in a revision. Returns its ID.
pub(crate) async fn session(endpoint: &Endpoint, revision: &str) -> String {
    session_of(None, endpoint, revision).await
}

/// Begins a session of an authenticated user. Returns its ID.
pub(crate) async fn session_of(user: Option<&str>, endpoint: &Endpoint, revision: &str) -> String {
    let params = json!({
        "protocolVersion": revision,
        "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "t", "version": "1" },
    });
    let (status, headers, events) =
        read(send_as(user, endpoint, "POST", &[], &request(0, "initialize", params)).await).await;
    assert_eq!((status, &events[0].json()["result"]["protocolVersion"]), (200, &json!(revision)));
    let id = headers["mcp-session-id"].to_str().expect("text").to_owned();
    assert!(id.len() >= 32 && id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
    let (status, ..) = read(send_as(user, endpoint, "POST", &[("mcp-session-id", &id)], &ready).await).await;
    assert_eq!(status, 202);
    id
}
