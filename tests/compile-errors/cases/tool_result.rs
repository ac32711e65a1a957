//! The function of a tool returns its struct without `Structured`.

use mcpgen_sdk::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

fn main() {
    let _ = Server::builder("calculator", "1.0.0").tool("add", |Args(Add { a, b })| async move { Sum { sum: a + b } });
}
