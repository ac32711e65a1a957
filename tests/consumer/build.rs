//! Generates the module `protocol` from a schema of this crate's own.

fn main() -> Result<(), mcpgen::Error> {
    mcpgen::Generator::new("schema.json", "greetings-1").build_script("protocol")?;
    Ok(())
}
