//! A completion takes an argument that only other handlers can take.

use mcpgen_sdk::prelude::*;

async fn complete(_: RequestContext) -> Vec<String> {
    Vec::new()
}

fn main() {
    let _ = Server::builder("notes", "1.0.0").completion(complete);
}
