//! Tests the generator with mutated schemas. It must return code that compiles, or problems that name a place, a reason
//! and a remedy. It must never panic, hang or report another kind of error.
//!
//! A failure names its seed. To reproduce it, run `MCPGEN_SEED=<seed> MCPGEN_MUTATIONS=1 cargo test -p mcpgen-proof
//! mutation`. Set `MCPGEN_KEEP=<folder>` to keep the schema and the crate.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use mcpgen::{Document, Error, Options, Problem};
use mcpgen_model::Json;
use mcpgen_proof::mutate::{Mutant, mutate};
use mcpgen_proof::settings::setting;
use mcpgen_schema::json::pointer::escape;

/// The first seed, unless `MCPGEN_SEED` is set.
const SEED: u64 = 20_261_121;
/// The file name that error messages give for a mutant.
const FILE: &str = "mutant.json";
/// The CPU time that a mutant may take.
const CPU_LIMIT: Duration = Duration::from_secs(5);
/// The time after which a mutant counts as hanging, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
/// A run stops after this many failures.
const MAX_FAILURES: usize = 20;

/// Returns the schemas to mutate, with the names of their revisions.
fn originals() -> Vec<(String, Json)> {
    let read = |folder: &Path| -> Vec<(String, Json)> {
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let mut paths: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path().join("schema.json"))).collect();
        paths.retain(|path| path.is_file());
        paths.sort();
        let named = paths.iter().map(|path| {
            let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let json = Json::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let revision = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
            (revision, json)
        });
        named.collect()
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut originals = read(&root.join("../../schema"));
    assert!(originals.len() >= 5, "vendored schemas are missing");
    let official = read(&root.join("../../../shared/schema"));
    if official.is_empty() {
        eprintln!(
            "NOTE: ../../shared/schema is missing, so only the vendored schemas, without descriptions, are mutated"
        );
    }
    originals.extend(official);
    originals
}

/// Returns the revision that a seed mutates, whether the mutant counts as that released revision, and the mutant.
fn make(originals: &[(String, Json)], seed: u64) -> (String, bool, Mutant) {
    let mut rng = fastrand::Rng::with_seed(seed ^ 0x5eed);
    let (revision, schema) = &originals[rng.usize(0..originals.len())];
    let released = revision.starts_with('2') && rng.u8(0..10) == 0;
    (revision.clone(), released, mutate(schema, seed))
}

fn options() -> Options {
    Options { support: "::mcpgen_types".into(), command: "cargo test".into(), source: FILE.into(), vendored: None }
}

/// Runs the generator. Returns `Ok(None)` if it rejects the mutant with well-formed problems.
///
/// # Errors
///
/// Returns what the generator did wrong.
fn run(document: &Json, revision: &str, released: bool) -> Result<Option<BTreeMap<String, String>>, String> {
    let text = document.to_string();
    let generate = || {
        let document = Document::parse(FILE, text.as_bytes())?;
        let protocol = mcpgen::model(document, revision, released)?;
        let files = mcpgen::emit(&protocol, &options())?;
        // Modules of vendored revisions contain additional code, such as `JsonSchema` impls.
        if text.len().is_multiple_of(16) {
            let vendored = Options { vendored: Some("v1".into()), support: "crate".into(), ..options() };
            mcpgen::emit(&protocol, &vendored)?;
        }
        Ok(files)
    };
    match catch_unwind(AssertUnwindSafe(generate)) {
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("?");
            Err(format!("panics: {text}"))
        }
        Ok(Ok(files)) => Ok(Some(files)),
        Ok(Err(Error::Schema(problems))) if problems.is_empty() => {
            Err("rejects the schema without a problem".to_owned())
        }
        Ok(Err(Error::Schema(problems))) => {
            problems.iter().try_for_each(|problem| well_formed(problem, document, released)).map(|()| None)
        }
        Ok(Err(other)) => Err(format!("fails with an error other than schema problems: {other}")),
    }
}

