//! Generates the module `protocol` from the schema of this crate.

fn main() -> Result<(), mcpgen::Error> {
    mcpgen::Generator::new("schema.json", "greetings-1").build_script("protocol")?;
    Ok(())
}
