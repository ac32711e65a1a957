//! Builds the servers as programs, with the settings that their users would use.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Binaries(BTreeMap<String, PathBuf>);

/// The packages of the echo servers over standard input and output, and of the program that counts allocations.
pub(crate) const ECHO: [&str; 5] = ["echo-mcpgen", "echo-router", "echo-rmcp", "echo-hand", "echo-allocations"];

impl Binaries {
    /// Builds the packages with the release profile, into `target` or cargo's default target folder.
    ///
    /// Builds each package separately. In one build, cargo would unify the features of their dependencies.
    pub(crate) fn build(packages: &[&str], target: Option<&Path>) -> Result<Self> {
        let built = packages.iter().map(|package| Ok(((*package).to_owned(), build(package, target)?)));
        Ok(Self(built.collect::<Result<_>>()?))
    }

    pub(crate) fn path(&self, package: &str) -> Result<&Path> {
        self.0.get(package).map(PathBuf::as_path).with_context(|| format!("package {package} was not built"))
    }
}

fn build(package: &str, target: Option<&Path>) -> Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--locked", "--quiet", "--message-format=json", "-p", package]);
    command.current_dir(env!("CARGO_MANIFEST_DIR")).stderr(Stdio::inherit());
    if let Some(target) = target {
        command.arg("--target-dir").arg(target);
    }
    let output = command.output().context("starting cargo")?;
    ensure!(output.status.success(), "cargo build -p {package}: {}", output.status);
    let text = String::from_utf8(output.stdout)?;
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let targets = messages.filter(|message| message["target"]["name"] == package);
    let program = targets.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
    program.with_context(|| format!("cargo built no program for package {package}"))
}