/// Checks that a problem has a reason and a remedy, and that its place exists.
fn well_formed(problem: &Problem, document: &Json, released: bool) -> Result<(), String> {
    let definitions = document.get("$defs").or_else(|| document.get("definitions"));
    let exists = |pointer: &str| {
        let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
        document.pointer(pointer).is_some() || document.pointer(parent).is_some()
    };
    let within = ["$defs", "definitions"]
        .iter()
        .any(|container| problem.pointer.starts_with(&format!("/{container}/{}", escape(&problem.definition))));
    // The name of a nested definition may come from its path.
    let nested = problem.pointer.match_indices('/').map(|(end, _)| &problem.pointer[..end]).chain([&*problem.pointer]);
    let is_nested = nested.filter(|pointer| pointer.matches('/').count() > 2).any(|pointer| {
        let parent = pointer.rsplit('/').nth(1);
        matches!(parent, Some("$defs" | "definitions")) && document.pointer(pointer).is_some()
    });
    // A fixup may fail because the mutation removed the place that it changes.
    let fixup = released && problem.why.contains("fixup");
    let faults = [
        (problem.file != FILE, "does not name the file"),
        (
            !fixup
                && !is_nested
                && !problem.definition.is_empty()
                && definitions.and_then(|all| all.get(&problem.definition)).is_none(),
            "names a definition that does not exist",
        ),
        (!problem.pointer.is_empty() && !problem.pointer.starts_with('/'), "has an invalid pointer"),
        (!problem.definition.is_empty() && !within && !is_nested, "has a pointer outside its definition"),
        (!fixup && !exists(&problem.pointer), "has a pointer to a place that does not exist"),
        (problem.why.trim().is_empty(), "has no reason"),
        (problem.remedy.trim().is_empty(), "has no remedy"),
    ];
    match faults.iter().find(|(fault, _)| *fault) {
        Some((_, fault)) => Err(format!("a problem {fault}: {problem}\n{problem:?}")),
        None => Ok(()),
    }
}

#[derive(Default)]
struct Outcome {
    accepted: Vec<u64>,
    rejected: u64,
    slowest: (Duration, u64),
    failures: Vec<(u64, String)>,
}

/// Runs the mutant of a seed on a separate thread, to detect hangs and to name the seed if the stack overflows.
fn run_seed(originals: &'static [(String, Json)], seed: u64) -> (Duration, Result<bool, String>) {
    let (send, receive) = mpsc::channel();
    let start = Instant::now();
    let thread = std::thread::Builder::new().name(format!("mutant of seed {seed}")).spawn(move || {
        let (revision, released, mutant) = make(originals, seed);
        let start = time_of_thread();
        let result = run(&mutant.document, &revision, released).map(|files| files.is_some());
        let taken = time_of_thread().saturating_sub(start);
        let result = if taken > CPU_LIMIT { Err(format!("takes more than {CPU_LIMIT:?}")) } else { result };
        // If the run took too long, nobody receives the result.
        let _ = send.send((taken, result));
    });
    let result = thread
        .map_err(|error| error.to_string())
        .and_then(|_| receive.recv_timeout(TIMEOUT).map_err(|_| format!("hangs, or takes more than {TIMEOUT:?}")));
    match result {
        Ok((elapsed, result)) => (elapsed, result),
        Err(error) => (start.elapsed(), Err(error)),
    }
}

#[cfg(unix)]
fn time_of_thread() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("CPU time is not negative")
}

/// Returns the elapsed time, on platforms without a clock for CPU time.
#[cfg(not(unix))]
fn time_of_thread() -> Duration {
    use std::sync::LazyLock;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

fn run_all(originals: &'static [(String, Json)], first: u64, count: u64) -> Outcome {
    let (next, outcome) = (AtomicU64::new(0), Mutex::new(Outcome::default()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let seed = first.wrapping_add(index);
                    let (elapsed, result) = run_seed(originals, seed);
                    let mut outcome = outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    outcome.slowest = outcome.slowest.max((elapsed, seed));
                    match result {
                        Ok(true) => outcome.accepted.push(seed),
                        Ok(false) => outcome.rejected += 1,
                        Err(why) => outcome.failures.push((seed, why)),
                    }
                    if outcome.failures.len() >= MAX_FAILURES {
                        break;
                    }
                }
            });
        }
    });
    let mut outcome = outcome.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    outcome.accepted.sort_unstable();
    outcome.failures.sort();
    outcome
}

fn history(originals: &[(String, Json)], seed: u64) -> String {
    let (revision, released, mutant) = make(originals, seed);
    let mut text = format!("seed {seed}: {revision}{}\n", if released { ", as released" } else { "" });
    for line in &mutant.history {
        let _ = writeln!(text, "    {}", line.chars().take(400).collect::<String>());
    }
    text
}

