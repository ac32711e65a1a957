//! A server with one tool, written with typed handlers of `mcpgen_sdk::Router` and without `Server`.

use mcpgen_sdk::server::ServeError;
use mcpgen_sdk::transport::{Incoming, Outgoing, lines};
use mcpgen_sdk::{LocalInfo, Router};
use mcpgen_types::v2025_11_25::{
    CallToolRequest, CallToolResult, ListToolsRequest, ListToolsResult, TextContent, Tool, ToolInputSchema,
};
use mcpgen_types::{ErrorCode, ErrorObject, JsonObject, JsonRef};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves a connection over a transport until the client closes it.
pub async fn run(incoming: impl Incoming, outgoing: impl Outgoing) -> Result<(), ServeError> {
    let router = router();
    let info = LocalInfo::new("echo", "1.0.0").capability("tools", json!({}));
    mcpgen_sdk::serve((info, router), (incoming, outgoing)).await
}

/// Serves a connection until the client closes it.
pub async fn serve(
    reader: impl AsyncRead + Send + 'static,
    writer: impl AsyncWrite + Send + 'static,
) -> Result<(), ServeError> {
    run(lines::receive(reader, lines::DEFAULT_LINE_LIMIT), lines::send(writer)).await
}

fn router() -> Router {
    Router::new()
        .request::<CallToolRequest>(|_, params| async move {
            match params.name.as_str() {
                "echo" => echo(params.arguments.unwrap_or_default()),
                name => Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("unknown tool: {name:?}"))),
            }
        })
        .request::<ListToolsRequest>(|_, _| async {
            let text = JsonObject::from([("type", "string".into())]);
            let schema =
                ToolInputSchema::new().with_properties([("text".to_owned(), text)]).with_required(["text".to_owned()]);
            Ok::<_, ErrorObject>(ListToolsResult::new([Tool::new("echo", schema)]))
        })
}

fn echo(arguments: JsonObject) -> Result<CallToolResult, ErrorObject> {
    match arguments.get("text").and_then(JsonRef::as_str) {
        Some(text) => Ok(CallToolResult::new([TextContent::new(text).into()])),
        None => Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, "expected a string in the argument `text`")),
    }
}
