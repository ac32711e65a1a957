//! HTTP requests to endpoints in this process.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use mcpgen_sdk::http::server::{Body, Endpoint};
use serde_json::{Value, json};
use tower::ServiceExt;

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

pub(crate) async fn send(
    endpoint: &Endpoint,
    method: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> http::Response<Body> {
    let mut request = http::Request::builder().method(method).uri("/mcp").header("host", "localhost");
    request =
        request.header("accept", "application/json, text/event-stream").header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(body.to_owned()))).expect("a request");
    endpoint.clone().oneshot(request).await.expect("no error")
}

/// Reads a response: its status, and its last JSON message.
pub(crate) async fn read(response: http::Response<Body>) -> (u16, Value) {
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    let text = std::str::from_utf8(&bytes).expect("text");
    let mut data =
        text.lines().filter_map(|line| line.strip_prefix("data: ").or(line.starts_with('{').then_some(line)));
    let last = data.rfind(|data| !data.is_empty());
    (status, last.map_or(Value::Null, |data| serde_json::from_str(data).expect("JSON")))
}

/// Reads a stream until a message has this method. Returns the message.
pub(crate) async fn read_until(response: &mut http::Response<Body>, method: &str) -> Value {
    let read = async {
        let mut text = String::new();
        while let Some(frame) = response.body_mut().frame().await {
            let data = frame.expect("a frame").into_data().expect("data");
            text.push_str(std::str::from_utf8(&data).expect("text"));
            let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
            let mut messages = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
            if let Some(found) = messages.find(|message| message["method"] == method) {
                return found;
            }
        }
        panic!("the stream has ended: {text:?}");
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), read).await.expect("the message in time")
}

/// Begins a session. Returns its ID.
pub(crate) async fn session(endpoint: &Endpoint) -> String {
    let info = json!({ "name": "t", "version": "1" });
    let params = json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info });
    let response = send(endpoint, "POST", &[], &request("initialize", params)).await;
    let id = response.headers()["mcp-session-id"].to_str().expect("text").to_owned();
    let (status, _) = read(response).await;
    assert_eq!(status, 200);
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
    assert_eq!(send(endpoint, "POST", &[("mcp-session-id", &id)], &ready).await.status(), 202);
    id
}

pub(crate) fn request(method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

/// Calls a method in a session.
pub(crate) async fn call(endpoint: &Endpoint, session: &str, method: &str, params: Value) -> (u16, Value) {
    read(send(endpoint, "POST", &[("mcp-session-id", session)], &request(method, params)).await).await
}

/// Calls a tool in revision 2026-07-28. `params` are added to those of the call.
pub(crate) async fn modern_call(endpoint: &Endpoint, tool: &str, mut params: Value) -> (u16, Value) {
    params["name"] = json!(tool);
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    });
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", tool)];
    read(send(endpoint, "POST", &headers, &request("tools/call", params)).await).await
}
