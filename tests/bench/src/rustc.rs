//! A rustc that says what it took: cargo calls this program in its place.

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

/// Names the file that each unit adds a line to. A process that has it stands in for rustc.
pub const LOG: &str = "MCPGEN_BENCH_UNITS";

/// One call of rustc that compiled a crate.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Unit {
    /// The crate, as rustc calls it.
    pub name: String,
    /// Seconds from the start to the end.
    pub wall: f64,
    /// Seconds of work of rustc and the linker.
    pub cpu: f64,
}

/// If cargo called this program in the place of rustc: does what rustc does, and how that ended.
///
/// To be asked before the command line is looked at, which is rustc's.
pub fn stand_in() -> Option<ExitCode> {
    let log = env::var_os(LOG)?;
    let code = run(Path::new(&log)).unwrap_or_else(|error| {
        eprintln!("{error:#}");
        ExitCode::FAILURE
    });
    Some(code)
}

/// The units that were noted, in the order in which they ended.
pub fn units(log: &Path) -> anyhow::Result<Vec<Unit>> {
    let text = fs::read_to_string(log).context("no rustc was called")?;
    text.lines().map(|line| serde_json::from_str(line).context("a unit's line")).collect()
}

/// What the processes that were waited for have worked so far, with all that they waited for.
pub fn children_cpu() -> anyhow::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("asking for the time of children")?;
    let worked = (usage.user_time() + usage.system_time()).num_microseconds();
    Ok(Duration::from_micros(worked.unsigned_abs()))
}

fn run(log: &Path) -> anyhow::Result<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    let rustc = arguments.next().context("cargo names rustc first")?;
    let arguments: Vec<OsString> = arguments.collect();
    let mut command = Command::new(rustc);
    command.args(&arguments).env_remove(LOG);
    let Some(name) = crate_name(&arguments) else { return Ok(code(command.status().context("rustc")?)) };
    if !arguments.iter().any(|argument| argument == "--cap-lints") {
        // Crates of a registry are not linted, so those of this repository are not either.
        command.args(["--cap-lints", "allow"]);
    }
    let began = Instant::now();
    let status = command.status().context("rustc")?;
    let unit = Unit { name, wall: began.elapsed().as_secs_f64(), cpu: children_cpu()?.as_secs_f64() };
    note(log, &unit)?;
    Ok(code(status))
}

/// The crate that is compiled; none if cargo only asks rustc about itself.
fn crate_name(arguments: &[OsString]) -> Option<String> {
    let at = arguments.iter().position(|argument| argument == "--crate-name")?;
    let name = arguments.get(at + 1)?.to_str()?;
    (name != "___").then(|| name.to_owned())
}

/// Units end at the same time, so each line is one write.
fn note(log: &Path, unit: &Unit) -> anyhow::Result<()> {
    let line = serde_json::to_string(unit)? + "\n";
    let mut file = OpenOptions::new().create(true).append(true).open(log).context("the log of units")?;
    file.write_all(line.as_bytes()).context("the log of units")
}

fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}
