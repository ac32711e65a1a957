//! A server for the tests: `probe_server` serves standard input and output, `probe_server --http` prints a URL and
//! serves it. `--broken` makes it return a result that does not match the schema, `--hostile` makes it send texts
//! that control a terminal, and `--faulty FAULT` gives it one fault. It records what it receives in the file that the
//! environment variable `PROBE_SERVER_RECORD` names.

use std::collections::BTreeMap;
use std::io::Write as _;

use mcpgen_sdk::http::server::EndpointOptions;
use mcpgen_sdk::prelude::*;
use mcpgen_types::JsonRef;
use mcpgen_types::v2026_07_28::{ElicitRequestFormParams, Prompt, PromptArgument, Resource, Tool};
use serde_json::json;

fn server() -> Result<Server, Box<dyn std::error::Error>> {
    let add = json!({
        "name": "add",
        "description": "Returns the sum of two numbers.\nThe second line.",
        "inputSchema": {
            "type": "object",
            "properties": { "b": { "type": "number" }, "a": { "type": "number" } },
            "required": ["a", "b"],
        },
    });
    let add: Tool = mcpgen_types::from_value(add)?;
    let steps: Tool = mcpgen_types::from_value(json!({
        "name": "steps",
        "description": "Reports its progress in three steps, and then returns a text that says that it is finished.",
        "inputSchema": { "type": "object" },
    }))?;
    let fail: Tool = mcpgen_types::from_value(json!({ "name": "fail", "inputSchema": { "type": "object" } }))?;
    let sleep: Tool = mcpgen_types::from_value(json!({ "name": "sleep", "inputSchema": { "type": "object" } }))?;
    let erase: Tool = mcpgen_types::from_value(json!({ "name": "erase", "inputSchema": { "type": "object" } }))?;
    let explain = Prompt::new("explain").with_arguments([PromptArgument::new("topic").with_required(true)]);
    Ok(Server::builder("probe-server", "1.2.3")
        .page_size(2)
        .tool(steps, |context: RequestContext| async move {
            for step in 1..=3 {
                context.progress(f64::from(step), Some(3.0), Some(&format!("step {step}"))).await;
            }
            "finished".to_owned()
        })
        .tool(add, |arguments: JsonObject| async move {
            let number = |name: &str| arguments.get(name).and_then(JsonRef::as_f64).unwrap_or(f64::NAN);
            format!("{}", number("a") + number("b"))
        })
        .tool(fail, || async { Err::<String, _>(ToolError::failed("it is broken \u{1b}[31m")) })
        .tool(sleep, || async {
            let _recorded = RecordOnDrop("the call has ended");
            tokio::time::sleep(std::time::Duration::from_secs(600)).await;
            "late".to_owned()
        })
        .tool(erase, |context: RequestContext| async move {
            let schema = json!({
                "type": "object",
                "properties": { "delete": { "type": "boolean" }, "reason": { "type": "string" } },
                "required": ["delete"],
            });
            let form = json!({ "message": "Delete the note?", "requestedSchema": schema });
            let form = mcpgen_types::from_value::<ElicitRequestFormParams>(form);
            let form = form.map_err(|error| ToolError::failed(error.to_string()))?;
            let answer = context.elicit("delete", form).await?;
            Ok::<_, ToolError>(mcpgen_types::to_string(&answer))
        })
        .resource(Resource::new("test:///text", "text").with_mime_type("text/plain"), || async { "some text" })
        .resource(Resource::new("test:///bytes", "bytes"), || async { vec![0_u8, 159, 146, 150] })
        .prompt(
            explain,
            |arguments: BTreeMap<String, String>| async move { format!("Explain {}.", arguments["topic"]) },
        )
        .build())
}

/// Appends a line to the file that the environment names, so that tests can see what arrived.
fn record(line: &str) {
    let Some(path) = std::env::var_os("PROBE_SERVER_RECORD") else { return };
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    let _ = file.and_then(|mut file| writeln!(file, "{line}"));
}

struct RecordOnDrop(&'static str);

impl Drop for RecordOnDrop {
    fn drop(&mut self) {
        record(self.0);
    }
}

async fn record_body(request: axum::extract::Request, next: axum::middleware::Next) -> axum::response::Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap_or_default();
    record(&String::from_utf8_lossy(&body));
    next.run(axum::extract::Request::from_parts(head, body.into())).await
}

