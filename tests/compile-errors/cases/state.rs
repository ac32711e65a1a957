//! The function of a tool takes a state that the server does not have.

use mcpgen_sdk::prelude::*;

#[derive(Clone)]
struct Store;

#[derive(Clone)]
struct Wrong;

async fn count(State(_): State<Wrong>) -> u64 {
    0
}

fn main() {
    let _ = Server::builder("notes", "1.0.0").state(Store).tool("count", count);
}
