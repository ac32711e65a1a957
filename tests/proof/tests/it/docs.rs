//! Checks our documentation of the protocol: it is complete, and it is not copied from the official schemas.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use mcpgen::Workspace;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn documents_every_definition_and_nothing_else() {
    let workspace = Workspace::open(Some(&root())).expect("the workspace opens");
    let mut models = workspace.models().expect("the schemas are valid");
    models.extend(workspace.extension_models(&models).expect("the schemas are valid"));
    let missing: Vec<String> = workspace.docs.missing(&models).keys().map(ToString::to_string).collect();
    assert!(missing.is_empty(), "no entry in schema/docs: {missing:#?}");
    assert_eq!(workspace.docs.stale(&models), [""; 0], "stale entries in schema/docs");
    let unordered = workspace.docs.unordered(&models);
    assert!(unordered.is_empty(), "orders to correct in schema/docs: {unordered:#?}");
    assert!(workspace.docs.len() > 600, "{} entries", workspace.docs.len());
}

/// The number of equal words in a row that count as copied.
const RUN: usize = 10;

/// Phrases that cannot be worded in another way, such as names and lists.
const ALLOWED: &str = include_str!("docs-allowed.txt");

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn runs(text: &str) -> impl Iterator<Item = String> {
    let words = words(text);
    (0..(words.len() + 1).saturating_sub(RUN)).map(move |at| words[at..at + RUN].join(" "))
}

fn strings(value: &serde_json::Value, seen: &mut dyn FnMut(&str)) {
    match value {
        serde_json::Value::String(text) => seen(text),
        serde_json::Value::Array(values) => values.iter().for_each(|value| strings(value, seen)),
        serde_json::Value::Object(members) => members.values().for_each(|value| strings(value, seen)),
        _ => {}
    }
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|end| end == extension) {
            found.push(path);
        }
    }
    found
}

/// Returns the doc comments in a Rust file, one string per block of lines.
fn comments(text: &str) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), String::new());
    for line in text.lines().map(str::trim).chain([""]) {
        match line.strip_prefix("///").or(line.strip_prefix("//!")) {
            Some(words) => open.push_str(words),
            None if !open.is_empty() => found.push(std::mem::take(&mut open)),
            None => {}
        }
        open.push(' ');
        if open.trim().is_empty() {
            open.clear();
        }
    }
    found
}

#[test]
fn documentation_is_not_copied() {
    let [revisions, extensions] = ["schema", "extensions"].map(|name| root().join("../shared").join(name));
    if !revisions.is_dir() || !extensions.is_dir() {
        eprintln!("SKIPPED: the official schemas are missing, so the documentation is not compared with them");
        return;
    }
    let mut official_runs: BTreeSet<String> = BTreeSet::new();
    for path in files(&revisions, "json").into_iter().chain(files(&extensions, "json")) {
        let schema = serde_json::from_slice(&fs::read(&path).expect("a schema")).expect("JSON");
        strings(&schema, &mut |text| official_runs.extend(runs(text)));
    }
    assert!(official_runs.len() > 4000, "only {} runs in the official schemas", official_runs.len());
    let allowed: BTreeSet<String> = ALLOWED.lines().filter(|line| !line.starts_with('#')).flat_map(runs).collect();
    let mut copied: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut compare = |text: &str, path: &Path| {
        for run in runs(text).filter(|run| official_runs.contains(run) && !allowed.contains(run)) {
            copied.entry(run).or_insert_with(|| path.to_owned());
        }
    };
    for path in files(&root().join("schema/docs"), "toml") {
        let entries: toml::Value = toml::from_str(&fs::read_to_string(&path).expect("a file")).expect("TOML");
        let entries = serde_json::to_value(&entries).expect("JSON");
        strings(&entries, &mut |text| compare(text, &path));
    }
    for path in files(&root().join("generated/src"), "rs") {
        for comment in comments(&fs::read_to_string(&path).expect("a file")) {
            compare(&comment, &path);
        }
    }
    assert!(copied.is_empty(), "runs of {RUN} words copied from the official schemas, reword them: {copied:#?}");
}

#[test]
fn finds_copied_text() {
    let known: BTreeSet<String> = runs("The quick brown fox, as it is, jumps over the lazy dog today").collect();
    assert!(runs("… quick brown fox as it is jumps over the lazy …").all(|run| known.contains(&run)));
    assert!(!runs("the quick brown fox as it is jumps over a lazy dog").any(|run| known.contains(&run)));
    assert_eq!(comments("/// a\n/// b\nstruct A;\n//! c\n"), [" a  b ", " c "]);
}
