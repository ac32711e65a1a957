//! What a server takes besides time: bytes on disk, memory, allocations.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use echo_driver::{CONTENDERS, Contender, Dialect};

use crate::dispatch::IN_FLIGHT;
use crate::dispatch::binaries::Binaries;
use crate::dispatch::child::Process;
use crate::report::{Case, Goal, Section};
use crate::sample::median;

const RMCP: &str = "rmcp";
const HAND: &str = "hand";

/// How much of the official SDK's size and memory ours may have.
const PART: f64 = 0.75;
/// How many allocations a call may need.
const HANDFUL: f64 = 5.0;

const MEBIBYTE: f64 = (1 << 20) as f64;

pub(crate) fn run(quick: bool, binaries: &Binaries) -> Result<Vec<Section>> {
    Ok(vec![
        Section {
            name: "footprint",
            title: "A server of one tool, built for release as it comes".to_owned(),
            cases: sizes(binaries)?.into_iter().chain([memory(quick, binaries)?]).collect(),
            notes: vec![
                "Each has only the features that it needs: `mcpgen` those called `stdio` and `schemars`, `rmcp` \
                 those called `macros`, `server` and `transport-io`. Memory is the peak of what is resident after \
                 10,000 calls with 64 in flight over standard input and output (1,000 in a quick run)."
                    .to_owned(),
            ],
        },
        Section {
            name: "allocations",
            title: "Allocations for a tools/call in process".to_owned(),
            cases: allocations(binaries)?,
            notes: vec![
                "Counted by the allocator, one call after the other, when buffers have their size already. The \
                 client allocates nothing. A buffer that grows counts again."
                    .to_owned(),
            ],
        },
    ])
}

/// One of each program.
fn programs() -> impl Iterator<Item = &'static Contender> {
    CONTENDERS.iter().filter(|contender| contender.dialect == Dialect::Handshake)
}

fn sizes(binaries: &Binaries) -> Result<Vec<Case>> {
    let (mut built, mut stripped) = (Vec::new(), Vec::new());
    for contender in programs() {
        let path = binaries.path(contender.package)?;
        built.push((contender.name.to_owned(), fs::metadata(path)?.len() as f64 / MEBIBYTE));
        if let Some(size) = stripped_size(path)? {
            stripped.push((contender.name.to_owned(), size / MEBIBYTE));
        }
    }
    let case = |name: &str, figures| Case::new(name, "MiB", figures).base(RMCP).goal(Goal::at_most(PART, RMCP));
    let mut cases = vec![case("the program as built", built)];
    if !stripped.is_empty() {
        cases.push(case("without its symbols", stripped));
    }
    Ok(cases)
}

/// Nothing where there is no `strip`.
fn stripped_size(program: &Path) -> Result<Option<f64>> {
    let stripped = program.with_extension("stripped");
    match Command::new("strip").arg("-o").arg(&stripped).arg(program).stderr(Stdio::inherit()).status() {
        Err(_) => Ok(None),
        Ok(status) => {
            ensure!(status.success(), "strip {}: {status}", program.display());
            let size = fs::metadata(&stripped)?.len() as f64;
            fs::remove_file(&stripped)?;
            Ok(Some(size))
        }
    }
}

fn memory(quick: bool, binaries: &Binaries) -> Result<Case> {
    let (turns, calls) = if quick { (1, 1_000) } else { (5, 10_000) };
    let mut found: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for _ in 0..turns {
        for contender in programs() {
            let mut server = Process::start(contender, binaries)?;
            server.client.prepare(calls);
            server.in_flight(IN_FLIGHT).with_context(|| contender.name.to_owned())?;
            found.entry(contender.name).or_default().push(server.peak()? / MEBIBYTE);
        }
    }
    let figure =
        |contender: &Contender| (contender.name.to_owned(), median(found.remove(contender.name).unwrap_or_default()));
    let figures = programs().map(figure).collect();
    Ok(Case::new("peak memory", "MiB", figures).base(RMCP).goal(Goal::at_most(PART, RMCP)))
}

fn allocations(binaries: &Binaries) -> Result<Vec<Case>> {
    let program = binaries.path("echo-allocations")?;
    let output = Command::new(program).stderr(Stdio::inherit()).output().context("counting allocations")?;
    ensure!(output.status.success(), "{}: {}", program.display(), output.status);
    let found: BTreeMap<String, (f64, f64)> = serde_json::from_slice(&output.stdout)?;
    let (mut counts, mut bytes) = (Vec::new(), Vec::new());
    for Contender { name, .. } in &CONTENDERS {
        let (count, size) = found.get(*name).with_context(|| format!("no allocations of {name}"))?;
        counts.push(((*name).to_owned(), *count));
        bytes.push(((*name).to_owned(), *size));
    }
    let counts = Case::new("how many", "allocations", counts).base(HAND);
    Ok(vec![counts.goal(Goal::below(HANDFUL)), Case::new("how large together", "bytes", bytes).base(HAND)])
}
