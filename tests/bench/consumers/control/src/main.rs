//! Depends, and names one type.

fn main() {
    println!("{}", size_of::<serde_json::Value>());
}
