//! The server over standard input and output.

use mcpgen_sdk::server::ServeError;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ServeError> {
    echo_mcpgen::server().serve_stdio().await
}
