//! A tool that returns a type without a conversion.

use mcpgen_runtime::Server;

struct Weather;

fn main() {
    Server::builder("weather", "1").tool_with_schema("today", |_, _| async { Weather });
}
