//! Measures the binary size, the memory and the allocations of servers.

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

/// The goal for our size and memory, as a multiple of the official SDK's.
const RATIO: f64 = 0.75;
const ALLOCATIONS: f64 = 5.0;

const MEBIBYTE: f64 = (1 << 20) as f64;

pub(crate) fn run(quick: bool, binaries: &Binaries) -> Result<Vec<Section>> {
    Ok(vec![
        Section {
            name: "footprint",
            title: "A server with one tool, built with the default release profile".to_owned(),
            cases: sizes(binaries)?.into_iter().chain([memory(quick, binaries)?]).collect(),
            notes: vec![
                "Each server enables only the features that it needs: `mcpgen` has `stdio`, `rmcp` has \
                 `macros`, `server` and `transport-io`. Memory is the peak resident memory after 10,000 calls (1,000 \
                 in a quick run) with 64 in flight over standard input and output."
                    .to_owned(),
            ],
        },
        Section {
            name: "allocations",
            title: "Allocations per tools/call in process".to_owned(),
            cases: allocations(binaries)?,
            notes: vec![
                "Counted by the allocator, for sequential calls after a warm-up that lets buffers grow to their final \
                 size. The client does not allocate. Each reallocation counts."
                    .to_owned(),
            ],
        },
    ])
}

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
    let case = |name: &str, figures| Case::new(name, "MiB", figures).base(RMCP).goal(Goal::at_most(RATIO, RMCP));
    let mut cases = vec![case("with symbols", built)];
    if !stripped.is_empty() {
        cases.push(case("without symbols", stripped));
    }
    Ok(cases)
}

/// Returns the size of the program without symbols, in bytes, or `None` if `strip` is not installed.
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
    let mut peaks: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for _ in 0..turns {
        for contender in programs() {
            let mut server = Process::start(contender, binaries)?;
            server.client.prepare(calls);
            server.in_flight(IN_FLIGHT).with_context(|| contender.name.to_owned())?;
            peaks.entry(contender.name).or_default().push(server.peak()? / MEBIBYTE);
        }
    }
    let figure =
        |contender: &Contender| (contender.name.to_owned(), median(peaks.remove(contender.name).unwrap_or_default()));
    let figures = programs().map(figure).collect();
    Ok(Case::new("peak memory", "MiB", figures).base(RMCP).goal(Goal::at_most(RATIO, RMCP)))
}

fn allocations(binaries: &Binaries) -> Result<Vec<Case>> {
    let program = binaries.path("echo-allocations")?;
    let output = Command::new(program).stderr(Stdio::inherit()).output().context("counting allocations")?;
    ensure!(output.status.success(), "{}: {}", program.display(), output.status);
    let allocations: BTreeMap<String, (f64, f64)> = serde_json::from_slice(&output.stdout)?;
    let (mut counts, mut bytes) = (Vec::new(), Vec::new());
    for Contender { name, .. } in &CONTENDERS {
        let (count, size) = allocations.get(*name).with_context(|| format!("no allocations reported for {name}"))?;
        counts.push(((*name).to_owned(), *count));
        bytes.push(((*name).to_owned(), *size));
    }
    let counts = Case::new("number", "allocations", counts).base(HAND);
    Ok(vec![counts.goal(Goal::limit(ALLOCATIONS)), Case::new("total size", "bytes", bytes).base(HAND)])
}
