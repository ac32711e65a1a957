//! Generates a module from each group of the suite that the generator accepts.
//!
//! `MCPGEN_JSON_SCHEMA_SUITE` is the folder of the suite's tests. Without it, only the sample is generated.

use std::path::{Path, PathBuf};

use mcpgen::model::Json;
use mcpgen::{Dialect, Document, Options, ReadOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=sample");
    println!("cargo::rerun-if-env-changed=MCPGEN_JSON_SCHEMA_SUITE");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let mut folders = vec![(PathBuf::from("sample"), Dialect::Draft202012)];
    if let Some(suite) = std::env::var_os("MCPGEN_JSON_SCHEMA_SUITE").map(PathBuf::from) {
        folders.push((suite.join("draft7"), Dialect::Draft07));
        folders.push((suite.join("draft2020-12"), Dialect::Draft202012));
    }
    let (mut modules, mut entries) = (String::new(), String::new());
    for (folder, dialect) in folders {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
        files.retain(|path| path.extension().is_some_and(|end| end == "json"));
        files.sort();
        for path in files {
            file(&path, dialect, &out, (&mut modules, &mut entries))?;
        }
    }
    let registry = format!("/// All groups.\npub static GROUPS: &[Group] = &[\n{entries}];\n");
    std::fs::write(out.join("modules.rs"), modules)?;
    std::fs::write(out.join("groups.rs"), registry)?;
    Ok(())
}

fn file(
    path: &Path,
    dialect: Dialect,
    out: &Path,
    (modules, entries): (&mut String, &mut String),
) -> Result<(), Box<dyn std::error::Error>> {
    let path = path.canonicalize()?;
    let Json::Array(groups) = Json::parse(&std::fs::read_to_string(&path)?)? else { return Err("no groups".into()) };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().replace('-', "_");
    for (index, group) in groups.iter().enumerate() {
        let schema = group.get("schema").ok_or("a group without a schema")?;
        let has_dialect = schema.get("$schema").is_some();
        let options = ReadOptions { dialect: (!has_dialect).then_some(dialect), root_name: Some("Root".into()) };
        let document = Document::parse_with("group.json", schema.to_string().as_bytes(), &options);
        // `codegen/tests/json_schema_suite.rs` checks why groups are rejected.
        let Ok(protocol) = document.and_then(|document| mcpgen::model(document, "suite", false)) else { continue };
        let root = protocol.types.iter().find(|def| def.name == "Root").ok_or("a group without a root")?;
        let module = format!("{}_{stem}_{index}", dialect.as_str().replace('-', "_")).replace("2020", "draft2020");
        let module = module
            .chars()
            .flat_map(|c| if c.is_ascii_uppercase() { vec!['_', c.to_ascii_lowercase()] } else { vec![c] });
        let module: String = module.collect();
        let emit = Options {
            support: "::mcpgen_types".into(),
            command: "cargo test".into(),
            source: "group.json".into(),
            vendored: None,
        };
        let folder = out.join(&module);
        std::fs::create_dir_all(&folder)?;
        for (name, text) in mcpgen::emit(&protocol, &emit)? {
            std::fs::write(folder.join(name), text)?;
        }
        let main = folder.join("mod.rs");
        modules.push_str(&format!("#[path = {:?}]\npub mod {module};\n", main.display().to_string()));
        entries.push_str(&format!(
            "Group {{ file: {:?}, index: {index}, dialect: {:?}, decode: decode::<crate::{module}::{}> }},\n",
            path.display().to_string(),
            dialect.as_str(),
            root.rust,
        ));
    }
    Ok(())
}
