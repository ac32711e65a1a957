//! Generates modules from schemas that extend revisions, and from one that extends none.

use std::path::PathBuf;

use mcpgen::Generator;
use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../schema");
    extended("acme", "2026-07-28", "modern.json")?;
    extended("legacy", "2025-11-25", "legacy.json")?;
    println!("cargo::rerun-if-changed=jobs.json");
    Generator::new("jobs.json", "jobs-1").build_script("jobs")?;
    unchanged()
}

/// For each vendored revision, generates a module from an extending schema that changes nothing. Writes a file that
/// includes the modules, and a macro with their names.
fn unchanged() -> Result<()> {
    let (mut includes, mut names) = (String::new(), String::new());
    for folder in std::fs::read_dir("../../schema")? {
        let revision = folder?.file_name().to_string_lossy().into_owned();
        if !revision.starts_with("20") {
            continue;
        }
        let date = revision.replace('-', "_");
        Generator::new(official(&revision), "unchanged")
            .extending(official(&revision), &revision)
            .build_script(&format!("unchanged_{date}"))?;
        includes += &format!("include!(concat!(env!(\"OUT_DIR\"), \"/unchanged_{date}.include.rs\"));\n");
        names += &format!(" unchanged_{date} v{date}");
    }
    let names = format!("macro_rules! for_each_revision {{ ($check:ident) => {{ $check! {{{names} }} }} }}\n");
    std::fs::write(out()?.join("unchanged.rs"), includes + &names)?;
    Ok(())
}

/// Generates the module of a revision with `changes`: new definitions, and definitions that replace some of the
/// revision's.
fn extended(module: &str, revision: &str, changes: &str) -> Result<()> {
    println!("cargo::rerun-if-changed={changes}");
    let (mut schema, mut changes) = (read(&official(revision))?, read(changes)?);
    let definitions = schema["$defs"].as_object_mut().ok_or("no $defs in the schema of the revision")?;
    definitions.append(changes["$defs"].as_object_mut().ok_or("no $defs in the changes")?);
    // Writes the whole schema to a file, because that is what most projects have.
    let path = out()?.join(format!("{module}.json"));
    std::fs::write(&path, schema.to_string())?;
    Generator::new(path, "acme-1").extending(official(revision), revision).build_script(module)?;
    Ok(())
}

fn out() -> Result<PathBuf> {
    Ok(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?.into())
}

fn official(revision: &str) -> String {
    format!("../../schema/{revision}/schema.json")
}

fn read(path: &str) -> Result<Value> {
    Ok(serde_json::from_str(&std::fs::read_to_string(path)?)?)
}
