//! Takes a client's and a server's message as arguments, and decodes and encodes them.

use std::error::Error;

#[cfg(feature = "utils")]
use rust_mcp_schema::schema_utils::{ClientMessage, ServerMessage};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let client: ClientMessage = serde_json::from_str(&arguments.next().ok_or("missing argument: a client's message")?)?;
    let server: ServerMessage = serde_json::from_str(&arguments.next().ok_or("missing argument: a server's message")?)?;
    println!("{}", serde_json::to_string(&client)?);
    println!("{}", serde_json::to_string(&server)?);
    Ok(())
}

/// Without the feature `schema_utils`, the crate has no type for all messages of a client. Its documentation uses the
/// union of requests instead.
#[cfg(not(feature = "utils"))]
type ClientMessage = rust_mcp_schema::ClientRequest;

/// Without that feature, the crate also has no envelope for a server's results. Its users must write one.
#[cfg(not(feature = "utils"))]
#[derive(serde::Deserialize, serde::Serialize)]
struct ServerMessage {
    jsonrpc: String,
    id: rust_mcp_schema::RequestId,
    result: rust_mcp_schema::ServerResult,
}
