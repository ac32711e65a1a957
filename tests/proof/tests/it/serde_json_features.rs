//! Checks that the types lose no data, whichever serde_json features other crates enable.
//!
//! A feature applies to a whole build. That is why `tests/serde-json-features` is a crate outside the workspace, which
//! this test builds and tests with each set of features.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use mcpgen_proof::settings::is_thorough;

/// All sets of the three features that change how serde_json reads and stores values, and one set with a fourth
/// feature. mcpgen-types already enables `raw_value` and `float_roundtrip`, so sets that differ only in these two
/// rebuild only the test.
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
fn types_are_lossless_with_all_serde_json_features() {
    let start = Instant::now();
    // Each set needs a build. By default, only the smallest and the largest set are tested.
    let sets = if is_thorough() { &FEATURES[..] } else { &[FEATURES[0], FEATURES[8]] };
    for features in sets {
        let since = Instant::now();
        let summary = test(features);
        println!("[{features}]: {summary} ({:.1} s)", since.elapsed().as_secs_f32());
    }
    println!("{:.1} s in total", start.elapsed().as_secs_f32());
}

/// Builds and tests the crate with these features, and returns the summary of the test harness.
fn test(features: &str) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let output = Command::new(cargo)
        .args(["test", "--locked", "--quiet", "--no-default-features", "--features", features, "--manifest-path"])
        .arg(dependent().join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target())
        // The flags of this build do not apply to the other crate.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .unwrap_or_else(|error| panic!("cannot start cargo: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "with [{features}]:\n{out}\n{err}");
    let summary = out.lines().find(|line| line.starts_with("test result: ok. ") && !line.contains(" 0 passed"));
    let summary = summary.unwrap_or_else(|| panic!("no tests ran with [{features}]:\n{out}\n{err}"));
    summary.trim_start_matches("test result: ").split(';').next().unwrap_or_default().to_owned()
}

fn dependent() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../serde-json-features")
}

/// Returns a folder in the workspace's target folder, wherever that is.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("serde-json-features")
}

/// The crate uses the same versions of its dependencies as all other tests.
#[test]
fn dependent_locks_the_versions_of_the_workspace() {
    let ours = locked(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock"));
    let theirs = locked(&dependent().join("Cargo.lock"));
    assert!(theirs.len() > 5, "{theirs:?}");
    for (name, versions) in theirs {
        if name == "mcpgen-serde-json-features" {
            continue;
        }
        let known = ours.get(&name);
        let is_known = versions.iter().all(|version| known.is_some_and(|known| known.contains(version)));
        assert!(
            is_known,
            "tests/serde-json-features locks {name} {versions:?}, the workspace {known:?}: copy Cargo.lock there and build it"
        );
    }
}

/// Returns the packages in a lock file with their versions.
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
