//! Measures code generation: all vendored revisions, each of them compared with typify, and documents of growing size.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, anyhow, ensure};
use mcpgen::{Document, Options, SUPPORT, Workspace, emit, model, vendored};
use mcpgen_model::snapshot::Snapshot;
use mcpgen_model::{Revision, Status, build, fixups, schema_path};
use mcpgen_schema::normalise;
use typify::{TypeSpace, TypeSpaceSettings};

use crate::report::{Case, Figure, Goal, OURS, Section};
use crate::sample::{Contender, alternate, median};
use crate::synthetic;

/// Measures generators in turn. `quick` takes few turns and leaves out the document of 10,000 definitions.
pub fn run(quick: bool) -> anyhow::Result<Vec<Section>> {
    let workspace = Workspace::open(Some(&root()))?;
    let generated = vendored::generate(&workspace, true)?;
    ensure!(generated.changes.changes.is_empty(), "the generated files are out of date: run `cargo mcpgen generate`");
    let turns = if quick { 3 } else { 41 };
    Ok(vec![revisions(&workspace, turns)?, stages(&workspace, turns)?, growth(quick)?, review(&workspace, turns)?])
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Measures all revisions as `mcpgen generate --check` generates them, and compares each with typify.
fn revisions(workspace: &Workspace, turns: usize) -> anyhow::Result<Section> {
    let check = || drop(black_box(Workspace::open(Some(&root())).and_then(|all| vendored::generate(&all, true))));
    let all = alternate(vec![Contender::new(OURS, check)], turns);
    let all = all.into_iter().map(|(contender, nanoseconds)| (contender, nanoseconds / 1e9)).collect();
    let mut cases = vec![Case::new("all revisions", "s", all).goal(Goal::limit(0.5))];
    let mut notes = vec![
        "All revisions are generated as in `mcpgen generate --check`: from the schemas to formatted Rust, which is \
         compared with the existing files. For each revision, typify generates types from the same schema, and \
         prettyplease formats them."
            .to_owned(),
    ];
    for revision in &workspace.revisions {
        let path = workspace.root.join(schema_path(&revision.name));
        ours(&path, revision)?;
        let mut contenders = vec![Contender::new(OURS, || drop(black_box(ours(&path, revision))))];
        let result = catch_panics(|| by_typify(&path));
        match &result {
            Ok(_) => contenders.push(Contender::new(TYPIFY, || drop(black_box(by_typify(&path))))),
            Err(error) => notes.push(format!("typify fails on {}: {error}.", revision.name)),
        }
        let case = Case::new(&revision.name, "ns", alternate(contenders, turns));
        cases.push(if result.is_ok() { case.base(TYPIFY).goal(Goal::at_most(3.0, TYPIFY)) } else { case });
    }
    Ok(Section { name: "generation", title: "Code generation".to_owned(), cases, notes })
}

/// Measures `mcpgen diff` with two revisions, and with two lists of 1,000 tools that all differ.
fn review(workspace: &Workspace, turns: usize) -> anyhow::Result<Section> {
    let paths = ["2025-11-25", "2026-07-28"].map(|revision| (revision, workspace.root.join(schema_path(revision))));
    let read = || -> Result<usize, mcpgen::Error> {
        let model = |(name, path): &(&str, PathBuf)| model(Document::read(path)?, name, true);
        Ok(mcpgen_diff::diff(&model(&paths[0])?, &model(&paths[1])?).findings.len())
    };
    ensure!(read()? > 0, "the revisions differ");
    let texts = [synthetic::tools(1_000, "string"), synthetic::tools(1_000, "integer")];
    let compare = || -> Result<usize, mcpgen::Error> {
        let [old, new] = texts.each_ref().map(|text| Snapshot::parse("tools.json", text));
        Ok(mcpgen_diff::lists::diff(&old?, &new?).findings.len())
    };
    ensure!(compare()? == 1_000, "every tool differs");
    let contender = |work: &dyn Fn() -> Result<usize, mcpgen::Error>, turns: usize| -> Vec<(String, f64)> {
        let ours = vec![Contender::new(OURS, || drop(black_box(work())))];
        alternate(ours, turns).into_iter().map(|(name, nanoseconds)| (name, nanoseconds / 1e9)).collect()
    };
    let cases = vec![
        Case::new("diff of two revisions", "s", contender(&read, turns)).goal(Goal::limit(0.05)),
        Case::new("diff of two lists of 1,000 tools", "s", contender(&compare, turns.min(11))).goal(Goal::limit(1.0)),
    ];
    let notes =
        vec!["From the files or texts to the findings. The type of one argument of each tool changes.".to_owned()];
    Ok(Section { name: "review", title: "Comparing schemas and tool lists".to_owned(), cases, notes })
}

const TYPIFY: &str = "typify";

fn ours(path: &Path, revision: &Revision) -> Result<usize, mcpgen::Error> {
    let protocol = model(Document::read(path)?, &revision.name, revision.status == Status::Released)?;
    Ok(emit(&protocol, &options(&revision.name, None))?.values().map(String::len).sum())
}

/// Generates types as typify's documentation does. Returns the length of the code.
fn by_typify(path: &Path) -> anyhow::Result<usize> {
    let schema: schemars::schema::RootSchema = serde_json::from_slice(&fs::read(path)?)?;
    let mut space = TypeSpace::new(TypeSpaceSettings::default().with_struct_builder(false));
    space.add_root_schema(schema)?;
    let file = syn::parse2(space.to_stream())?;
    Ok(prettyplease::unparse(&file).len())
}

/// Runs `work` without printing panics. Returns a panic as an error.
fn catch_panics<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let done = catch_unwind(AssertUnwindSafe(work));
    set_hook(hook);
    done.unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<String>().map(String::as_str).or_else(|| cause.downcast_ref::<&str>().copied());
        let line = text.and_then(|text| text.lines().next()).unwrap_or("without a message");
        Err(anyhow!("panic: `{line}`"))
    })
}