/// Not really a server: it answers all requests but `initialize` with the same result, which fits no revision's lists.
fn broken() -> std::io::Result<()> {
    for line in std::io::stdin().lines() {
        let message: serde_json::Value = serde_json::from_str(&line?)?;
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-06-18",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "broken", "version": "0" },
            }),
            _ => json!({ "tools": [{ "name": "nameless schema" }] }),
        };
        if let Some(id) = message.get("id") {
            println!("{}", json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        }
    }
    Ok(())
}

/// Overwrites the clipboard, clears the screen, changes the direction of text, and runs workflow commands.
const HOSTILE: &str = "\u{1b}]52;c;eA==\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{200b}\r\nFAKE\n::error::x\n ::y ##[z]";

/// Every text from this server is hostile.
fn hostile() -> std::io::Result<()> {
    for line in std::io::stdin().lines() {
        let message: serde_json::Value = serde_json::from_str(&line?)?;
        let text = json!({ "type": "text", "text": HOSTILE });
        let schema = json!({ "type": "object", "properties": { HOSTILE: { "enum": [HOSTILE] } } });
        let result = match (message["method"].as_str().unwrap_or_default(), message["params"]["name"].as_str()) {
            ("initialize", _) => Ok(json!({
                "protocolVersion": "2025-06-18",
                "capabilities": { "tools": {}, "resources": {}, "prompts": {}, "logging": {} },
                "serverInfo": { "name": HOSTILE, "version": HOSTILE, "title": HOSTILE },
                "instructions": HOSTILE,
            })),
            ("tools/list", _) => Ok(json!({
                "tools": [{ "name": HOSTILE, "title": HOSTILE, "description": HOSTILE, "inputSchema": schema }],
            })),
            ("resources/list", _) => Ok(json!({
                "resources": [{ "name": HOSTILE, "uri": format!("test:{HOSTILE}"), "description": HOSTILE, "mimeType": HOSTILE }],
            })),
            ("resources/templates/list", _) => Ok(json!({
                "resourceTemplates": [{ "name": HOSTILE, "uriTemplate": format!("test:{HOSTILE}") }],
            })),
            ("prompts/list", _) => Ok(json!({
                "prompts": [{ "name": HOSTILE, "description": HOSTILE, "arguments": [{ "name": HOSTILE }] }],
            })),
            ("resources/read", _) => Ok(
                json!({ "contents": [{ "uri": HOSTILE, "mimeType": HOSTILE, "text": HOSTILE }, { "uri": HOSTILE, "blob": "" }] }),
            ),
            ("prompts/get", Some("ok")) => {
                Ok(json!({ "description": HOSTILE, "messages": [{ "role": "user", "content": text }] }))
            }
            ("tools/call", Some("ok")) => Ok(json!({ "content": [
                text, { "type": "image", "data": "", "mimeType": HOSTILE }, { "type": "resource_link", "uri": HOSTILE, "name": HOSTILE },
            ] })),
            ("tools/call", Some("structured")) => {
                Ok(json!({ "content": [], "structuredContent": { HOSTILE: HOSTILE } }))
            }
            ("tools/call", Some("failed")) => Ok(json!({ "content": [text], "isError": true })),
            ("tools/call", Some("malformed")) => Ok(json!({ "content": [{ "type": HOSTILE }], HOSTILE: HOSTILE })),
            ("ping", _) => Ok(json!({})),
            _ => Err(json!({ "code": -32601, "message": HOSTILE, "data": { HOSTILE: HOSTILE } })),
        };
        if let Some(id) = message.get("id") {
            let (member, value) = match result {
                Ok(result) => ("result", result),
                Err(error) => ("error", error),
            };
            println!("{}", json!({ "jsonrpc": "2.0", "id": id, member: value }));
        }
    }
    Ok(())
}

