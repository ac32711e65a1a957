//! A tool's function uses the `?` operator without a named error type.

use mcpgen_sdk::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Parse {
    number: String,
}

fn main() {
    let _ = Server::builder("numbers", "1.0.0").tool("parse", |Args(Parse { number })| async move {
        let parsed: i64 = number.parse()?;
        Ok(parsed)
    });
}
