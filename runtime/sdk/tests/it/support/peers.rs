//! Programs of the official SDKs, which are installed from lock files into the target folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Returns the path of an installed program.
pub(crate) fn path_of(program: &str) -> String {
    installed().join(program).display().to_string()
}

pub(crate) fn installed() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers")
}

/// Returns whether a tool is installed. Prints a note if it is not.
fn is_installed(tool: &str, sdk: &str) -> bool {
    let is_available = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_available {
        eprintln!("NOTE: {tool} is not installed, so nothing is tested against the {sdk} SDK");
    }
    is_available
}

/// Copies the programs, and runs the installation if the lock file has changed.
fn install(lock: &str, steps: &[(&str, &[&str])]) {
    let (from, to) = (Path::new(env!("CARGO_MANIFEST_DIR")).join(super::PEERS), installed());
    fs::create_dir_all(&to).expect("a folder");
    for file in fs::read_dir(&from).expect("the programs") {
        let file = file.expect("a file").path();
        fs::copy(&file, to.join(file.file_name().expect("a name"))).expect("copied");
    }
    let (locked, mark) = (fs::read(from.join(lock)).expect("the lock file"), to.join(format!("{lock}.installed")));
    if fs::read(&mark).is_ok_and(|known| known == locked) {
        return;
    }
    for (program, arguments) in steps {
        let output = Command::new(program).args(*arguments).current_dir(&to).output().expect("the installer runs");
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    }
    fs::write(mark, locked).expect("written");
}

/// Returns the Node command with the TypeScript SDKs installed.
pub(crate) fn node() -> Option<&'static str> {
    static NODE: OnceLock<bool> = OnceLock::new();
    let is_available = *NODE.get_or_init(|| {
        let is_available = is_installed("node", "TypeScript") && is_installed("npm", "TypeScript");
        if is_available {
            install("package-lock.json", &[("npm", &["ci", "--ignore-scripts"])]);
        }
        is_available
    });
    is_available.then_some("node")
}

/// Returns the Python command with the SDK installed.
pub(crate) fn python() -> Option<&'static str> {
    static PYTHON: OnceLock<Option<String>> = OnceLock::new();
    PYTHON
        .get_or_init(|| {
            is_installed("python3", "Python").then(|| {
                let python = installed().join("python/bin/python").display().to_string();
                let pip = ["-m", "pip", "install", "--quiet", "--require-hashes", "-r", "requirements.txt"];
                install("requirements.txt", &[("python3", &["-m", "venv", "python"]), (&python, &pip)]);
                python
            })
        })
        .as_deref()
}
