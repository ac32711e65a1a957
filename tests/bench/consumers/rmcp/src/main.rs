//! Depends, and names one type.

fn main() {
    println!("{}", size_of::<rmcp::model::CallToolRequest>());
}
