//! A resource that returns a number.

use mcpgen_runtime::Server;
use mcpgen_types::v2026_07_28::Resource;

fn main() {
    Server::builder("weather", "1").resource(Resource::new("today", "weather:///today"), |_| async { 5 });
}
