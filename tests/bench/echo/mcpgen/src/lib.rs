//! A server with one tool, written with `mcpgen_sdk::Server`.

use mcpgen_sdk::Server;
use mcpgen_sdk::server::{Args, ServeError};
use mcpgen_sdk::transport::lines;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};

/// Returns its text.
#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// The text to return.
    text: String,
}

pub fn server() -> Server {
    Server::builder("echo", "1.0.0").tool("echo", |Args(Echo { text })| async { text }).build()
}

/// Serves a connection until the client closes it.
pub async fn serve(
    reader: impl AsyncRead + Send + 'static,
    writer: impl AsyncWrite + Send + 'static,
) -> Result<(), ServeError> {
    mcpgen_sdk::serve(server(), (lines::receive(reader, lines::DEFAULT_LINE_LIMIT), lines::send(writer))).await
}
