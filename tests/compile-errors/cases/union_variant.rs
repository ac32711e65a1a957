//! A variant of a union is created from text, instead of from its type.

use mcpgen_types::v2026_07_28::ContentBlock;

fn main() {
    let _ = ContentBlock::TextContent("hello");
}
