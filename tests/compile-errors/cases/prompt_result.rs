//! The function of a prompt returns a number.

use mcpgen_sdk::prelude::*;
use mcpgen_types::v2026_07_28::Prompt;

fn main() {
    let _ = Server::builder("prompts", "1.0.0").prompt(Prompt::new("review"), || async { 3 });
}
