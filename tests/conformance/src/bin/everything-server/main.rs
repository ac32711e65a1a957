//! A server of everything that the official conformance suite asks a server for, in both eras.
//!
//! It is written as any server would be, with what `mcpgen-runtime` offers to everybody; only the names, the texts and the
//! values are the suite's.

#![allow(deprecated, reason = "what the newest revision deprecates is still served")]

mod content;
mod events;
mod forms;
mod prompts;
mod questions;
mod resources;
mod samples;
mod schemas;
mod siblings;
#[cfg(test)]
mod tests;

use std::net::Ipv4Addr;
use std::time::Duration;

use axum::serve::ListenerExt;
use clap::Parser;
use mcpgen_runtime::http::server::Options;
use mcpgen_runtime::server::request_state::RequestStateCodec;
use mcpgen_runtime::{Server, ServerBuilder};
use tokio::net::TcpListener;

/// Serves the tools, resources and prompts of the official conformance suite on http://127.0.0.1:PORT/mcp, and prints that
/// URL as the first line of its output.
#[derive(Parser)]
struct Arguments {
    /// The port; 0 is any that is free.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The key that all replicas of this server share for the state of requests that take several rounds: at least 32 random
    /// bytes, as hexadecimal digits. Without it, it has one of its own.
    #[arg(long, value_name = "HEX", value_parser = Key::from_hex)]
    seal_key: Option<Key>,
    /// The port of another replica on this machine, which is told of changes; several if repeated.
    #[arg(long, value_name = "PORT")]
    sibling: Vec<u16>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let seal = match &arguments.seal_key {
        Some(Key(key)) => RequestStateCodec::new(key, STATE_LIFETIME),
        None => RequestStateCodec::of_this_process(STATE_LIFETIME),
    };
    let server = siblings::among(server(&seal?), arguments.port, arguments.sibling).await?;
    events::add_changing_tools(&server)?;
    listen(&server, arguments.port).await
}

/// For how long a client may take to answer a question.
const STATE_LIFETIME: Duration = Duration::from_secs(15 * 60);

/// The server of everything.
fn server(seal: &RequestStateCodec) -> ServerBuilder {
    let server = Server::builder("everything-server", env!("CARGO_PKG_VERSION"))
        .instructions("It is there to be tested.")
        .request_state(seal.clone());
    let server = content::tools(server);
    let server = schemas::tools(server);
    let server = events::tools(server);
    let server = questions::tools(server, seal);
    let server = resources::resources(server);
    prompts::prompts(server)
}

/// Serves for as long as the process lives.
async fn listen(server: &Server, port: u16) -> anyhow::Result<()> {
    let endpoint = server.http(Options::default())?;
    let app = axum::Router::new().route_service("/mcp", endpoint);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    Ok(axum::serve(listener, app).await?)
}

/// The bytes of a key.
#[derive(Clone)]
struct Key(Vec<u8>);

impl Key {
    fn from_hex(digits: &str) -> Result<Self, String> {
        if !digits.len().is_multiple_of(2) || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err("not pairs of hexadecimal digits".to_owned());
        }
        let bytes = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16));
        bytes.collect::<Result<_, _>>().map(Self).map_err(|error| error.to_string())
    }
}
