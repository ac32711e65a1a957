//! A prompt that returns nothing.

use mcpgen_runtime::Server;
use mcpgen_types::v2026_07_28::Prompt;

fn main() {
    Server::builder("weather", "1").prompt(Prompt::new("today"), |_, _| async {});
}
