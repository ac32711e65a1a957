//! The server over standard input and output.

use mcpgen_sdk::server::ServeError;
use mcpgen_sdk::transport::{lines, stdio};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ServeError> {
    let (incoming, outgoing) = stdio::stdio(lines::DEFAULT_LINE_LIMIT)?;
    echo_router::run(incoming, outgoing).await
}
