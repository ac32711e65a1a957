//! The server over standard input and output.

use std::error::Error;

/// Uses the transport that the SDK recommends for pipes. The default transport uses a thread for each message.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let (reader, writer) = rmcp::transport::stdio_pipes();
    echo_rmcp::serve(reader, writer).await
}
