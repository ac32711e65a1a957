//! A server of one tool, as people write them with mcpgen-runtime.

use mcpgen_runtime::Server;
use mcpgen_runtime::server::ServeError;
use mcpgen_runtime::transport::lines;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};

/// Says what it is told to say.
#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// What to say.
    text: String,
}

/// The server.
pub fn server() -> Server {
    Server::builder("echo", "1.0.0").tool("echo", |_, Echo { text }| async { text }).build()
}

/// Serves a connection of any kind until its client is gone.
pub async fn serve(
    reader: impl AsyncRead + Send + 'static,
    writer: impl AsyncWrite + Send + 'static,
) -> Result<(), ServeError> {
    mcpgen_runtime::serve(server(), (lines::receive(reader, lines::LONGEST), lines::send(writer))).await
}
