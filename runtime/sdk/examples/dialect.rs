//! A server, on standard input and output, for clients that speak an unofficial dialect of the protocol.

#[path = "support/dialect.rs"]
mod dialect;

use mcpgen_sdk::transport::{lines, stdio};
use mcpgen_sdk::types::{Tool, ToolInputSchema};
use mcpgen_sdk::{Server, serve};
use mcpgen_types::JsonObject;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let echo = Tool::new("echo", ToolInputSchema::new());
    let server = Server::builder("dialect", "0.1.0")
        .tool(echo, |arguments: JsonObject| async move { mcpgen_types::to_string(&arguments) })
        .build();
    let router = dialect::handlers(server.router());
    let (incoming, outgoing) = stdio::stdio(lines::DEFAULT_LINE_LIMIT)?;
    Ok(serve((server.config()?, router), (dialect::incoming(incoming), outgoing)).await?)
}
