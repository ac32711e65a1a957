//! Published servers, which npm installs from `servers/package-lock.json`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Returns the command that starts a server. `None`, with a note, if Node and npm are not installed.
pub(crate) fn command(server: &str, arguments: &[&str]) -> Option<Vec<String>> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(install).as_ref()?;
    let program = folder.join(format!("node_modules/@modelcontextprotocol/server-{server}/dist/index.js"));
    let program = program.to_str().expect("UTF-8").to_owned();
    Some(["node".to_owned(), program].into_iter().chain(arguments.iter().map(|it| (*it).to_owned())).collect())
}

fn install() -> Option<PathBuf> {
    for program in ["node", "npm"] {
        let version = Command::new(program).arg("--version").output();
        if !version.is_ok_and(|output| output.status.success()) {
            eprintln!("NOTE: {program} is not installed, so published servers are not tested");
            return None;
        }
    }
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(super::SERVERS);
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(concat!(env!("CARGO_PKG_NAME"), "-servers"));
    fs::create_dir_all(&to).expect("a folder");
    for file in ["package.json", "package-lock.json", ".npmrc"] {
        fs::copy(from.join(file), to.join(file)).expect("copied");
    }
    let (locked, mark) = (fs::read(from.join("package-lock.json")).expect("the lock file"), to.join("installed"));
    if !fs::read(&mark).is_ok_and(|known| known == locked) {
        let output = Command::new("npm").args(["ci", "--ignore-scripts", "--loglevel=error"]).current_dir(&to).output();
        let output = output.expect("npm runs");
        assert!(output.status.success(), "npm: {}", String::from_utf8_lossy(&output.stderr));
        fs::write(mark, locked).expect("written");
    }
    Some(to)
}
