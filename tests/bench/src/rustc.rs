//! A rustc wrapper that records the time of each call. Cargo runs this program because of `RUSTC_WRAPPER`.

use std::env;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde::{Deserialize, Serialize};

/// The environment variable with the path of the log. If it is set, a process acts as the rustc wrapper.
pub const LOG: &str = "MCPGEN_BENCH_UNITS";

/// One call of rustc that compiled a crate.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Unit {
    pub name: String,
    /// The elapsed time in seconds.
    pub wall: f64,
    /// The CPU time of rustc and the linker in seconds.
    pub cpu: f64,
}

/// If cargo called this program as the wrapper, runs rustc and returns its exit code. Otherwise returns `None`.
///
/// Call this before parsing the command line, which then contains rustc's arguments.
pub fn run_as_wrapper() -> Option<ExitCode> {
    let log = env::var_os(LOG)?;
    let code = run(Path::new(&log)).unwrap_or_else(|error| {
        eprintln!("{error:#}");
        ExitCode::FAILURE
    });
    Some(code)
}

/// Returns the recorded calls in the order in which they ended.
pub fn units(log: &Path) -> anyhow::Result<Vec<Unit>> {
    let text = fs::read_to_string(log).context("reading the unit log")?;
    text.lines().map(|line| serde_json::from_str(line).context("decoding a line of the unit log")).collect()
}

/// Returns the CPU time of all child processes that have ended, including their children.
pub fn children_cpu() -> anyhow::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("reading the CPU time of child processes")?;
    let microseconds = (usage.user_time() + usage.system_time()).num_microseconds();
    Ok(Duration::from_micros(microseconds.unsigned_abs()))
}

fn run(log: &Path) -> anyhow::Result<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    let rustc = arguments.next().context("missing argument: the path of rustc")?;
    let arguments: Vec<OsString> = arguments.collect();
    let mut command = Command::new(rustc);
    command.args(&arguments).env_remove(LOG);
    let Some(name) = crate_name(&arguments) else { return Ok(code(command.status().context("starting rustc")?)) };
    if !arguments.iter().any(|argument| argument == "--cap-lints") {
        // Cargo caps the lints of crates from a registry. This treats the crates of this repository in the same way.
        command.args(["--cap-lints", "allow"]);
    }
    let began = Instant::now();
    let status = command.status().context("starting rustc")?;
    let unit = Unit { name, wall: began.elapsed().as_secs_f64(), cpu: children_cpu()?.as_secs_f64() };
    record(log, &unit)?;
    Ok(code(status))
}

/// Returns the name of the crate, or `None` if cargo only asks rustc for information.
fn crate_name(arguments: &[OsString]) -> Option<String> {
    let at = arguments.iter().position(|argument| argument == "--crate-name")?;
    let name = arguments.get(at + 1)?.to_str()?;
    (name != "___").then(|| name.to_owned())
}

/// Appends a call to the log. Makes a single write, because several processes append at the same time.
fn record(log: &Path, unit: &Unit) -> anyhow::Result<()> {
    let line = serde_json::to_string(unit)? + "\n";
    let mut file = OpenOptions::new().create(true).append(true).open(log).context("opening the unit log")?;
    file.write_all(line.as_bytes()).context("writing the unit log")
}

fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}
