//! Measures servers over Streamable HTTP: requests per second, latency, and the memory of idle sessions and streams.

mod client;
mod connection;
mod idle;
mod load;
mod replicas;
mod requests;
mod server;

use anyhow::{Result, ensure};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::dispatch::binaries::Binaries;
use crate::report::{Case, Goal, OURS, Section};

pub(crate) use replicas::{PACKAGES as REPLICA_PACKAGES, run as run_replicas};

pub(crate) const PACKAGES: [&str; 2] = ["http-mcpgen", "http-rmcp"];

/// The names of the servers in the tables, and their packages.
const CONTENDERS: [(&str, &str); 2] = [(OURS, PACKAGES[0]), (RMCP, PACKAGES[1])];
const RMCP: &str = "rmcp";

/// The number of files that a process opens in addition to the connections of idle streams.
const OTHER_FILES: u64 = 100;

/// Measures both servers in turn, `rounds` times.
pub(crate) fn run(quick: bool, rounds: usize, binaries: &Binaries) -> Result<Vec<Section>> {
    let rounds = if quick { 1 } else { rounds.max(1) };
    let counts: [u64; 2] = if quick { [100, 1_000] } else { [1_000, 10_000] };
    // Checked before the load, which takes minutes, because the idle streams need many open files.
    allow_files(counts[1] + OTHER_FILES)?;
    Ok(vec![
        Section {
            name: "http",
            title: "Streamable HTTP: tools/call of a tool that echoes a text of 73 bytes".to_owned(),
            cases: load::run(quick, rounds, binaries)?,
            notes: notes(&[
                "Modern calls are requests of 2026-07-28. Session calls are requests of 2025-11-25, with a session for \
                 each connection. Both servers get the same requests from the same client. A connection sends its next \
                 request after the response to the previous one; every response is compared with the expected one, \
                 byte by byte.",
                &format!(
                    "Rounds: {rounds}. The servers take turns in each round, and figures are medians of the rounds."
                ),
                "Both servers use `axum::serve` with TCP_NODELAY, on a Tokio runtime with a thread for each core. The \
                 client has one thread, on the same cores. rmcp is configured to respond to modern calls with JSON, \
                 like mcpgen does; within a session it always responds with an event stream.",
            ]),
        },
        Section {
            name: "http-idle",
            title: "Streamable HTTP: resident memory of idle sessions and streams".to_owned(),
            cases: idle::run(counts, quick, rounds, binaries)?,
            notes: notes(&[
                "The growth of the server's resident memory, divided by the number. Sessions are initialized, over one \
                 connection. A stream is a connection with an open response: the GET stream of a session, or a \
                 `subscriptions/listen` of 2026-07-28; the memory of the connection is included.",
            ]),
        },
    ])
}

fn notes(notes: &[&str]) -> Vec<String> {
    notes.iter().map(|note| (*note).to_owned()).collect()
}

/// Creates a row with a figure for each contender. The goal is relative to rmcp.
fn case(name: String, unit: &'static str, figures: &[f64], goal: Option<Goal>) -> Case {
    let figures = CONTENDERS.iter().zip(figures).map(|((name, _), figure)| ((*name).to_owned(), *figure)).collect();
    let case = Case::new(name, unit, figures).base(RMCP);
    match goal {
        Some(goal) => case.goal(goal),
        None => case,
    }
}

/// Raises the soft limit of open files for this process and its children.
///
/// # Errors
///
/// Returns an error if the hard limit is below `needed`.
fn allow_files(needed: u64) -> Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    ensure!(hard >= needed, "{needed} open files are needed, but the hard limit is {hard}; raise it with `ulimit -Hn`");
    if soft < needed {
        setrlimit(Resource::RLIMIT_NOFILE, needed, hard)?;
    }
    Ok(())
}
