//! Uses one type of the dependency.

fn main() {
    println!("{}", size_of::<rust_mcp_schema::CallToolRequest>());
}
