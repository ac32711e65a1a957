//! The examples, which cargo builds together with the tests.

use std::path::{Path, PathBuf};

/// Returns the path of an example of this crate.
pub(crate) fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().expect("the path of the test");
    let profile = tests.parent().and_then(Path::parent).expect("target/<profile>/deps");
    let example = profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(example.exists(), "example {name} is not built; run `cargo test -p mcpgen-sdk` without `--test`");
    example
}
