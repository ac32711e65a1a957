//! A server in a child process, connected by non-blocking pipes.

use std::fs;
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use echo_driver::{Client, Contender};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::runtime::{Builder, Runtime};

use super::binaries::Binaries;

pub(crate) struct Process {
    runtime: Runtime,
    pub(crate) client: Client,
    child: Running,
}

impl Process {
    pub(crate) fn start(contender: &Contender, binaries: &Binaries) -> Result<Self> {
        let program = binaries.path(contender.package)?;
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let child = command.spawn().with_context(|| format!("starting {}", program.display()))?;
        let mut child = Running(child);
        let input: ChildStdin = child.0.stdin.take().context("no standard input")?;
        let output: ChildStdout = child.0.stdout.take().context("no standard output")?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let client = runtime.block_on(async {
            let writer = Sender::from_owned_fd(OwnedFd::from(input))?;
            let reader = Receiver::from_owned_fd(OwnedFd::from(output))?;
            Client::open(reader, writer, contender.dialect).await
        });
        let client = client.with_context(|| format!("{} as a child process", contender.name))?;
        Ok(Self { runtime, client, child })
    }

    pub(crate) fn one_by_one(&mut self, times: &mut Vec<Duration>) -> Result<()> {
        self.runtime.block_on(self.client.one_by_one(times))
    }

    pub(crate) fn in_flight(&mut self, depth: usize) -> Result<()> {
        self.runtime.block_on(self.client.in_flight(depth))
    }

    pub(crate) fn peak(&self) -> Result<f64> {
        memory(self.child.0.id(), "VmHWM")
    }
}

/// Returns a field of `/proc/<pid>/status`, in bytes.
pub(crate) fn memory(pid: u32, field: &str) -> Result<f64> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).with_context(|| path.clone())?;
    let value = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let value = value.with_context(|| format!("{path}: no {field}"))?;
    let kibibytes: f64 = value.trim().trim_end_matches("kB").trim().parse().context(path)?;
    Ok(kibibytes * 1024.0)
}

/// A child process. Dropping this kills it.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
