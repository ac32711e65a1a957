//! Runs the shell scripts in `.github` with this build of mcpgen.

use std::path::Path;
use std::process::{Command, Output};

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Returns whether all programs are installed. Otherwise, says that the test is skipped.
pub(crate) fn has(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| Command::new(program).arg("--version").output().is_err());
    if let Some(program) = missing {
        eprintln!("skipped: {program} is not installed");
    }
    missing.is_none()
}

/// Prepares a bash that finds this build of mcpgen and no Git configuration.
pub(crate) fn bash(folder: &Path, script: &str) -> Command {
    let bin = Path::new(env!("CARGO_BIN_EXE_mcpgen")).parent().expect("a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([bin.to_owned()].into_iter().chain(std::env::split_paths(&path))).expect("a path");
    let mut shell = Command::new("bash");
    shell.args(["-e", "-c", script]).current_dir(folder).env("PATH", path);
    for (name, value) in [("NAME", "a"), ("EMAIL", "a@example.org")] {
        shell.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    shell.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("ROOT", ROOT);
    // A Git hook or a workflow that runs the tests sets these.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("GITHUB_") || ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"].contains(&name.as_str()) {
            shell.env_remove(&name);
        }
    }
    shell
}

pub(crate) fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs a script that must succeed.
#[track_caller]
pub(crate) fn succeeds(mut shell: Command) -> String {
    let output = shell.output().expect("bash runs");
    assert!(output.status.success(), "{}", text(&output));
    text(&output)
}
