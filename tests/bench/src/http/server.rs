//! A server under test, as a child process.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::unistd::{SysconfVar, sysconf};

use crate::dispatch::child::{Running, memory};

pub(super) struct Server {
    child: Running,
    pub(super) port: u16,
    /// Keeps the pipe open, so that the server can still print.
    _output: BufReader<ChildStdout>,
}

impl Server {
    /// Starts a program that prints the port it listens on.
    pub(super) fn start(program: &Path, arguments: &[String]) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let child = command.spawn().with_context(|| format!("starting {}", program.display()))?;
        let mut child = Running(child);
        let mut output = BufReader::new(child.0.stdout.take().context("no standard output")?);
        let mut line = String::new();
        output.read_line(&mut line)?;
        let port = line.trim().parse().with_context(|| format!("{} printed no port", program.display()))?;
        Ok(Self { child, port, _output: output })
    }

    pub(super) fn resident(&self) -> Result<f64> {
        memory(self.child.0.id(), "VmRSS")
    }

    /// Returns the CPU time that all threads have used so far.
    pub(super) fn cpu(&self) -> Result<Duration> {
        cpu(self.child.0.id())
    }
}

pub(super) fn cpu(process: u32) -> Result<Duration> {
    let path = format!("/proc/{process}/stat");
    let stat = fs::read_to_string(&path).with_context(|| path.clone())?;
    // The program's name is in parentheses and may contain spaces. `utime` and `stime` are fields 14 and 15.
    let (_, fields) = stat.rsplit_once(')').with_context(|| path.clone())?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    let per_second = sysconf(SysconfVar::CLK_TCK)?.context("no CLK_TCK")?;
    Ok(Duration::from_secs_f64(ticks as f64 / per_second as f64))
}