fn options(revision: &str, vendored: Option<String>) -> Options {
    let support = if vendored.is_some() { "crate" } else { SUPPORT }.to_owned();
    Options { support, command: "bench".to_owned(), source: schema_path(revision), vendored }
}

/// Measures the time that each stage takes for all revisions together.
fn stages(workspace: &Workspace, turns: usize) -> anyhow::Result<Section> {
    let mut times = [const { Vec::new() }; STAGES.len()];
    for _ in 0..turns {
        let mut turn = [0.0; STAGES.len()];
        for revision in &workspace.revisions {
            let path = workspace.root.join(schema_path(&revision.name));
            let released = revision.status == Status::Released;
            let took = pass(&fs::read(path)?, &revision.name, released, Some(revision.module()))?;
            turn.iter_mut().zip(took).for_each(|(sum, took)| *sum += took);
        }
        times.iter_mut().zip(turn).for_each(|(times, took)| times.push(took));
    }
    let case = |(stage, times)| Case::new(stage, "ns", vec![(OURS.to_owned(), median(times))]);
    let cases = STAGES.into_iter().zip(times).map(case).collect();
    let title = "Code generation by stage, all revisions together".to_owned();
    Ok(Section { name: "generation-stages", title, cases, notes: Vec::new() })
}

const STAGES: [&str; 4] = ["Document", "Normalised", "Protocol", "Files"];

/// Runs all stages once. Returns the nanoseconds of each.
fn pass(schema: &[u8], revision: &str, released: bool, module: Option<String>) -> Result<[f64; 4], mcpgen::Error> {
    let options = options(revision, module);
    let (document, reading) = timed(|| Document::parse("schema.json", schema));
    let mut document = document?;
    let (normalised, normalising) = timed(|| {
        let fixups = fixups::apply(&mut document, revision, released)?;
        Ok((normalise(document)?, fixups))
    });
    let (normalised, fixups) = normalised?;
    let (protocol, building) = timed(|| build(normalised, None, &BTreeMap::new(), fixups, revision));
    let protocol = protocol?;
    let (files, emitting) = timed(|| emit(&protocol, &options));
    black_box(files?);
    Ok([reading, normalising, building, emitting])
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let began = Instant::now();
    let done = work();
    (done, began.elapsed().as_nanos() as f64)
}

/// Measures the time per definition for documents of 100 to 10,000 definitions.
fn growth(quick: bool) -> anyhow::Result<Section> {
    let sizes: &[usize] = if quick { &[100, 1_000] } else { &[100, 1_000, 10_000] };
    let rounds = if quick { 1 } else { 3 };
    let largest = sizes.iter().copied().max().unwrap_or(1);
    let documents: Vec<(usize, Vec<u8>)> = sizes.iter().map(|&size| (size, synthetic::schema(size))).collect();
    let mut times = vec![Vec::new(); sizes.len()];
    for _ in 0..rounds {
        for ((size, schema), times) in documents.iter().zip(&mut times) {
            // Every size processes the same number of definitions, so that interruptions affect all sizes equally.
            let repeats = largest / size;
            let (done, took) =
                timed(|| (0..repeats).try_for_each(|_| pass(schema, "synthetic", false, None).map(drop)));
            done.with_context(|| format!("{size} definitions"))?;
            times.push(took / (size * repeats) as f64);
        }
    }
    let figures: Vec<(String, f64)> =
        sizes.iter().zip(times).map(|(&size, times)| (label(size), median(times))).collect();
    let largest = figures.last().map(|(_, figure)| *figure).context("no sizes")?;
    let mut case = Case::new("time per definition", "ns", figures).base(&label(1_000));
    case.figures.insert(0, Figure { contender: OURS.to_owned(), median: largest });
    let cases = vec![case.goal(Goal::at_most(1.5, &label(1_000)))];
    let notes = vec![format!(
        "`{OURS}` is the largest document. One definition in ten is a request; the others include objects with members \
         of all kinds and tagged unions."
    )];
    let title = "Code generation by the number of definitions".to_owned();
    Ok(Section { name: "generation-growth", title, cases, notes })
}

fn label(size: usize) -> String {
    match size {
        10_000 => "10,000 definitions".to_owned(),
        1_000 => "1,000 definitions".to_owned(),
        size => format!("{size} definitions"),
    }
}
