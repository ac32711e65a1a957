//! A replica of the echo server. Keeps its sessions in Redis if an argument gives the URL of a Redis server, and
//! otherwise in in-memory stores. Prints its port.

use std::error::Error;

use axum::serve::ListenerExt;
use mcpgen_cluster::MemoryHub;
use mcpgen_redis::OnRedis;
use mcpgen_sdk::Server;
use mcpgen_sdk::http::server::{EndpointOptions, ServeHttp};
use mcpgen_sdk::replicas::Replicas;
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
    let server = Server::builder("echo", "1.0.0").tool("echo", |Args(Echo { text })| async { text });
    let server = match std::env::args().nth(1) {
        Some(url) => server.on_redis(url.as_str()).await?,
        None => server.replicas(Replicas::new(MemoryHub::new(UNLIMITED, 1 << 30).replica())),
    };
    let app = axum::Router::new().route_service("/mcp", server.build().http(options)?);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("{}", listener.local_addr()?.port());
    let listener = listener.tap_io(|stream| {
        // Without TCP_NODELAY, the latency would be that of delayed acknowledgements.
        let _ = stream.set_nodelay(true);
    });
    Ok(axum::serve(listener, app).await?)
}
