//! Decodes and encodes a message of a client and one of a server, given as arguments.

use std::error::Error;

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let client: ClientJsonRpcMessage = serde_json::from_str(&arguments.next().ok_or("a client's message")?)?;
    let server: ServerJsonRpcMessage = serde_json::from_str(&arguments.next().ok_or("a server's message")?)?;
    println!("{}", serde_json::to_string(&client)?);
    println!("{}", serde_json::to_string(&server)?);
    Ok(())
}
