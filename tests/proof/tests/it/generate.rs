//! Checks that generation is reproducible and complete, and gives the same code for official and for vendored files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcpgen::MARK;
use mcpgen::vendored::generate as vendored;
use mcpgen::{Document, Options, Workspace};
use mcpgen_model::docs::FOLDER as DOCS_FOLDER;
use mcpgen_model::schema_path;
use mcpgen_schema::facts_only;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn workspace() -> Workspace {
    Workspace::open(Some(&root())).expect("the repository is an mcpgen workspace")
}

/// Returns the path of an official file. If the file is missing, prints a message and returns `None`.
fn official(revision: &str) -> Option<PathBuf> {
    let file = root().join("../shared/schema").join(revision).join("schema.json");
    if file.exists() {
        return Some(file);
    }
    eprintln!("SKIPPED: {} is missing, so the official file of {revision} is not compared", file.display());
    None
}

#[test]
fn committed_code_is_up_to_date() {
    let generated = vendored(&workspace(), true).expect("the vendored schemas are valid");
    assert!(generated.changes.changes.is_empty(), "{}", generated.changes.diff("generated/src"));
}

#[test]
fn generation_is_reproducible_and_restores_deleted_files() {
    let (first, second) = (copy(), copy());
    let expected = files(&root().join("generated/src"));
    for folder in [first.path(), second.path()] {
        let workspace = Workspace::open(Some(folder)).expect("a copy");
        vendored(&workspace, false).expect("generation");
        assert_eq!(files(&folder.join("generated/src")), expected);
    }
    for name in expected.keys().step_by(23) {
        std::fs::remove_file(first.path().join("generated/src").join(name)).expect("a generated file");
    }
    let workspace = Workspace::open(Some(first.path())).expect("a copy");
    vendored(&workspace, false).expect("generation");
    assert_eq!(files(&first.path().join("generated/src")), expected);
}

/// Creates a folder with the schemas and a manifest, but without generated files.
fn copy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let copy = |path: &str| {
        let target = folder.path().join(path);
        std::fs::create_dir_all(target.parent().expect("a parent")).expect("a folder");
        std::fs::copy(root().join(path), target).expect("a copy");
    };
    copy("schema/revisions.toml");
    copy("schema/conversions.toml");
    copy("schema/extensions.toml");
    copy("schema/names.toml");
    copy("generated/Cargo.toml");
    workspace().revisions.iter().for_each(|revision| copy(&schema_path(&revision.name)));
    for folder in [DOCS_FOLDER, "schema/docs/extensions", "schema/extensions"] {
        inputs(folder).iter().for_each(|path| copy(path));
    }
    folder
}

/// Returns the files in a folder of the repository. Each extension has its own folder.
fn inputs(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join(folder)).expect("a folder") {
        let path = format!("{folder}/{}", entry.expect("an entry").file_name().into_string().expect("a name"));
        if root().join(&path).is_file() {
            found.push(path);
        } else if folder == "schema/extensions" {
            found.extend(inputs(&path));
        }
    }
    found
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(here) = folders.pop() {
        for entry in std::fs::read_dir(&here).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if let Ok(text) = std::fs::read_to_string(&entry)
                && text.starts_with(MARK)
            {
                let name = entry.strip_prefix(folder).expect("below").to_string_lossy().into_owned();
                found.insert(name, text);
            }
        }
    }
    found
}

#[test]
fn importing_the_official_files_reproduces_the_vendored_ones() {
    for revision in &workspace().revisions {
        let Some(file) = official(&revision.name) else { continue };
        let document = Document::read(&file).expect("an official schema");
        let vendored = std::fs::read_to_string(root().join(schema_path(&revision.name))).expect("a schema");
        assert_eq!(facts_only(&document), vendored, "{}", revision.name);
        assert_eq!(document.sha256, revision.sha256, "{}", revision.name);
    }
}

#[test]
fn importing_the_official_extensions_reproduces_the_vendored_ones() {
    let workspace = workspace();
    for extension in &workspace.extensions {
        let vendored = workspace.schema_path(&extension.name).expect("a path");
        let file = match extension.name.as_str() {
            "registry" => format!("registry-server-{}.json", extension.version),
            name => format!("{name}.json"),
        };
        let file = root().join("../shared/extensions").join(file);
        if !file.exists() {
            eprintln!("SKIPPED: {} is missing, so it is not compared", file.display());
            continue;
        }
        let document = Document::read(&file).expect("an official schema");
        let vendored = std::fs::read_to_string(root().join(vendored)).expect("a schema");
        assert_eq!(facts_only(&document), vendored, "{}", extension.name);
        assert_eq!(document.sha256, extension.sha256, "{}", extension.name);
    }
}

#[test]
fn official_files_generate_the_same_items() {
    for revision in &workspace().revisions {
        let Some(file) = official(&revision.name) else { continue };
        let vendored = root().join(schema_path(&revision.name));
        assert_eq!(items(&file, &revision.name), items(&vendored, &revision.name), "{}", revision.name);
    }
}

/// Returns the generated code without its documentation or headers.
fn items(schema: &Path, revision: &str) -> BTreeMap<String, String> {
    let protocol = mcpgen::model(Document::read(schema).expect("a schema"), revision, true).expect("a model");
    let options = Options {
        support: "crate".to_owned(),
        command: String::new(),
        source: String::new(),
        vendored: Some("v".to_owned()),
    };
    let is_code = |line: &&str| !line.trim_start().starts_with("//") && !line.is_empty();
    let files = mcpgen::emit(&protocol, &options).expect("code");
    files.into_iter().map(|(name, text)| (name, text.lines().filter(is_code).collect::<Vec<_>>().join("\n"))).collect()
}

#[test]
fn generated_code_contains_no_forbidden_words() {
    for (name, text) in files(&root().join("generated/src")) {
        for word in ["untagged", "flatten", "serde(", "unwrap(", "panic!", "unsafe"] {
            assert!(!text.contains(word), "{name} contains `{word}`");
        }
    }
}
