//! A server with all features that the official conformance suite requires, in legacy and modern revisions.
//!
//! It uses only the public API of `mcpgen-sdk`. The suite determines the names, the texts and the values.

#![allow(deprecated, reason = "the server supports features that the newest revision deprecates")]

mod content;
mod events;
mod forms;
mod input;
mod prompts;
mod resources;
mod samples;
mod schemas;
mod skills;
mod tasks;
#[cfg(test)]
mod tests;

use std::net::Ipv4Addr;
use std::time::Duration;

use axum::serve::ListenerExt;
use clap::Parser;
use mcpgen_redis::{RedisOptions, RedisStores};
use mcpgen_sdk::http::server::{EndpointOptions, ServeHttp};
use mcpgen_sdk::replicas::Replicas;
use mcpgen_sdk::server::request_state::RequestStateCodec;
use mcpgen_sdk::tasks::InMemoryTaskStore;
use mcpgen_sdk::{Server, ServerBuilder};
use mcpgen_types::Revision;
use tokio::net::TcpListener;

/// Serves the tools, resources and prompts of the official conformance suite on http://127.0.0.1:PORT/mcp. Prints this
/// URL as the first line of output.
#[derive(Parser)]
struct Arguments {
    /// The port to listen on. 0 selects a free port.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The Redis server that all replicas share: for sessions, tasks, changes and the key of request state. Default: all
    /// of these are in memory.
    #[arg(long, value_name = "URL")]
    redis: Option<String>,
    /// The only supported revision. Default: all revisions.
    #[arg(long)]
    revision: Option<Revision>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if let Some(url) = &arguments.redis {
        return replica(url, arguments.port).await;
    }
    let mut server = server(&RequestStateCodec::of_this_process(STATE_LIFETIME)?);
    if let Some(revision) = arguments.revision {
        server = server.revisions([revision]);
    }
    let server = skills::skills(tasks::tools(server, InMemoryTaskStore::default()))?.build();
    events::add_changing_tools(&server)?;
    listen(&server, arguments.port, None).await
}

async fn replica(redis: &str, port: u16) -> anyhow::Result<()> {
    let stores = RedisStores::connect(RedisOptions::new(redis)).await?;
    let seal = stores.request_state_codec().await?;
    let server = tasks::tools(server(&seal), stores.clone());
    let server = skills::skills(server.change_bus(stores.clone()))?.build();
    events::add_changing_tools(&server)?;
    listen(&server, port, Some(Replicas::new(stores))).await
}

const STATE_LIFETIME: Duration = Duration::from_secs(15 * 60);

/// Creates the server, without skills and without the tools that run as tasks.
fn server(seal: &RequestStateCodec) -> ServerBuilder {
    let server = Server::builder("everything-server", env!("CARGO_PKG_VERSION"))
        .instructions("This server is a test fixture.")
        .request_state(seal.clone());
    let server = content::tools(server);
    let server = schemas::tools(server);
    let server = events::tools(server);
    let server = input::tools(server, seal);
    let server = resources::resources(server);
    prompts::prompts(server)
}

async fn listen(server: &Server, port: u16, replicas: Option<Replicas>) -> anyhow::Result<()> {
    let mut options = EndpointOptions::default();
    options.replicas = replicas;
    let endpoint = server.http(options)?;
    let app = axum::Router::new().route_service("/mcp", endpoint);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    Ok(axum::serve(listener, app).await?)
}
