//! Checks that every requirement in `requirements.toml` has tests, and that they exist in the runtime or its add-on
//! crates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    requirement: Vec<Requirement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirement {
    page: String,
    text: String,
    /// Whether the schema says it as well. The ledger lists what no schema says.
    #[serde(default)]
    #[expect(dead_code, reason = "only the ledger reads it")]
    in_schema: bool,
    tests: Vec<String>,
}

/// Returns the names of the tests in a file that are not ignored: functions with an attribute that ends in `test`.
fn tests(items: &[syn::Item]) -> Vec<String> {
    let mut found = Vec::new();
    for item in items {
        match item {
            syn::Item::Fn(function) => {
                let is_test = |attribute: &syn::Attribute| {
                    attribute.path().segments.last().is_some_and(|segment| segment.ident == "test")
                };
                let ignored = function.attrs.iter().any(|attribute| attribute.path().is_ident("ignore"));
                if !ignored && function.attrs.iter().any(is_test) {
                    found.push(function.sig.ident.to_string());
                }
            }
            syn::Item::Mod(module) => {
                found.extend(module.content.as_ref().map(|(_, items)| tests(items)).unwrap_or_default());
            }
            _ => {}
        }
    }
    found
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.unwrap_or_else(|error| panic!("{error}")).path());
    let found = paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] });
    found.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

#[test]
fn every_requirement_has_existing_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("requirements.toml")).unwrap_or_else(|error| panic!("{error}"));
    let table: Table = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    let mut known = BTreeSet::new();
    for path in ["src", "tests", "mcp/src", "http/src", "skills/src", "sdk/tests", "auth/src", "auth/tests"]
        .iter()
        .flat_map(|folder| files(&root.join("../../runtime").join(folder)))
    {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}"));
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        known.extend(tests(&file.items));
    }
    assert!(known.len() > 40, "too few tests found in the runtime: {known:?}");
    let mut seen = BTreeSet::new();
    let mut pages: BTreeMap<&str, usize> = BTreeMap::new();
    for Requirement { page, text, tests, .. } in &table.requirement {
        assert!(seen.insert((page, text)), "{page}: {text}: duplicate requirement");
        assert!(!tests.is_empty(), "{page}: {text}: no tests listed");
        let missing: Vec<&String> = tests.iter().filter(|test| !known.contains(*test)).collect();
        assert!(missing.is_empty(), "{page}: {text}: the runtime has no tests {missing:?}");
        *pages.entry(page.rsplit('/').next().unwrap_or_default()).or_default() += 1;
    }
    for page in ["index.mdx", "lifecycle.mdx", "transports.mdx", "cancellation.mdx", "progress.mdx", "ping.mdx"] {
        assert!(pages.contains_key(page), "no requirements from {page}");
    }
}
