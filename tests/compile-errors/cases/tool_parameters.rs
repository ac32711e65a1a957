//! The function of a tool takes its arguments without `Args`.

use mcpgen_sdk::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
}

fn main() {
    let _ = Server::builder("calculator", "1.0.0").tool("add", |Add { a }| async move { a });
}
