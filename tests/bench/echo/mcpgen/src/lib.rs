//! A server with one tool, written with `mcpgen_runtime::Server`.

use mcpgen_runtime::server::ServeError;
use mcpgen_runtime::transport::lines;
use mcpgen_runtime::{Limits, Server};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};

/// Returns its text.
#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// The text to return.
    text: String,
}

/// Creates the server.
pub fn server() -> Server {
    Server::new("echo", "1.0.0").tool("echo", |_, Echo { text }| async { text })
}

/// Serves a connection until the client closes it.
pub async fn serve(
    reader: impl AsyncRead + Send + 'static,
    writer: impl AsyncWrite + Send + 'static,
) -> Result<(), ServeError> {
    server().serve(lines::receive(reader, lines::LONGEST), lines::send(writer), Limits::default()).await
}
