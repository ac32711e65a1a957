//! The requests to both servers.

use echo_driver::Dialect;
use serde_json::{Value, json};

pub(super) const REVISION: &str = "2025-11-25";

/// The first id. Ids have eight digits, so that all requests and all responses have the same length.
pub(super) const FIRST_ID: u32 = 10_000_000;

const ACCEPT: &str = "Accept: application/json, text/event-stream\r\n";

/// Returns the text that the tool echoes: 73 bytes, as in the benchmark `dispatch`.
pub(super) fn text(id: u32) -> String {
    format!("this text has seventy-three bytes; the last of them are its id:: {id}")
}

/// Returns a `tools/call` request, in this session if there is one.
pub(super) fn call(dialect: Dialect, session: Option<&str>, id: u32) -> Vec<u8> {
    let params = json!({ "name": "echo", "arguments": { "text": text(id) } });
    match dialect {
        Dialect::Modern => modern("tools/call", "Mcp-Name: echo\r\n", id.into(), params),
        Dialect::Handshake => post(
            &session_headers(session),
            &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }),
        ),
    }
}

pub(super) fn initialize() -> Vec<u8> {
    let client = json!({ "name": "bench", "version": "1.0.0" });
    let params = json!({ "protocolVersion": REVISION, "capabilities": {}, "clientInfo": client });
    post("", &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }))
}

pub(super) fn initialized(session: &str) -> Vec<u8> {
    post(&session_headers(Some(session)), &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
}

/// Returns the GET request that opens a session's stream.
pub(super) fn get_stream(session: &str) -> Vec<u8> {
    let headers = session_headers(Some(session));
    format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{headers}\r\n").into_bytes()
}

/// Returns a `subscriptions/listen` request for changes to the tool list.
pub(super) fn listen(id: u64) -> Vec<u8> {
    modern("subscriptions/listen", "", id, json!({ "notifications": { "toolsListChanged": true } }))
}

fn modern(method: &str, headers: &str, id: u64, mut params: Value) -> Vec<u8> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let headers = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{headers}");
    post(&headers, &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

fn session_headers(session: Option<&str>) -> String {
    let session = session.map(|session| format!("Mcp-Session-Id: {session}\r\n")).unwrap_or_default();
    format!("MCP-Protocol-Version: {REVISION}\r\n{session}")
}

fn post(headers: &str, message: &Value) -> Vec<u8> {
    let body = message.to_string();
    let length = body.len();
    let fixed = format!("Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{ACCEPT}");
    format!("POST /mcp HTTP/1.1\r\n{fixed}{headers}\r\n{body}").into_bytes()
}
