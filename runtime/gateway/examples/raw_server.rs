//! A legacy server for the tests that writes its messages itself, so that they can be wrong: `raw_server [fail-tools]`.
//!
//! It claims names and URIs that belong to a server `b`, lists invalid tools, and answers each call with the request.

use std::io::{BufRead as _, Write as _, stdin, stdout};

use serde_json::{Value, json};

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

fn result(method: &str, params: &Value, line: &str) -> Option<Value> {
    let fails = |list: &str| std::env::args().any(|argument| argument == format!("fail-{list}"));
    Some(match method {
        "initialize" => {
            json!({ "protocolVersion": "2025-11-25", "serverInfo": { "name": "\u{1b}[31mraw", "version": "1" },
            "capabilities": { "tools": {}, "resources": { "subscribe": true } } })
        }
        "tools/list" if fails("tools") => return None,
        "tools/list" => {
            json!({ "tools": [tool("params"), { "name": 5 }, { "name": "no schema" }, tool("b__greet"), tool("ask")] })
        }
        "resources/list" => json!({ "resources": [{ "uri": "b+file:///shared", "name": "taken" },
            { "uri": "file:///public/a", "name": "a" }, { "uri": "a:///folder", "name": "folder" }] }),
        "resources/templates/list" => {
            json!({ "resourceTemplates": [{ "uriTemplate": "file:///{+path}", "name": "files" }] })
        }
        "tools/call" => json!({ "content": [{ "type": "text", "text": line }] }),
        "resources/read" => json!({ "contents": [{ "uri": params["uri"], "text": "from raw" }] }),
        _ => json!({}),
    })
}

fn main() -> std::io::Result<()> {
    let mut output = stdout().lock();
    let mut send = |message: Value| writeln!(output, "{message}").and_then(|()| output.flush());
    for line in stdin().lock().lines() {
        let line = line?;
        let request: Value = serde_json::from_str(&line)?;
        let (Some(id), Some(method)) = (request.get("id"), request["method"].as_str()) else { continue };
        let params = &request["params"];
        match result(method, params, &line) {
            Some(result) => send(json!({ "jsonrpc": "2.0", "id": id, "result": result }))?,
            None => send(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": "no list" } }))?,
        }
        if method == "tools/call" && params["name"] == "params" {
            // Part of a resource that clients may have subscribed to.
            let params = json!({ "uri": "a:///folder/part" });
            send(json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params }))?;
        }
    }
    Ok(())
}
