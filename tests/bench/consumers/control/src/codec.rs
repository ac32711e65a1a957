//! Takes a client's and a server's message as arguments, and decodes and encodes them as `serde_json::Value`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let client: serde_json::Value =
        serde_json::from_str(&arguments.next().ok_or("missing argument: a client's message")?)?;
    let server: serde_json::Value =
        serde_json::from_str(&arguments.next().ok_or("missing argument: a server's message")?)?;
    println!("{}", serde_json::to_string(&client)?);
    println!("{}", serde_json::to_string(&server)?);
    Ok(())
}
