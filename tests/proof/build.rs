//! Writes the registry: every definition of every vendored revision, with functions that decode, encode and build it.

#[path = "build/registry.rs"]
mod registry;

use std::path::{Path, PathBuf};

use mcpgen::Workspace;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    println!("cargo::rerun-if-changed=../../schema");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    let workspace = Workspace::open(Some(&root))?;
    let mut code =
        String::from("/// Every definition of every vendored revision.\npub static REGISTRY: &[Entry] = &[\n");
    let mut builders = String::new();
    for revision in &workspace.revisions {
        let protocol = workspace.model(&revision.name)?;
        let path = format!("mcpgen_types::{}", revision.module());
        let (entries, more) = registry::entries(&protocol, &revision.name, &path);
        code.push_str(&entries);
        builders.push_str(&more);
    }
    code.push_str("];\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    std::fs::write(out.join("registry.rs"), code + &builders)?;
    Ok(())
}
