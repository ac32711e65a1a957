//! The examples, which cargo builds beside the tests.

use std::path::{Path, PathBuf};

/// An example of this crate.
pub(crate) fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().expect("the test's own path");
    let profile = tests.parent().and_then(Path::parent).expect("target/<profile>/deps");
    let example = profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(example.exists(), "build the examples as well: cargo test -p mcpgen-runtime, without --test");
    example
}
