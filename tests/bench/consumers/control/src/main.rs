//! Uses one type of the dependency.

fn main() {
    println!("{}", size_of::<serde_json::Value>());
}
