//! A server of one tool, with the official SDK's macros.

use std::error::Error;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::{ServerHandler, ServiceExt, schemars, tool, tool_handler, tool_router};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};

#[derive(Deserialize, schemars::JsonSchema)]
struct Said {
    /// What to say.
    text: String,
}

/// The router is kept: the macros' default makes it anew for every call, which would be an easy win over them.
#[derive(Clone)]
struct Echo {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Echo {
    #[tool(description = "Says what it is told to say.")]
    async fn echo(&self, Parameters(Said { text }): Parameters<Said>) -> String {
        text
    }
}

#[tool_handler(router = self.tool_router, name = "echo", version = "1.0.0")]
impl ServerHandler for Echo {}

/// Serves a connection of any kind until its client is gone.
pub async fn serve(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let server = Echo { tool_router: Echo::tool_router() };
    server.serve((reader, writer)).await?.waiting().await?;
    Ok(())
}
