//! The one command: measures mcpgen beside what its users would pick instead, in one run, and writes the tables.

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

/// Measures mcpgen beside its peers and writes the tables.
#[derive(Parser)]
struct Args {
    /// What is measured; everything, if nothing is named.
    what: Vec<What>,
    /// Few rounds: to see that it works, not to believe the figures.
    #[arg(long)]
    quick: bool,
    /// Rounds of `cold`, which builds each dependant from nothing in each, and of `http`.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Where report.md and report.json are written.
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
    /// Writes the tables of what is measured into the repository's README as well.
    #[arg(long)]
    readme: bool,
    /// Fails if a goal is missed.
    #[arg(long)]
    strict: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Decoding and encoding messages of each kind, and how their time grows with their size.
    Messages,
    /// The same in instructions, which are the same in each run; needs valgrind.
    Instructions,
    /// Calls of a tool, in process and over pipes.
    Dispatch,
    /// Size, memory and allocations of a server.
    Footprint,
    /// Requests and idle sessions over Streamable HTTP.
    Http,
    /// Builds of dependants from nothing.
    Cold,
    /// Generating code from schemas.
    Generation,
}

fn main() -> ExitCode {
    // Two ways in which the program is called by what it has called.
    if let Some(code) = rustc::stand_in() {
        return code;
    }
    let done = instructions::counted().and_then(|counted| if counted { Ok(()) } else { run(&Args::parse()) });
    done.map_or_else(
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
        if args.readme {
            let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
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
    eprintln!("written to {}; {} goals missed", args.out.display(), missed.len());
    missed.iter().for_each(|missed| eprintln!("  {missed}"));
    if args.strict && !missed.is_empty() {
        bail!("{} goals are missed", missed.len());
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
        What::Cold => cold::run(quick, args.rounds),
        What::Generation => generation::run(quick),
    }
}

/// Puts the tables between the marks that the page has for them.
fn update(page: &Path, what: What, tables: &str) -> anyhow::Result<()> {
    let (begin, end) = marks(what);
    let text = add_marks(fs::read_to_string(page)?, what)?;
    let (before, rest) = text.split_once(&begin).with_context(|| format!("the README has no `{}`", begin.trim()))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("the README has no `{end}`"))?;
    Ok(fs::write(page, [before, &begin, tables, &end, after].concat())?)
}

/// Adds the marks of a part that the page does not have yet, after the part before it.
fn add_marks(mut text: String, what: What) -> anyhow::Result<String> {
    let (begin, end) = marks(what);
    if !text.contains(&begin) {
        let earlier: Vec<What> = What::value_variants().iter().copied().take_while(|other| *other != what).collect();
        let last = earlier.iter().rev().find_map(|other| {
            let (_, end) = marks(*other);
            text.find(&end).map(|start| start + end.len())
        });
        let last = last.with_context(|| format!("the README has no `{}` and no part before it", begin.trim()))?;
        text.insert_str(last, &format!("\n\n{begin}{end}"));
    }
    Ok(text)
}

fn marks(what: What) -> (String, String) {
    let name = format!("{what:?}").to_lowercase();
    (format!("<!-- bench: {name} -->\n"), format!("<!-- end of bench: {name} -->"))
}
