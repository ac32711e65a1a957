//! Programs from npm that run as child processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

pub(crate) struct Peer {
    pub(crate) input: ChildStdin,
    pub(crate) output: ChildStdout,
    #[allow(dead_code, reason = "few tests need it")]
    pub(crate) folder: PathBuf,
    pub(crate) reports: Reports,
}

/// The lines of JSON that a program writes to standard error. Dropping this kills the program.
pub(crate) struct Reports {
    lines: Lines<BufReader<ChildStderr>>,
    child: Child,
}

impl Reports {
    /// Returns the next line. Panics after a minute.
    #[allow(dead_code, reason = "not all peers report")]
    pub(crate) async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(60), self.lines.next_line()).await;
        let line = line.expect("a line in time").expect("text").expect("the program is running");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a report: {line}"))
    }

    /// Waits until the program has ended. Returns whether it succeeded.
    #[allow(dead_code, reason = "not all peers end")]
    pub(crate) async fn exited(mut self) -> bool {
        self.child.wait().await.is_ok_and(|status| status.success())
    }
}

/// Starts a program in `peers` or one of its dependencies. If Node is not installed, prints a note and returns `None`.
pub(crate) fn node(program: &str, arguments: &[&str]) -> Option<Peer> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(install).as_ref()?;
    let mut child = Command::new("node")
        .arg(folder.join(program))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("Node starts");
    let (input, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    Some(Peer { input, output, folder: folder.clone(), reports: Reports { lines, child } })
}

/// Installs the dependencies of the programs. Returns the folder, or `None` without Node.
fn install() -> Option<PathBuf> {
    let is_available = |tool: &str| {
        let version = std::process::Command::new(tool).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    if !is_available("node") || !is_available("npm") {
        eprintln!("NOTE: Node is not installed, so other protocols are not tested with real peers");
        return None;
    }
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    // Several test binaries may run at the same time.
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME")).join("peers");
    fs::create_dir_all(&to).expect("a folder");
    for file in fs::read_dir(&from).expect("the programs") {
        let file = file.expect("a file").path();
        fs::copy(&file, to.join(file.file_name().expect("a name"))).expect("copied");
    }
    let (locked, mark) = (fs::read(from.join("package-lock.json")).expect("the lock file"), to.join("installed"));
    if fs::read(&mark).is_ok_and(|known| known == locked) {
        return Some(to);
    }
    let output = std::process::Command::new("npm").args(["ci", "--ignore-scripts"]).current_dir(&to).output();
    let output = output.expect("npm runs");
    assert!(output.status.success(), "npm: {}", String::from_utf8_lossy(&output.stderr));
    fs::write(mark, locked).expect("written");
    Some(to)
}
