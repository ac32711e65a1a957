//! The function of a tool is not async.

use mcpgen_sdk::prelude::*;

fn main() {
    let _ = Server::builder("calculator", "1.0.0").tool("add", || "3");
}
