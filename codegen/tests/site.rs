//! Writes the site and the ledger of this repository, and checks that links lead somewhere and that counts add up.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Returns the root of the repository, which a packaged crate does not contain.
fn root() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.to_owned();
    root.join("runtime/mcp/src").is_dir().then_some(root)
}

fn mcpgen(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let output =
        Command::new(env!("CARGO_BIN_EXE_mcpgen")).args(arguments).current_dir(root).output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// Returns the values of an attribute in a page.
fn attributes<'h>(html: &'h str, name: &str) -> Vec<&'h str> {
    let begin = format!(" {name}=\"");
    html.split(begin.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

fn decoded(text: &str) -> String {
    text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&#39;", "'").replace("&amp;", "&")
}

#[test]
fn links_of_the_site_lead_somewhere() {
    let Some(root) = root() else { return eprintln!("skipped: no repository") };
    let out = tempfile::tempdir().expect("a folder");
    mcpgen(&root, &["site", "--out", &out.path().display().to_string()]).expect("a site");
    let mut found = Vec::new();
    files(out.path(), &mut found);
    let pages: BTreeMap<&PathBuf, String> = found
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "html"))
        .map(|path| (path, fs::read_to_string(path).expect("a page")))
        .collect();
    let ids: BTreeMap<&PathBuf, BTreeSet<String>> =
        pages.iter().map(|(path, html)| (*path, attributes(html, "id").into_iter().map(decoded).collect())).collect();
    assert!(pages.len() > 300, "{}", pages.len());
    let mut broken = Vec::new();
    for (path, html) in &pages {
        let targets = ["href", "src", "srcset", "action"].iter().flat_map(|name| attributes(html, name)).map(decoded);
        for target in targets.filter(|target| !target.contains("://") && !target.starts_with("data:")) {
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let mut full = path.parent().expect("a folder").to_owned();
            for component in Path::new(file).components() {
                match component {
                    Component::ParentDir => drop(full.pop()),
                    component => full.push(component),
                }
            }
            let full = if file.is_empty() { (*path).clone() } else { full };
            let has_anchor = || ids.get(&full).is_some_and(|ids| ids.contains(anchor));
            if !full.is_file() || !(anchor.is_empty() || has_anchor()) {
                broken.push(format!("{}: {target}", path.strip_prefix(out.path()).expect("below").display()));
            }
        }
    }
    assert!(broken.is_empty(), "{} broken: {:#?}", broken.len(), &broken[..broken.len().min(20)]);
    let search = fs::read_to_string(out.path().join("search.html")).expect("a page");
    for name in ["\"tool\"", "\"tools/call\"", "\"a server\"", "\"2025-11-25\""] {
        assert!(search.contains(&format!("data-name={name}")), "{name}");
    }
}

#[test]
fn the_ledger_adds_up() {
    let Some(root) = root() else { return eprintln!("skipped: no repository") };
    let ledger: Value =
        serde_json::from_str(&mcpgen(&root, &["ledger", "--format", "json"]).expect("a ledger")).expect("JSON");
    let layers = ledger["layers"].as_array().expect("layers");
    let number = |value: &Value, kind: &str, unit: &str| value[kind][unit].as_u64().expect("a number");
    for (group, total) in ledger["totals"].as_object().expect("totals") {
        for (kind, unit) in
            [("generated", "files"), ("generated", "lines"), ("hand_written", "files"), ("hand_written", "lines")]
        {
            let of_group = layers.iter().filter(|layer| layer["group"] == group.as_str());
            assert_eq!(
                of_group.map(|layer| number(layer, kind, unit)).sum::<u64>(),
                number(total, kind, unit),
                "{group}"
            );
        }
    }
    // Every source file is counted once, and every layer has at least one.
    let mut sources = Vec::new();
    ["generated", "runtime", "codegen"].iter().for_each(|folder| files(&root.join(folder), &mut sources));
    let is_source = |path: &&PathBuf| {
        let path = path.strip_prefix(&root).expect("below").to_string_lossy().replace('\\', "/");
        path.contains("/src/") && path.ends_with(".rs") && !path.ends_with("/tests.rs") && !path.contains("/target/")
    };
    let counted =
        layers.iter().map(|layer| number(layer, "generated", "files") + number(layer, "hand_written", "files"));
    let counts: Vec<u64> = counted.collect();
    assert_eq!(counts.iter().sum::<u64>(), sources.iter().filter(is_source).count() as u64);
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    for table in ledger["data"].as_array().expect("data") {
        for entry in table["entries"].as_array().expect("entries") {
            assert_ne!(entry["reason"], "", "{entry}");
        }
    }
    let rules = ledger["rules"].as_array().expect("rules");
    assert!(rules.len() > 150 && rules.iter().all(|rule| rule["tests"].as_u64() > Some(0)), "{}", rules.len());
}

#[test]
fn the_ledger_refuses_a_file_without_a_layer() {
    let Some(root) = root() else { return eprintln!("skipped: no repository") };
    let copy = tempfile::tempdir().expect("a folder");
    for path in ["schema/revisions.toml", "runtime/mcp/src/another.rs"] {
        let target = copy.path().join(path);
        fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
        fs::write(&target, fs::read(root.join(path)).unwrap_or_default()).expect("written");
    }
    let error = mcpgen(copy.path(), &["ledger"]).expect_err("no layer");
    assert!(error.contains("runtime/mcp/src/another.rs belongs to no layer"), "{error}");
}
