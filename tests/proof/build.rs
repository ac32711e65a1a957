//! Writes the registry: every definition of every vendored revision and extension, with functions that decode, encode
//! and build its values.

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
    let mut code = String::from(
        "/// Every definition of every vendored revision and extension.\npub static REGISTRY: &[Entry] = &[\n",
    );
    let mut builders = String::new();
    let revisions = workspace.revisions.iter().map(|row| (&row.name, row.module()));
    let extensions = workspace.extensions.iter().map(|row| (&row.name, format!("ext::{}", row.module)));
    for (name, module) in revisions.chain(extensions) {
        let protocol = workspace.model(name)?;
        let (entries, more) = registry::entries(&protocol, name, &format!("mcpgen_types::{module}"));
        code.push_str(&entries);
        builders.push_str(&more);
    }
    code.push_str("];\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    std::fs::write(out.join("registry.rs"), code + &builders)?;
    Ok(())
}
