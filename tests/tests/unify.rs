//! Feature unification: whatever other crates switch on in serde_json, the types lose nothing.
//!
//! Features are chosen for a whole build, so [`unify`](../unify) is a dependant outside the workspace, which is built and
//! tested here once for each set of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// All sets of the three features that change how serde_json reads and keeps values, and one that names the fourth.
/// mcpgen-types has `raw_value` and `float_roundtrip` switched on already, so those that differ in them alone build
/// nothing but the test anew.
const FEATURES: [&str; 9] = [
    "",
    "raw_value",
    "arbitrary_precision",
    "arbitrary_precision,raw_value",
    "preserve_order",
    "preserve_order,raw_value",
    "arbitrary_precision,preserve_order",
    "arbitrary_precision,preserve_order,raw_value",
    "arbitrary_precision,float_roundtrip,preserve_order,raw_value",
];

#[test]
fn nothing_is_lost_whatever_serde_json_has() {
    let start = Instant::now();
    for features in FEATURES {
        let since = Instant::now();
        let summary = test(features);
        println!("[{features}]: {summary} ({:.1} s)", since.elapsed().as_secs_f32());
    }
    println!("{} sets of features in {:.1} s", FEATURES.len(), start.elapsed().as_secs_f32());
}

/// Builds and tests the dependant with these features, and says what the test harness says.
fn test(features: &str) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let output = Command::new(cargo)
        .args(["test", "--locked", "--quiet", "--no-default-features", "--features", features, "--manifest-path"])
        .arg(dependant().join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target())
        // What this build is done with is no business of the dependant's.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .unwrap_or_else(|error| panic!("cargo does not start: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "with [{features}]:\n{out}\n{err}");
    let summary = out.lines().find(|line| line.starts_with("test result: ok. ") && !line.contains(" 0 passed"));
    let summary = summary.unwrap_or_else(|| panic!("no test has run with [{features}]:\n{out}\n{err}"));
    summary.trim_start_matches("test result: ").split(';').next().unwrap_or_default().to_owned()
}

fn dependant() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("unify")
}

/// Below the workspace's own target folder, wherever that is: this test lies in one of its folders.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("unify")
}

/// The dependant builds with the versions that all other tests build with.
#[test]
fn its_versions_are_those_of_the_workspace() {
    let ours = locked(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock"));
    let theirs = locked(&dependant().join("Cargo.lock"));
    assert!(theirs.len() > 5, "{theirs:?}");
    for (name, versions) in theirs {
        if name == "mcpgen-unify" {
            continue;
        }
        let known = ours.get(&name);
        let is_known = versions.iter().all(|version| known.is_some_and(|known| known.contains(version)));
        assert!(is_known, "tests/unify has {name} {versions:?}, the workspace {known:?}: copy Cargo.lock there, build");
    }
}

/// The packages of a lock file and their versions.
fn locked(path: &Path) -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut packages: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        let quoted = |prefix: &str| line.strip_prefix(prefix)?.strip_suffix('"').map(str::to_owned);
        if let Some(found) = quoted("name = \"") {
            name = found;
        } else if let Some(version) = quoted("version = \"") {
            packages.entry(name.clone()).or_default().push(version);
        }
    }
    packages
}
