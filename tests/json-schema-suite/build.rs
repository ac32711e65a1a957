//! Generates modules from schemas: each group of the JSON-Schema-Test-Suite that the generator accepts, and each schema
//! of MCP's extensions.
//!
//! `MCPGEN_JSON_SCHEMA_SUITE` is the folder of the suite's tests. Without it, only our groups in `sample` are
//! generated. `MCPGEN_COMPILED_MUTANTS` is the number of mutants of each extension to generate, by default 0.

use std::error::Error;
use std::path::{Path, PathBuf};

use mcpgen::{Dialect, Document, Options, Protocol, ReadOptions};
use mcpgen_model::{Json, Origin, Shape};

#[allow(dead_code, reason = "the build script uses only a part of this module")]
#[path = "../../codegen/tests/support/documents.rs"]
mod documents;

#[derive(Default)]
struct Output {
    folder: PathBuf,
    modules: String,
    groups: String,
    definitions: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    for name in ["MCPGEN_JSON_SCHEMA_SUITE", "MCPGEN_COMPILED_MUTANTS"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let inputs =
        ["../../codegen/tests/support/documents.rs", "../../codegen/tests/registry", "../../schema/extensions"];
    for path in ["build.rs", "sample"].into_iter().chain(inputs) {
        println!("cargo::rerun-if-changed={path}");
    }
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let mut out = Output { folder, ..Output::default() };
    let mut folders = vec![(PathBuf::from("sample"), Dialect::Draft202012)];
    if let Some(suite) = std::env::var_os("MCPGEN_JSON_SCHEMA_SUITE").map(PathBuf::from) {
        folders.push((suite.join("draft7"), Dialect::Draft07));
        folders.push((suite.join("draft2020-12"), Dialect::Draft202012));
    }
    for (folder, dialect) in folders {
        for path in documents::files(&folder) {
            out.suite(&path, dialect)?;
        }
    }
    let mutants = std::env::var("MCPGEN_COMPILED_MUTANTS").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    for (name, path) in documents::extensions() {
        out.extension(&name, &path)?;
        out.mutants(&name, &path, mutants)?;
    }
    let (groups, definitions) = (&out.groups, &out.definitions);
    let registry = format!(
        "/// All groups.\npub static GROUPS: &[Group] = &[\n{groups}];\n\
         /// All definitions of the extensions.\npub static DEFINITIONS: &[Definition] = &[\n{definitions}];\n"
    );
    std::fs::write(out.folder.join("modules.rs"), &out.modules)?;
    std::fs::write(out.folder.join("registry.rs"), registry)?;
    Ok(())
}

impl Output {
    fn suite(&mut self, path: &Path, dialect: Dialect) -> Result<(), Box<dyn Error>> {
        let path = path.canonicalize()?;
        let Json::Array(groups) = Json::parse(&std::fs::read_to_string(&path)?)? else {
            return Err("no groups".into());
        };
        for (index, group) in groups.iter().enumerate() {
            let schema = group.get("schema").ok_or("a group without a schema")?;
            let has_dialect = schema.get("$schema").is_some();
            let options = ReadOptions {
                dialect: (!has_dialect).then_some(dialect),
                root_name: Some("Root".into()),
                ..ReadOptions::default()
            };
            let document = Document::parse_with("group.json", schema.to_string().as_bytes(), &options);
            // `codegen/tests/json_schema_suite.rs` checks the reasons for rejecting groups.
            let Ok(protocol) = document.and_then(|document| mcpgen::model(document, "suite", false)) else { continue };
            let root = protocol.types.iter().find(|def| def.name == "Root").ok_or("a group without a root")?;
            let name = format!("{}_{}_{index}", dialect.as_str(), stem(&path)).replace("2020", "draft2020");
            let module = self.module(&name, &protocol)?;
            self.groups.push_str(&format!(
                "Group {{ file: {:?}, index: {index}, dialect: {:?}, decode: decode::<crate::{module}::{}> }},\n",
                path.display().to_string(),
                dialect.as_str(),
                root.rust,
            ));
        }
        Ok(())
    }

    fn extension(&mut self, name: &str, path: &Path) -> Result<(), Box<dyn Error>> {
        let path = path.canonicalize()?;
        let protocol = mcpgen::model(Document::read(&path)?, "extension", false)?;
        let module = self.module(name, &protocol)?;
        let is_definition = |origin: &Origin| *origin == Origin::Definition;
        for (id, def) in protocol.types.iter().enumerate().filter(|(_, def)| is_definition(&def.origin)) {
            let overlapping = has_overlapping_union(&protocol, id);
            self.definitions.push_str(&format!(
                "Definition {{ file: {:?}, name: {:?}, pointer: {:?}, id: {id}, overlapping: {overlapping}, \
                 decode: decode::<crate::{module}::{}> }},\n",
                path.display().to_string(),
                def.name,
                def.pointer,
                def.rust,
            ));
        }
        Ok(())
    }

    /// Generates modules from mutants of a schema, to check that they compile.
    fn mutants(&mut self, name: &str, path: &Path, count: usize) -> Result<(), Box<dyn Error>> {
        let schema = serde_json::from_str(&std::fs::read_to_string(path)?)?;
        let (mut seed, mut done) = (0_u64, 0);
        while done < count {
            seed += 1;
            let mut random = documents::Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
            let mutant = documents::mutate(&schema, &mut random).to_string();
            let model = Document::parse("mutant.json", mutant.as_bytes())
                .and_then(|document| mcpgen::model(document, "mutant", false));
            if let Ok(protocol) = model {
                self.module(&format!("{name}_mutant_{seed}"), &protocol)?;
                done += 1;
            }
        }
        Ok(())
    }

    fn module(&mut self, name: &str, protocol: &Protocol) -> Result<String, Box<dyn Error>> {
        let name: String = name
            .replace(['-', '.'], "_")
            .chars()
            .flat_map(|c| if c.is_ascii_uppercase() { vec!['_', c.to_ascii_lowercase()] } else { vec![c] })
            .collect();
        let options = Options {
            support: "::mcpgen_types".into(),
            command: "cargo test".into(),
            source: "schema.json".into(),
            vendored: None,
        };
        let folder = self.folder.join(&name);
        std::fs::create_dir_all(&folder)?;
        for (file, text) in mcpgen::emit(protocol, &options)? {
            std::fs::write(folder.join(file), text)?;
        }
        let main = folder.join("mod.rs");
        self.modules.push_str(&format!("#[path = {:?}]\npub mod {name};\n", main.display().to_string()));
        Ok(name)
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns whether a type contains a union whose decision can reject what `anyOf` accepts, as documented.
fn has_overlapping_union(protocol: &Protocol, id: usize) -> bool {
    let (mut seen, mut stack) = (std::collections::BTreeSet::from([id]), vec![id]);
    while let Some(id) = stack.pop() {
        if matches!(&protocol.types[id].shape, Shape::Union(union) if union.decision.overlapping) {
            return true;
        }
        stack.extend(protocol.uses(id).into_iter().filter(|used| seen.insert(*used)));
    }
    false
}
