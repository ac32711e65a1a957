//! Instructions instead of time: the same in each run, whatever else the machine does.

use std::env;
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::messages;
use crate::report::{Case, Goal, OURS, Section};

const CONTENDERS: [&str; 4] = ["Value", "IgnoredAny", "by hand", OURS];

/// Tells the program that it is being counted: what, which message, who, how often.
const VARIABLE: &str = "MCPGEN_BENCH_COUNT";

pub(crate) fn run(quick: bool) -> anyhow::Result<Vec<Section>> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("NOTE: THERE IS NO valgrind: INSTRUCTIONS ARE NOT COUNTED");
        return Ok(Vec::new());
    }
    let messages = messages::names();
    let messages = if quick { &messages[..2] } else { &messages[..] };
    let table = |name, title: &str, what: &str, contenders: &[&str], base: &str, goal: &dyn Fn(&str) -> Goal| {
        let case = |(index, message): (usize, &String)| {
            let count = |who: &&str| Ok(((*who).to_owned(), count(what, index, who)?));
            let figures = contenders.iter().map(count).collect::<anyhow::Result<_>>()?;
            Ok(Case::new(message, "instructions", figures).base(base).goal(goal(message)))
        };
        let cases = messages.iter().enumerate().map(case).collect::<anyhow::Result<_>>()?;
        anyhow::Ok(Section { name, title: title.to_owned(), cases, notes: Vec::new() })
    };
    let decode = "Instructions of decoding, as multiples of `serde_json::Value`";
    let encode = "Instructions of encoding, as multiples of structs by hand";
    Ok(vec![
        table("decode-instructions", decode, "decode", &CONTENDERS, "Value", &|message| {
            Goal::at_most(1.0, if message.contains("result") { "by hand" } else { "Value" })
        })?,
        table("encode-instructions", encode, "encode", &["by hand", OURS], "by hand", &|_| {
            Goal::at_most(1.05, "by hand")
        })?,
    ])
}

/// Instructions of doing it once: what many times take, less what half as many take.
fn count(what: &str, message: usize, contender: &str) -> anyhow::Result<f64> {
    let repeats = 20;
    let [some, more] = [repeats, 2 * repeats].map(|repeats| total(what, message, contender, repeats));
    Ok((more? - some?) / repeats as f64)
}

fn total(what: &str, message: usize, contender: &str, repeats: usize) -> anyhow::Result<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe()?)
        .env(VARIABLE, format!("{what}/{message}/{contender}/{repeats}"))
        .output()?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind: {words}");
    let count = words.split("Collected :").nth(1).and_then(|rest| rest.split_whitespace().next());
    count.and_then(|count| count.parse().ok()).context("valgrind did not say how many instructions it counted")
}

/// Whether the program was called to be counted, which then is done.
pub(crate) fn counted() -> anyhow::Result<bool> {
    let Ok(job) = env::var(VARIABLE) else { return Ok(false) };
    let parts: Vec<&str> = job.splitn(4, '/').collect();
    let [what, message, contender, repeats] = parts[..] else { return Ok(false) };
    messages::repeat(what, message.parse()?, contender, repeats.parse()?);
    Ok(true)
}
