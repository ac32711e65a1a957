//! Counts instructions instead of time, because other work on the machine does not affect the counts.

use std::env;
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::messages;
use crate::report::{Case, Goal, OURS, Section};

const CONTENDERS: [&str; 4] = ["Value", "IgnoredAny", "by hand", OURS];

/// The environment variable that makes this program do a single piece of work: `<decode or encode>/<index of the
/// message>/<contender>/<repeats>`.
const VARIABLE: &str = "MCPGEN_BENCH_COUNT";

pub(crate) fn run(quick: bool) -> anyhow::Result<Vec<Section>> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("NOTE: valgrind is not installed; instructions are not counted");
        return Ok(Vec::new());
    }
    let messages = messages::names();
    let messages = if quick { &messages[..2] } else { &messages[..] };
    let table = |name, title: &str, what: &str, contenders: &[&str], base: &str, goal: &dyn Fn(&str) -> Goal| {
        let case = |(index, message): (usize, &String)| {
            let count = |name: &&str| Ok(((*name).to_owned(), count(what, index, name)?));
            let figures = contenders.iter().map(count).collect::<anyhow::Result<_>>()?;
            Ok(Case::new(message, "instructions", figures).base(base).goal(goal(message)))
        };
        let cases = messages.iter().enumerate().map(case).collect::<anyhow::Result<_>>()?;
        anyhow::Ok(Section { name, title: title.to_owned(), cases, notes: Vec::new() })
    };
    let decode = "Instructions of decoding, as multiples of `serde_json::Value`";
    let encode = "Instructions of encoding, as multiples of hand-written structs";
    Ok(vec![
        table("decode-instructions", decode, "decode", &CONTENDERS, "Value", &|message| {
            Goal::at_most(1.0, if message.contains("result") { "by hand" } else { "Value" })
        })?,
        table("encode-instructions", encode, "encode", &["by hand", OURS], "by hand", &|_| {
            Goal::at_most(1.05, "by hand")
        })?,
    ])
}

/// Returns the instructions of one repetition: the difference between many repetitions and half as many.
fn count(what: &str, message: usize, contender: &str) -> anyhow::Result<f64> {
    let repeats = 20;
    let [fewer, more] = [repeats, 2 * repeats].map(|repeats| total(what, message, contender, repeats));
    Ok((more? - fewer?) / repeats as f64)
}

fn total(what: &str, message: usize, contender: &str, repeats: usize) -> anyhow::Result<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe()?)
        .env(VARIABLE, format!("{what}/{message}/{contender}/{repeats}"))
        .output()?;
    let log = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind: {log}");
    let count = log.split("Collected :").nth(1).and_then(|rest| rest.split_whitespace().next());
    count.and_then(|count| count.parse().ok()).context("no instruction count in the output of valgrind")
}

/// Does the work that [`VARIABLE`] names. Returns `false` if the variable is not set.
pub(crate) fn run_counted() -> anyhow::Result<bool> {
    let Ok(job) = env::var(VARIABLE) else { return Ok(false) };
    let parts: Vec<&str> = job.splitn(4, '/').collect();
    let [what, message, contender, repeats] = parts[..] else { return Ok(false) };
    messages::repeat(what, message.parse()?, contender, repeats.parse()?);
    Ok(true)
}
