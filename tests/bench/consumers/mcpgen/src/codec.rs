//! Takes a client's and a server's message as arguments, and decodes and encodes them.

use std::error::Error;

#[cfg(not(feature = "2026-07-28"))]
use mcpgen_types::v2025_11_25::{ClientMessage, ServerMessage};
#[cfg(feature = "2026-07-28")]
use mcpgen_types::v2026_07_28::{ClientMessage, ServerMessage};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let client: ClientMessage =
        mcpgen_types::from_str(&arguments.next().ok_or("missing argument: a client's message")?)?;
    let server: ServerMessage =
        mcpgen_types::from_str(&arguments.next().ok_or("missing argument: a server's message")?)?;
    println!("{}", mcpgen_types::to_string(&client));
    println!("{}", mcpgen_types::to_string(&server));
    Ok(())
}
