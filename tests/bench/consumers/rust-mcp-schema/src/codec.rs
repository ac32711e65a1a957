//! Decodes and encodes a message of a client and one of a server, given as arguments.

use std::error::Error;

#[cfg(feature = "utils")]
use rust_mcp_schema::schema_utils::{ClientMessage, ServerMessage};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let client: ClientMessage = serde_json::from_str(&arguments.next().ok_or("a client's message")?)?;
    let server: ServerMessage = serde_json::from_str(&arguments.next().ok_or("a server's message")?)?;
    println!("{}", serde_json::to_string(&client)?);
    println!("{}", serde_json::to_string(&server)?);
    Ok(())
}

/// Without its utilities the crate has no type for all messages of a side: its documentation decodes requests as they
/// are.
#[cfg(not(feature = "utils"))]
type ClientMessage = rust_mcp_schema::ClientRequest;

/// Nor has it an envelope for the results of a server, so its users write one.
#[cfg(not(feature = "utils"))]
#[derive(serde::Deserialize, serde::Serialize)]
struct ServerMessage {
    jsonrpc: String,
    id: rust_mcp_schema::RequestId,
    result: rust_mcp_schema::ServerResult,
}
