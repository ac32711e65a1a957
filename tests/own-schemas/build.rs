//! Generates a module from each file in `schemas`, and the registry of their definitions.

#[path = "../proof/build/registry.rs"]
mod registry;

use std::path::{Path, PathBuf};

use mcpgen::{Document, Generator};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../proof/build");
    println!("cargo::rerun-if-changed=schemas");
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    paths.sort();
    let (mut modules, mut entries, mut builders) = (String::new(), String::new(), String::new());
    for path in paths {
        let name =
            path.file_stem().and_then(|stem| stem.to_str()).ok_or("the name of a schema file is not valid UTF-8")?;
        Generator::new(&path, name).build_script(name)?;
        modules.push_str(&format!("include!(concat!(env!(\"OUT_DIR\"), \"/{name}.include.rs\"));\n"));
        let protocol = mcpgen::model(Document::read(&path)?, name, false)?;
        let (more_entries, more_builders) = registry::entries(&protocol, name, &format!("crate::{name}"));
        entries.push_str(&more_entries);
        builders.push_str(&more_builders);
    }
    let registry =
        format!("/// Every definition of every schema.\npub static REGISTRY: &[Entry] = &[\n{entries}];\n{builders}");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    std::fs::write(out.join("modules.rs"), modules)?;
    std::fs::write(out.join("registry.rs"), registry)?;
    Ok(())
}
