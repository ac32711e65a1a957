//! Measures mcpgen and its alternatives in one run, and writes the tables.

mod cold;
mod dispatch;
mod footprint;
mod generation;
mod http;
mod instructions;
mod messages;
mod report;
mod rustc;
mod sample;
mod synthetic;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Parser, ValueEnum};

use dispatch::binaries::{self, Binaries};
use report::{Report, Section};

/// Measures mcpgen and its alternatives, and writes the tables.
#[derive(Parser)]
struct Args {
    /// What to measure. Default: everything.
    what: Vec<What>,
    /// Runs few rounds. The figures are not reliable.
    #[arg(long)]
    quick: bool,
    /// The number of rounds of `cold`, `http` and `replicas`. Each round of `cold` builds every dependent from scratch.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// The directory for report.md and report.json.
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
    /// Also writes the tables to RESULTS.md.
    #[arg(long)]
    write: bool,
    /// Fails if a goal is missed.
    #[arg(long)]
    strict: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Decoding and encoding of messages of each kind, and the time by message size.
    Messages,
    /// The same, counted in instructions, which do not vary between runs. Needs valgrind.
    Instructions,
    /// Tool calls, in process and over pipes.
    Dispatch,
    /// Size, memory and allocations of a server.
    Footprint,
    /// Requests and idle sessions over Streamable HTTP.
    Http,
    /// Requests to servers whose sessions are in shared stores. Needs redis-server.
    Replicas,
    /// Clean builds of dependents.
    Cold,
    /// Code generation from schemas.
    Generation,
}

fn main() -> ExitCode {
    // This program also runs as a rustc wrapper and under valgrind.
    if let Some(code) = rustc::run_as_wrapper() {
        return code;
    }
    let result = instructions::run_counted().and_then(|counted| if counted { Ok(()) } else { run(&Args::parse()) });
    result.map_or_else(
        |error| {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn run(args: &Args) -> anyhow::Result<()> {
    let all = What::value_variants();
    let mut sections = Vec::new();
    for what in all.iter().filter(|what| args.what.is_empty() || args.what.contains(what)) {
        eprintln!("measuring: {what:?}");
        let measured = measure(*what, args).with_context(|| format!("{what:?}"))?;
        measured.iter().for_each(|section| eprintln!("\n{}", section.markdown()));
        if args.write {
            let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("RESULTS.md");
            let report = Report::new(measured)?;
            update(&page, *what, &report.markdown())?;
            sections.extend(report.sections);
        } else {
            sections.extend(measured);
        }
    }
    let report = Report::new(sections)?;
    fs::create_dir_all(&args.out)?;
    fs::write(args.out.join("report.md"), report.markdown())?;
    fs::write(args.out.join("report.json"), serde_json::to_string_pretty(&report)?)?;
    let missed: Vec<String> = report.missed().collect();
    eprintln!("wrote {}; {} goals missed", args.out.display(), missed.len());
    missed.iter().for_each(|missed| eprintln!("  {missed}"));
    if args.strict && !missed.is_empty() {
        bail!("{} goals missed", missed.len());
    }
    Ok(())
}

fn measure(what: What, args: &Args) -> anyhow::Result<Vec<Section>> {
    let quick = args.quick;
    match what {
        What::Messages => Ok(messages::run(quick)),
        What::Instructions => instructions::run(quick),
        What::Dispatch => dispatch::run(quick, &Binaries::build(&binaries::ECHO, None)?),
        What::Footprint => footprint::run(quick, &Binaries::build(&binaries::ECHO, None)?),
        What::Http => http::run(quick, args.rounds, &Binaries::build(&http::PACKAGES, None)?),
        What::Replicas => http::run_replicas(quick, args.rounds, &Binaries::build(&http::REPLICA_PACKAGES, None)?),
        What::Cold => cold::run(quick, args.rounds),
        What::Generation => generation::run(quick),
    }
}

/// Replaces the tables between the markers of the page. Adds the markers if the page does not have them.
fn update(page: &Path, what: What, tables: &str) -> anyhow::Result<()> {
    let (begin, end) = markers(what);
    let text = add_markers(fs::read_to_string(page)?, what);
    let (before, rest) =
        text.split_once(&begin).with_context(|| format!("{} has no `{}`", page.display(), begin.trim()))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("{} has no `{end}`", page.display()))?;
    Ok(fs::write(page, [before, &begin, tables, &end, after].concat())?)
}

/// Adds the markers of a part if the page does not have them: after those of the nearest earlier part, or at the end.
fn add_markers(mut text: String, what: What) -> String {
    let (begin, end) = markers(what);
    if !text.contains(&begin) {
        let earlier: Vec<What> = What::value_variants().iter().copied().take_while(|other| *other != what).collect();
        let last = earlier.iter().rev().find_map(|other| {
            let (_, end) = markers(*other);
            text.find(&end).map(|start| start + end.len())
        });
        text.insert_str(last.unwrap_or(text.len()), &format!("\n\n{begin}{end}"));
    }
    text
}

fn markers(what: What) -> (String, String) {
    let name = format!("{what:?}").to_lowercase();
    (format!("<!-- bench: {name} -->\n"), format!("<!-- end of bench: {name} -->"))
}
