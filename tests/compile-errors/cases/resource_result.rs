//! The function of a resource returns a number.

use mcpgen_sdk::prelude::*;
use mcpgen_types::v2026_07_28::Resource;

fn main() {
    let _ = Server::builder("files", "1.0.0").resource(Resource::new("test:///number", "number"), || async { 3 });
}
