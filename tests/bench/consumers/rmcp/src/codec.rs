//! Takes a client's and a server's message as arguments, and decodes and encodes them.

use std::error::Error;

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let client: ClientJsonRpcMessage =
        serde_json::from_str(&arguments.next().ok_or("missing argument: a client's message")?)?;
    let server: ServerJsonRpcMessage =
        serde_json::from_str(&arguments.next().ok_or("missing argument: a server's message")?)?;
    println!("{}", serde_json::to_string(&client)?);
    println!("{}", serde_json::to_string(&server)?);
    Ok(())
}
