//! The server over standard input and output.

use std::io;

use mcpgen_runtime::transport::{lines, stdio};

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let (incoming, outgoing) = stdio::stdio(lines::LONGEST)?;
    echo_router::run(incoming, outgoing).await
}
