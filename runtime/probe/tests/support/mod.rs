//! Runs the command and the server of the tests.

pub(crate) mod servers;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// The folder with the lock file of the published servers, relative to this package.
pub(crate) const SERVERS: &str = "tests/servers";

/// The environment variable that names the file to which `probe_server` writes what arrives.
pub(crate) const RECORD: &str = "PROBE_SERVER_RECORD";

/// What a run has written, and its exit code.
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Answer {
    fn from(output: Output) -> Answer {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Answer { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

/// Creates the command.
pub(crate) fn probe(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcpgen-probe"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // With `CI`, terminals have colours even if they are dumb.
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(name);
    }
    command
}

pub(crate) fn run(arguments: &[&str]) -> Answer {
    probe(arguments).output().expect("the command runs").into()
}

/// Returns the path of the example `probe_server`, which cargo builds for the tests.
pub(crate) fn server() -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_mcpgen-probe")).parent().expect("a folder");
    let path = folder.join("examples").join(format!("probe_server{}", std::env::consts::EXE_SUFFIX));
    path.to_str().expect("UTF-8").to_owned()
}

/// The server over HTTP.
pub(crate) struct HttpServer {
    pub(crate) url: String,
    child: Child,
}

impl HttpServer {
    pub(crate) fn start() -> HttpServer {
        Self::recording(None)
    }

    /// Starts a server that writes what arrives to a file.
    pub(crate) fn recording(record: Option<&Path>) -> HttpServer {
        let mut command = Command::new(server());
        command.envs(record.map(|record| (RECORD, record)));
        let child = command.arg("--http").stdout(Stdio::piped()).spawn();
        let mut child = child.expect("the server runs");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut url).expect("a URL");
        HttpServer { url: url.trim().to_owned(), child }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
