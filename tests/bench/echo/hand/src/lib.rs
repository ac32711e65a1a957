//! A server with one tool, written by hand without an MCP library as a loop over lines.

use std::borrow::Cow;
use std::io;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

/// Serves a connection until the client closes it. Handles one message at a time and writes each response at once.
pub async fn serve(reader: impl AsyncRead + Unpin, mut writer: impl AsyncWrite + Unpin) -> io::Result<()> {
    let mut reader = BufReader::new(reader);
    let (mut line, mut response) = (Vec::new(), Vec::new());
    while reader.read_until(b'\n', &mut line).await? > 0 {
        if !line.trim_ascii().is_empty() {
            response.clear();
            respond(&line, &mut response)?;
            writer.write_all(&response).await?;
            writer.flush().await?;
        }
        line.clear();
    }
    Ok(())
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(default, borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

#[derive(Deserialize)]
struct Echo {
    text: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams {
    protocol_version: String,
    #[serde(rename = "capabilities")]
    _capabilities: IgnoredAny,
    #[serde(rename = "clientInfo")]
    _client_info: IgnoredAny,
}

#[derive(Serialize)]
struct Response<'a, T> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: T,
}

#[derive(Serialize)]
struct CallResult {
    content: [Content; 1],
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Content {
    Text { text: String },
}

struct Failure {
    code: i32,
    message: String,
}

impl Failure {
    fn invalid_params(message: impl ToString) -> Self {
        Self { code: -32602, message: message.to_string() }
    }
}

/// Writes the response to a message. Writes nothing if the message is a notification.
fn respond(line: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let Ok(message) = serde_json::from_slice::<Message>(line) else {
        let message =
            if serde_json::from_slice::<IgnoredAny>(line).is_ok() { "invalid request" } else { "invalid JSON" };
        let code = if message == "invalid JSON" { -32700 } else { -32600 };
        return fail(None, Failure { code, message: message.to_owned() }, out);
    };
    let Some(id) = message.id else { return Ok(()) };
    if message.jsonrpc != "2.0" {
        return fail(Some(id), Failure { code: -32600, message: "`jsonrpc` must be \"2.0\"".to_owned() }, out);
    }
    let written = match &*message.method {
        "tools/call" => call(message.params).map(|result| succeed(id, result, out)),
        "tools/list" => Ok(succeed(id, tools(), out)),
        "ping" => Ok(succeed(id, json!({}), out)),
        "initialize" => initialize(message.params).map(|result| succeed(id, result, out)),
        method => Err(Failure { code: -32601, message: format!("method not found: {method}") }),
    };
    written.unwrap_or_else(|failure| fail(Some(id), failure, out))
}

fn call(params: Option<&RawValue>) -> Result<CallResult, Failure> {
    let CallParams { name, arguments } = read(params)?;
    match &*name {
        "echo" => {
            let Echo { text } = read(Some(arguments))?;
            Ok(CallResult { content: [Content::Text { text }] })
        }
        name => Err(Failure::invalid_params(format!("unknown tool: {name}"))),
    }
}

fn initialize(params: Option<&RawValue>) -> Result<Value, Failure> {
    let params: InitializeParams = read(params)?;
    let known = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
    let version = known.into_iter().find(|known| *known == params.protocol_version).unwrap_or("2025-11-25");
    let server = json!({ "name": "echo", "version": "1.0.0" });
    Ok(json!({ "protocolVersion": version, "capabilities": { "tools": {} }, "serverInfo": server }))
}

fn tools() -> Value {
    let text = json!({ "type": "string", "description": "The text to return." });
    let schema = json!({ "type": "object", "properties": { "text": text }, "required": ["text"] });
    json!({ "tools": [{ "name": "echo", "description": "Returns its text.", "inputSchema": schema }] })
}

fn read<'a, T: Deserialize<'a>>(params: Option<&'a RawValue>) -> Result<T, Failure> {
    let params = params.ok_or_else(|| Failure::invalid_params("missing params"))?;
    serde_json::from_str(params.get()).map_err(Failure::invalid_params)
}

fn succeed(id: &RawValue, result: impl Serialize, out: &mut Vec<u8>) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Response { jsonrpc: "2.0", id, result })?;
    out.push(b'\n');
    Ok(())
}

fn fail(id: Option<&RawValue>, failure: Failure, out: &mut Vec<u8>) -> io::Result<()> {
    let error = json!({ "code": failure.code, "message": failure.message });
    serde_json::to_writer(&mut *out, &json!({ "jsonrpc": "2.0", "id": id, "error": error }))?;
    out.push(b'\n');
    Ok(())
}
