//! Generates the modules of schemas that extend revisions.

use std::path::PathBuf;

use mcpgen::Generator;
use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    extended("acme", "2026-07-28", "modern.json")?;
    extended("legacy", "2025-11-25", "legacy.json")?;
    for revision in REVISIONS {
        let module = format!("unchanged_{}", revision.replace('-', "_"));
        Generator::new(official(revision), "unchanged")
            .extending(official(revision), revision)
            .build_script(&module)?;
    }
    Ok(())
}

/// Generates the module of a revision with changes: definitions that are new, or that replace those of the revision.
fn extended(module: &str, revision: &str, changes: &str) -> Result<()> {
    println!("cargo::rerun-if-changed={changes}");
    let (mut schema, mut changes) = (read(&official(revision))?, read(changes)?);
    let definitions = schema["$defs"].as_object_mut().ok_or("no $defs in the schema of the revision")?;
    definitions.append(changes["$defs"].as_object_mut().ok_or("no $defs in the changes")?);
    // Most projects have the whole schema in a file.
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let path = out.join(format!("{module}.json"));
    std::fs::write(&path, schema.to_string())?;
    Generator::new(path, "acme-1").extending(official(revision), revision).build_script(module)?;
    Ok(())
}

fn official(revision: &str) -> String {
    format!("../../schema/{revision}/schema.json")
}

fn read(path: &str) -> Result<Value> {
    Ok(serde_json::from_str(&std::fs::read_to_string(path)?)?)
}
