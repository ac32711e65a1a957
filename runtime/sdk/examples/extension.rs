//! A server and a client with a protocol extension, in one process.
//!
//! The extension is in `support/countdown.rs`. Run this with `cargo run -p mcpgen-sdk --example extension`.

#[path = "support/countdown.rs"]
mod countdown;

use std::sync::Arc;

use countdown::Countdown;
use mcpgen_sdk::protocol::PeerExt;
use mcpgen_sdk::{Client, Server, serve, transport};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder("rocket", "0.1.0").extension(Countdown::Server { max: 10 }).build();
    let (here, there) = transport::duplex();
    tokio::spawn(serve(server, there));

    let on_step = Arc::new(|left| println!("{left}"));
    let client = Client::builder("pilot", "0.1.0").extension(Countdown::Client { max: 5, on_step });
    let client = client.connect(here.0, here.1).await?;
    match client.peer().extension::<Countdown>()? {
        Some(settings) => println!("the server counts down from {} at most", settings.max),
        None => return Err("the server does not have the extension".into()),
    }
    let steps = Countdown::start(client.peer(), 100).await?;
    println!("{steps} steps");
    Ok(client.close().await?)
}
