//! The arguments of a tool have no schema.

use mcpgen_sdk::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Add {
    a: i64,
}

fn main() {
    let _ = Server::builder("calculator", "1.0.0").tool("add", |Args(Add { a })| async move { a });
}