#[test]
fn generator_rejects_mutants_with_reasons_or_generates_valid_code() {
    let originals: &'static [(String, Json)] = Box::leak(Box::new(originals()));
    let (seed, count) = (setting("MCPGEN_SEED", SEED, SEED), setting("MCPGEN_MUTATIONS", 300, 2000));
    println!("seeds {seed}..{}", seed.wrapping_add(count));
    let outcome = run_all(originals, seed, count);
    println!(
        "{} accepted, {} rejected, {} failures, slowest {:?} (seed {})",
        outcome.accepted.len(),
        outcome.rejected,
        outcome.failures.len(),
        outcome.slowest.0,
        outcome.slowest.1
    );
    if let Some(folder) = std::env::var_os("MCPGEN_KEEP") {
        let seeds = outcome.failures.iter().map(|(seed, _)| *seed).chain((count == 1).then_some(seed));
        seeds.for_each(|seed| {
            let path = Path::new(&folder).join(format!("mutant-{seed}.json"));
            std::fs::write(&path, make(originals, seed).2.document.to_pretty())
                .unwrap_or_else(|error| panic!("{error}"));
        });
    }
    let failures: String =
        outcome.failures.iter().map(|(seed, why)| format!("{}  {why}\n", history(originals, *seed))).collect();
    assert!(failures.is_empty(), "{failures}");
    assert!(
        count < 300 || (outcome.accepted.len() as u64 > count / 10 && outcome.rejected > count / 10),
        "too few mutants were accepted or rejected"
    );

    let sample = setting("MCPGEN_COMPILE", 6, 30) as usize;
    let seeds: Vec<u64> = spread(&outcome.accepted, sample);
    println!("compiling {} of them", seeds.len());
    // Limits the size of each crate, because the compiler keeps a whole crate in memory.
    let report = |seeds| compile(originals, seeds).err().inspect(|report| println!("{report}"));
    let failures: String = seeds.chunks(60).filter_map(report).collect();
    assert!(failures.is_empty(), "{failures}");
}

fn spread(all: &[u64], limit: usize) -> Vec<u64> {
    let count = limit.min(all.len());
    (0..count).map(|index| all[index * all.len() / count]).collect()
}

/// Writes the mutants of these seeds as modules of one crate and compiles it.
///
/// # Errors
///
/// Returns the compiler errors by seed.
fn compile(originals: &[(String, Json)], seeds: &[u64]) -> Result<(), String> {
    let write = |path: PathBuf, text: &str| {
        let folder = path.parent().unwrap_or(&path);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| format!("{}: {error}", path.display()))
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().map_err(|error| error.to_string())?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("mutants");
    let manifest = format!(
        "[package]\nname = \"mutants\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\nmcpgen-types = {{ path = {:?}, \
         default-features = false, features = [\"pattern\"] }}\nserde = {{ version = \"1\", default-features = false }}\nserde_json = \"1\"\n\n[workspace]\n",
        root.join("generated")
    );
    write(folder.path().join("Cargo.toml"), &manifest)?;
    std::fs::copy(root.join("Cargo.lock"), folder.path().join("Cargo.lock")).map_err(|error| error.to_string())?;
    let mut library = String::from("//! Mutants.\n#![deny(warnings)]\n");
    for (index, seed) in seeds.iter().enumerate() {
        let (revision, released, mutant) = make(originals, *seed);
        let files = run(&mutant.document, &revision, released)?
            .ok_or("the generator rejects a mutant that it accepted before")?;
        for (name, text) in &files {
            write(folder.path().join(format!("src/m{index}/{name}")), text)?;
        }
        let _ = writeln!(library, "pub mod m{index};");
    }
    write(folder.path().join("src/lib.rs"), &library)?;
    let start = Instant::now();
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["check", "--offline", "--message-format=short", "--color=never"])
        .current_dir(folder.path())
        .env("CARGO_TARGET_DIR", &target)
        .env_remove("RUSTFLAGS")
        .output()
        .map_err(|error| error.to_string())?;
    println!("{} modules checked in {:?}", seeds.len(), start.elapsed());
    if output.status.success() {
        return Ok(());
    }
    if let Some(kept) = std::env::var_os("MCPGEN_KEEP") {
        let _ = Command::new("cp").arg("-r").arg(folder.path()).arg(kept).status();
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let mut report = String::new();
    for (index, seed) in seeds.iter().enumerate() {
        let place = format!("src/m{index}/");
        let errors: Vec<&str> = text.lines().filter(|line| line.starts_with(&place)).collect();
        if !errors.is_empty() {
            let _ = writeln!(
                report,
                "{}  does not compile:\n  {}",
                history(originals, *seed),
                errors[..errors.len().min(4)].join("\n  ")
            );
        }
    }
    if report.is_empty() {
        report = format!("cargo check fails:\n{}", text.lines().rev().take(30).collect::<Vec<_>>().join("\n"));
    }
    Err(report)
}
