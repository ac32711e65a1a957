//! An echo server over Streamable HTTP, with mcpgen-sdk. Prints its port.

use std::error::Error;

use axum::serve::ListenerExt;
use mcpgen_sdk::Server;
use mcpgen_sdk::http::server::{EndpointOptions, ServeHttp};
use mcpgen_sdk::server::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::TcpListener;

/// More sessions and streams than the benchmark opens. The defaults would evict or refuse some.
const UNLIMITED: usize = 1_000_000;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// The text to return.
    text: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let options =
        EndpointOptions::default().with_sessions(UNLIMITED).with_session_memory(usize::MAX).with_streams(UNLIMITED);
    let endpoint =
        Server::builder("echo", "1.0.0").tool("echo", |Args(Echo { text })| async { text }).build().http(options)?;
    let app = axum::Router::new().route_service("/mcp", endpoint);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("{}", listener.local_addr()?.port());
    let listener = listener.tap_io(|stream| {
        // Without TCP_NODELAY, the latency would be that of delayed acknowledgements.
        let _ = stream.set_nodelay(true);
    });
    Ok(axum::serve(listener, app).await?)
}
