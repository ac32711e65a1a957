//! Decodes and encodes a message of a client and one of a server, given as arguments, as any JSON.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let client: serde_json::Value = serde_json::from_str(&arguments.next().ok_or("a client's message")?)?;
    let server: serde_json::Value = serde_json::from_str(&arguments.next().ok_or("a server's message")?)?;
    println!("{}", serde_json::to_string(&client)?);
    println!("{}", serde_json::to_string(&server)?);
    Ok(())
}