/// A server of 2025-06-18, or of 2026-07-28 for `no-hints`, with one fault.
fn faulty(fault: &str) -> std::io::Result<()> {
    if fault == "chatty" {
        println!("[info] \u{1b}listening");
    }
    let properties =
        json!({ "title": { "type": "string" }, "count": { "type": "integer" }, "deep": { "type": "object" } });
    let mut echo = json!({ "name": "echo", "inputSchema": { "type": "object", "properties": properties } });
    if fault == "random" {
        echo["description"] = json!(format!("Process {}.", std::process::id()));
    }
    for line in std::io::stdin().lines() {
        let line = line?;
        record(&line);
        let message: serde_json::Value = serde_json::from_str(&line)?;
        let Some(id) = message.get("id") else { continue };
        let method = message["method"].as_str().unwrap_or_default();
        let result = match (method, fault) {
            ("server/discover", "no-hints") => Ok(json!({
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": { "tools": {} },
            })),
            ("tools/list", "no-hints") => Ok(json!({ "resultType": "complete", "tools": [echo] })),
            ("prompts/list", "no-hints") => Ok(json!({ "resultType": "complete", "prompts": [] })),
            (_, "no-hints") => Err((-32601, method)),
            ("initialize", "silent-start") | ("resources/list", "resources-hang") | ("tools/call", "call-hangs") => {
                eprintln!("the database is locked");
                continue;
            }
            ("initialize", _) => Ok(json!({
                "protocolVersion": "2025-06-18",
                "capabilities": { "tools": {}, "resources": {} },
                "serverInfo": { "name": fault, "version": "0" },
            })),
            ("tools/list", "invalid-items") => Ok(json!({ "tools": [
                { "name": "null\u{1b}", "description": null, "title": 1, "inputSchema": { "type": "object" } },
                { "name": "no schema" },
                { "description": "no name", "inputSchema": { "type": "object" } },
                7,
                echo,
            ] })),
            ("tools/list", "invalid-headers") => {
                let tool = |name: &str, argument: serde_json::Value| {
                    let schema = json!({ "type": "object", "properties": { "a": argument } });
                    json!({ "name": name, "description": "Does it.", "inputSchema": schema })
                };
                Ok(json!({ "tools": [
                    tool("valid", json!({ "type": "string", "x-mcp-header": "A" })),
                    tool("number", json!({ "type": "number", "x-mcp-header": "A" })),
                    tool("empty", json!({ "type": "string", "x-mcp-header": "" })),
                    tool("token", json!({ "type": "string", "x-mcp-header": "a b" })),
                    tool("no text", json!({ "type": "string", "x-mcp-header": null })),
                    tool("nested", json!({ "anyOf": [{ "type": "string", "x-mcp-header": "A" }] })),
                ] }))
            }
            ("tools/list" | "resources/list" | "resources/templates/list", "all-fail") => {
                Err((-32603, "the disk is full"))
            }
            ("tools/list", "tools-fail") => Err((-32603, "the disk is full")),
            ("resources/list", "resources-fail") => Err((-32603, "the disk is full")),
            ("tools/list", _) => Ok(json!({ "tools": [echo] })),
            ("resources/list", _) => Ok(json!({ "resources": [] })),
            ("resources/templates/list", _) => Ok(json!({ "resourceTemplates": [] })),
            ("tools/call", "digits") => {
                println!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"structuredContent":{{"n":12345678901234567890123}}}}}}"#
                );
                continue;
            }
            ("tools/call", _) => {
                let text = message["params"]["arguments"].to_string();
                Ok(json!({ "content": [{ "type": "text", "text": text }] }))
            }
            ("ping", _) => Ok(json!({})),
            _ => Err((-32601, method)),
        };
        let (member, value) = match result {
            Ok(result) => ("result", result),
            Err((code, message)) => ("error", json!({ "code": code, "message": message })),
        };
        println!("{}", json!({ "jsonrpc": "2.0", "id": id, member: value }));
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).as_deref() {
        None => Ok(server()?.serve_stdio().await?),
        Some("--broken") => Ok(broken()?),
        Some("--hostile") => Ok(hostile()?),
        Some("--faulty") => Ok(faulty(&std::env::args().nth(2).unwrap_or_default())?),
        Some(_) => {
            let endpoint = server()?.http(EndpointOptions::default())?;
            let app = axum::Router::new().route_service("/mcp", endpoint);
            let app = app.layer(axum::middleware::from_fn(record_body));
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
            println!("http://{}/mcp", listener.local_addr()?);
            Ok(axum::serve(listener, app).await?)
        }
    }
}
