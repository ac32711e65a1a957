//! The state of the server is set after the tool that takes it.

use mcpgen_sdk::prelude::*;

#[derive(Clone)]
struct Store;

impl Store {
    async fn count(self) -> u64 {
        0
    }
}

fn main() {
    let _ = Server::builder("notes", "1.0.0").tool("count", Store::count).state(Store);
}
