//! Compares the compile errors of wrong handlers with snapshots. `TRYBUILD=overwrite` rewrites the snapshots.

use std::io::Write as _;
use std::process::Command;

/// The release of rustc that made the snapshots. Others format errors differently, so the test is skipped with them.
const RUSTC: &str = "1.95.0";

#[test]
fn compile_errors_name_the_remedy() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().expect("rustc runs");
    let version = String::from_utf8(output.stdout).expect("UTF-8");
    if version.split_whitespace().nth(1) != Some(RUSTC) {
        // The test harness hides what `eprintln` writes.
        let note = format!("NOTE: skipped compile_errors: the snapshots are of rustc {RUSTC}, this is {version}");
        std::io::stderr().write_all(note.as_bytes()).expect("standard error is open");
        return;
    }
    trybuild::TestCases::new().compile_fail("cases/*.rs");
}
