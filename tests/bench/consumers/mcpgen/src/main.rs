//! Uses one type of the dependency.

#[cfg(not(feature = "2026-07-28"))]
use mcpgen_types::v2025_11_25::CallToolRequest;
#[cfg(feature = "2026-07-28")]
use mcpgen_types::v2026_07_28::CallToolRequest;

fn main() {
    println!("{}", size_of::<CallToolRequest>());
}
