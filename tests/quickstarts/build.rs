//! Writes the quickstarts of all revisions as modules, and a list of them with the number of their calls.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mcpgen_site::{Quickstart, quickstarts};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    println!("cargo::rerun-if-changed={}", root.join("schema").display());
    let models = mcpgen::Workspace::open(Some(&root))?.models()?;
    let (mut modules, mut list) = (String::new(), String::new());
    for Quickstart { side, revision, program } in models.iter().flat_map(quickstarts) {
        let module = format!("{side}_{}", revision.replace('-', "_"));
        let calls = program.matches(".call::<").count();
        let program = program.replace("async fn main()", "pub(super) async fn main()");
        write!(modules, "mod {module} {{\n{program}}}\n")?;
        writeln!(list, "    (\"{side}\", {revision:?}, {calls}, {module}::main),")?;
    }
    let text = format!("{modules}\nconst QUICKSTARTS: &[Quickstart] = &[\n{list}];\n");
    std::fs::write(PathBuf::from(std::env::var("OUT_DIR")?).join("quickstarts.rs"), text)?;
    Ok(())
}
