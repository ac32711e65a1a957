//! Depends, and names one type.

fn main() {
    println!("{}", size_of::<rust_mcp_schema::CallToolRequest>());
}
