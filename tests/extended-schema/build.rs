//! Generates the module `acme` from a schema that extends revision 2026-07-28.

use std::path::PathBuf;

use mcpgen::Generator;
use serde_json::Value;

const BASE: &str = "../../schema/2026-07-28/schema.json";

/// The definitions of the schema that are new, or that replace those of the revision.
const CHANGES: &str = "changes.json";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed={CHANGES}");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    // Most projects have the whole schema in a file.
    let schema = out.join("acme.json");
    std::fs::write(&schema, whole_schema()?.to_string())?;
    Generator::new(schema, "acme-1").extending(BASE, "2026-07-28").build_script("acme")?;
    Ok(())
}

fn whole_schema() -> Result<Value, Box<dyn std::error::Error>> {
    let read = |path: &str| -> Result<Value, Box<dyn std::error::Error>> {
        Ok(serde_json::from_str(&std::fs::read_to_string(path)?)?)
    };
    let (mut schema, mut changes) = (read(BASE)?, read(CHANGES)?);
    let definitions = schema["$defs"].as_object_mut().ok_or("no $defs in the schema of the revision")?;
    definitions.append(changes["$defs"].as_object_mut().ok_or("no $defs in the changes")?);
    Ok(schema)
}
