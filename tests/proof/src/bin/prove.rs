//! Runs the proof with any number of instances, in parallel and on several machines. An interrupted run can be
//! continued.
//!
//! The state file has a line for each finished chunk. A run continues from this file if the program and the seed are
//! unchanged. Each shard writes its own file, and `--table` adds up several files.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

use clap::Parser;
use mcpgen_proof::registry::REGISTRY;
use mcpgen_proof::sweep::{Chunk, Outcome, Table, chunks, sweep};
use serde::{Deserialize, Serialize};

/// A proof spends much of its time on allocating and freeing small trees.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn std::error::Error>;

/// Compares every definition of every revision and extension with the judge
#[derive(Parser)]
#[command(after_help = "\
Exit codes: 0 proven, 1 disagreements, 2 bad usage or state.

Two machines:
  prove --shard 1/2 --state one.jsonl
  prove --shard 2/2 --state two.jsonl
  prove --table one.jsonl two.jsonl")]
struct Cli {
    /// Instances per definition and kind
    #[arg(long, default_value_t = 100_000)]
    instances: u64,
    /// Instances per chunk
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    chunk: u64,
    #[arg(long, default_value_t = 20_261_121)]
    seed: u64,
    /// Threads [default: as many as the machine has]
    #[arg(long)]
    threads: Option<usize>,
    /// Only the chunks of this shard, such as 1/4
    #[arg(long, value_parser = shard, default_value = "1/1")]
    shard: (usize, usize),
    /// Only this revision or extension, such as 2026-07-28 or tasks
    #[arg(long)]
    revision: Option<String>,
    /// Only this definition
    #[arg(long)]
    definition: Option<String>,
    /// The file that stores finished chunks
    #[arg(long, value_name = "FILE", default_value = "target/prove.jsonl")]
    state: PathBuf,
    /// Only print the table of these state files
    #[arg(long, value_name = "FILE", num_args = 1..)]
    table: Vec<PathBuf>,
}

/// The first line of a state file.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Header {
    /// A digest of the program.
    build: u64,
    seed: u64,
}

#[derive(Serialize, Deserialize)]
struct Line {
    chunk: Chunk,
    outcome: Outcome,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = if cli.table.is_empty() { run(&cli) } else { tables(&cli.table) };
    match result {
        Ok(table) => {
            print!("{table}");
            ExitCode::from(u8::from(table.disagreements() > 0))
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: &Cli) -> Result<Table, Failure> {
    let header = Header { build: build()?, seed: cli.seed };
    let known = match cli.state.exists() {
        true => read(&cli.state, Some(&header))?,
        false => begin(&cli.state, &header)?,
    };
    let mut table = Table::default();
    let mut finished = HashSet::new();
    for Line { chunk, outcome } in known {
        table.add(&chunk, &outcome);
        finished.insert(chunk);
    }
    let (shard, shards) = cli.shard;
    let wanted = |chunk: &Chunk| {
        cli.revision.as_ref().is_none_or(|name| *name == chunk.revision)
            && cli.definition.as_ref().is_none_or(|name| *name == chunk.definition)
    };
    let all = chunks(cli.instances, cli.chunk).into_iter().filter(wanted).enumerate();
    let todo: Vec<Chunk> = all
        .filter(|(index, chunk)| index % shards == shard - 1 && !finished.contains(chunk))
        .map(|(_, chunk)| chunk)
        .collect();
    if todo.is_empty() && finished.is_empty() {
        return Err(format!("none of {} definitions selected: check the filters", REGISTRY.len()).into());
    }
    eprintln!("{} chunks to prove, {} already in {}", todo.len(), finished.len(), cli.state.display());
    let threads = cli.threads.or_else(|| available_parallelism().ok().map(Into::into)).unwrap_or(1);
    let mut file = OpenOptions::new().append(true).open(&cli.state)?;
    if !fs::read(&cli.state)?.ends_with(b"\n") {
        writeln!(file)?;
    }
    let (start, mut done) = (Instant::now(), 0);
    let fresh = sweep(&todo, cli.seed, threads, |chunk, outcome| {
        if let Some(report) = &outcome.disagreement {
            eprintln!("{report}");
        }
        let line = Line { chunk: chunk.clone(), outcome: outcome.clone() };
        let mut text = serde_json::to_string(&line).expect("a line serializes to JSON");
        text.push('\n');
        file.write_all(text.as_bytes()).expect("the state file is writable");
        done += 1;
        if done % 500 == 0 {
            eprintln!("{done} of {} chunks after {} s", todo.len(), start.elapsed().as_secs());
        }
    });
    table.merge(&fresh);
    Ok(table)
}

fn begin(path: &Path, header: &Header) -> Result<Vec<Line>, Failure> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    writeln!(File::create(path)?, "{}", serde_json::to_string(header)?)?;
    Ok(Vec::new())
}

/// Reads the finished chunks from a state file. Ignores a last line that was not written completely.
///
/// # Errors
///
/// Returns an error if the file cannot be read or its header is not the expected one.
fn read(path: &Path, expected: Option<&Header>) -> Result<Vec<Line>, Failure> {
    let mut lines = BufReader::new(File::open(path)?).lines();
    let header: Header = serde_json::from_str(&lines.next().ok_or("the state file is empty")??)?;
    if expected.is_some_and(|expected| *expected != header) {
        let path = path.display();
        return Err(format!("{path} has another build or seed: remove it, or choose another file with --state").into());
    }
    Ok(lines.map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok()).collect())
}

fn tables(paths: &[PathBuf]) -> Result<Table, Failure> {
    let mut table = Table::default();
    for path in paths {
        for line in read(path, None).map_err(|error| format!("{}: {error}", path.display()))? {
            table.add(&line.chunk, &line.outcome);
        }
    }
    Ok(table)
}

/// Returns a digest of this program, so that another build does not continue from its state file.
fn build() -> Result<u64, Failure> {
    let mut hasher = DefaultHasher::new();
    fs::read(std::env::current_exe()?)?.hash(&mut hasher);
    Ok(hasher.finish())
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let (index, count) = text.split_once('/').ok_or("expected a shard such as 1/4")?;
    match (index.parse(), count.parse()) {
        (Ok(index), Ok(count)) if 1 <= index && index <= count => Ok((index, count)),
        _ => Err("expected a shard such as 1/4".to_owned()),
    }
}
