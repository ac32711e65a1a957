//! The function of a tool fails with a type that is not an error.

use mcpgen_sdk::prelude::*;

struct NotAnError;

fn main() {
    let _ = Server::builder("calculator", "1.0.0").tool("add", || async { Err::<String, _>(NotAnError) });
}
