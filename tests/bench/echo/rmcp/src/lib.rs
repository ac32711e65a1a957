//! A server with one tool, written with the macros of the official SDK.

use std::error::Error;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::{ServerHandler, ServiceExt, schemars, tool, tool_handler, tool_router};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};

#[derive(Deserialize, schemars::JsonSchema)]
struct EchoParams {
    /// The text to return.
    text: String,
}

/// Keeps its router. By default, the macros build a new one for every call, which would make rmcp look slower.
#[derive(Clone)]
struct Echo {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Echo {
    #[tool(description = "Returns its text.")]
    async fn echo(&self, Parameters(EchoParams { text }): Parameters<EchoParams>) -> String {
        text
    }
}

#[tool_handler(router = self.tool_router, name = "echo", version = "1.0.0")]
impl ServerHandler for Echo {}

/// Serves a connection until the client closes it.
pub async fn serve(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let server = Echo { tool_router: Echo::tool_router() };
    server.serve((reader, writer)).await?.waiting().await?;
    Ok(())
}
