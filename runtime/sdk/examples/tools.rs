//! A server with two tools, on standard input and output or, with `--http 127.0.0.1:3000`, over HTTP.

#[path = "support/run.rs"]
mod run;

use mcpgen_sdk::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

/// Returns its message.
#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// The message to return.
    message: String,
}

/// Adds two integers.
#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder("tools", "0.1.0")
        .tool("echo", |Args(Echo { message })| async { message })
        .tool("add", |Args(Add { a, b })| async move { a.checked_add(b).ok_or("the sum is too large") })
        .build();
    run::run(server).await
}
