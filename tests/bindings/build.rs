//! Generates bindings from the tool lists of `tests/proof` and of this crate.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use mcpgen::Bindings;

fn main() -> Result<(), Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<PathBuf> = Vec::new();
    for folder in ["../proof/tool-lists", "tool-lists"] {
        println!("cargo::rerun-if-changed={folder}");
        for entry in fs::read_dir(here.join(folder))? {
            paths.push(entry?.path());
        }
    }
    for path in paths {
        let name = path.file_stem().and_then(|stem| stem.to_str()).ok_or("the name of a list is not valid UTF-8")?;
        Bindings::read(&path)?.build_script(name)?;
    }
    Ok(())
}
