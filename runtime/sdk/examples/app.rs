//! A server with an app: a page that hosts show next to the results of the tool `roll`. `app [ADDRESS]` serves it over
//! HTTP, at 127.0.0.1:3000 by default.

use std::hash::{BuildHasher, RandomState};

use axum::serve::ListenerExt;
use mcpgen_sdk::http::server::EndpointOptions;
use mcpgen_sdk::prelude::*;
use mcpgen_sdk::server::{App, Structured, ToolInfo};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

/// Rolls a die.
#[derive(Deserialize, JsonSchema)]
struct Roll {
    /// The number of sides.
    #[serde(default = "six")]
    sides: u32,
}

#[derive(Serialize, JsonSchema)]
struct Rolled {
    value: u64,
}

fn six() -> u32 {
    6
}

const PAGE: &str = "ui://dice/page.html";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let server = Server::builder("dice", "1.0.0")
        .app(App::new(PAGE, "dice", include_str!("support/dice.html")).prefers_border(true))
        .tool(ToolInfo::new("roll").title("Roll a die").app(PAGE), |Args(Roll { sides })| async move {
            // The random keys of hash maps are random enough for a game.
            let random = RandomState::new().hash_one(());
            let value = random.checked_rem(u64::from(sides)).ok_or(ToolError::failed("a die has at least one side"))?;
            Ok::<_, ToolError>(Structured(Rolled { value: value + 1 }))
        })
        .build();
    let app = axum::Router::new().route_service("/mcp", server.http(EndpointOptions::default())?);
    let listener = TcpListener::bind(address).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    axum::serve(listener.tap_io(|connection| drop(connection.set_nodelay(true))), app).await?;
    Ok(())
}
