//! The server on standard input and output.

use std::error::Error;

/// On pipes the SDK advises this transport instead of the one that takes a thread for each message.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let (reader, writer) = rmcp::transport::stdio_pipes();
    echo_rmcp::serve(reader, writer).await
}
