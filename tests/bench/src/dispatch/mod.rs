//! Measures tool calls. The same client makes the same calls of the same tool to each server.

pub(crate) mod binaries;
pub(crate) mod child;
mod growth;

use std::time::Duration;

use anyhow::{Context, Result};
use echo_driver::{CONTENDERS, InProcess};
use nix::time::{ClockId, clock_gettime};

use crate::report::{Case, Goal, Section};
use crate::sample::median;
use binaries::Binaries;
use child::Process;

const HAND: &str = "hand";

/// The goals for our rate, as multiples of the hand-written loop's: in process and over pipes.
const RATES: [f64; 2] = [0.5, 0.6];
/// The goal for our median time per call, as a multiple of the hand-written loop's.
const TIME: f64 = 1.8;
/// The goal for the 99th percentile of our time per call, as a multiple of the hand-written loop's.
const TAIL: f64 = 2.0;

/// The number of concurrent calls in the throughput benchmarks.
pub(crate) const IN_FLIGHT: usize = 64;

pub(crate) fn run(quick: bool, binaries: &Binaries) -> Result<Vec<Section>> {
    let in_process = CONTENDERS.iter().map(|contender| Ok((contender.name, InProcess::start(contender)?)));
    let in_process = measure(in_process.collect::<Result<_>>()?, quick)?;
    let processes = CONTENDERS.iter().map(|contender| Ok((contender.name, Process::start(contender, binaries)?)));
    let processes = measure(processes.collect::<Result<_>>()?, quick)?;
    Ok(vec![
        Section {
            name: "dispatch",
            title: "tools/call of a tool that echoes a text of 73 bytes".to_owned(),
            cases: cases("in process", RATES[0], &in_process)
                .into_iter()
                .chain(cases("over standard input and output", RATES[1], &processes))
                .collect(),
            notes: NOTES.map(str::to_owned).to_vec(),
        },
        growth::run(quick)?,
    ])
}

const NOTES: [&str; 4] = [
    "In process, a server and its client share a single-threaded runtime and are connected by an in-memory pipe of \
     64 KiB; the rate is calls per second of that thread's CPU time. Over standard input and output, the server is a \
     child process, both ends use non-blocking pipes, and the rate is calls per second of elapsed time.",
    "All servers are called by the same client. It writes calls that are encoded beforehand, and compares each \
     response with the expected one, byte by byte. One after the other: the client makes a call after the response \
     to the previous one, and measures the time of each. 64 in flight: 64 calls are always pending.",
    "`mcpgen` is `Server` with a tool whose arguments are a type, `mcpgen router` a handler of `CallToolRequest` \
     without `Server`, `rmcp` the official SDK with its macros and a router that is built once, `hand` a loop over \
     lines with serde. The `modern` columns are the same servers, called in revision 2026-07-28; the others are called \
     in 2025-11-25.",
    "`hand` handles one call at a time. It has no cancellation and no limits, checks only what serde checks, and does \
     not support 2026-07-28.",
];

trait Server {
    fn prepare(&mut self, calls: usize);
    fn one_by_one(&mut self, times: &mut Vec<Duration>) -> Result<()>;
    fn in_flight(&mut self, depth: usize) -> Result<()>;
    /// Reads the clock that the rate is measured with.
    fn now() -> Result<Duration>;
}

macro_rules! server {
    ($type:ty, $now:expr) => {
        impl Server for $type {
            fn prepare(&mut self, calls: usize) {
                self.client.prepare(calls);
            }

            fn one_by_one(&mut self, times: &mut Vec<Duration>) -> Result<()> {
                <$type>::one_by_one(self, times)
            }

            fn in_flight(&mut self, depth: usize) -> Result<()> {
                <$type>::in_flight(self, depth)
            }

            fn now() -> Result<Duration> {
                $now
            }
        }
    };
}

server!(InProcess, thread_cpu());
server!(Process, Ok(Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC)?)));

/// Returns the CPU time that this thread has used, which excludes other work on the machine.
fn thread_cpu() -> Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into())
}

#[derive(Default)]
struct Measured {
    /// The time of each call that was made alone.
    times: Vec<Duration>,
    /// The calls per second in each turn.
    rates: Vec<f64>,
}

impl Measured {
    /// Returns a percentile of the times in nanoseconds. `part` is from 0 to 1.
    fn percentile(&self, part: f64) -> f64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        let index = (times.len() as f64 * part) as usize;
        times.get(index.min(times.len().saturating_sub(1))).map_or(f64::NAN, |time| time.as_nanos() as f64)
    }
}

/// Measures the servers in turn, so that other work on the machine affects all of them equally.
fn measure<S: Server>(mut servers: Vec<(&'static str, S)>, quick: bool) -> Result<Vec<(&'static str, Measured)>> {
    let (turns, single, many) = if quick { (21, 50, 256) } else { (301, 100, 512) };
    let mut measured: Vec<Measured> = servers.iter().map(|_| Measured::default()).collect();
    for (name, server) in &mut servers {
        take_turn(server, 10 * single, 10 * many, &mut Measured::default()).with_context(|| (*name).to_owned())?;
    }
    for turn in 0..turns {
        for place in 0..servers.len() {
            // Each turn begins with another server, so that none always benefits from its position.
            let index = (place + turn) % servers.len();
            let (name, server) = &mut servers[index];
            take_turn(server, single, many, &mut measured[index]).with_context(|| (*name).to_owned())?;
        }
    }
    Ok(servers.into_iter().map(|(name, _)| name).zip(measured).collect())
}

fn take_turn<S: Server>(server: &mut S, single: usize, many: usize, measured: &mut Measured) -> Result<()> {
    server.prepare(single);
    measured.times.reserve(single);
    server.one_by_one(&mut measured.times)?;
    server.prepare(many);
    let began = S::now()?;
    server.in_flight(IN_FLIGHT)?;
    measured.rates.push(many as f64 / (S::now()? - began).as_secs_f64());
    Ok(())
}

fn cases(place: &str, rate: f64, measured: &[(&'static str, Measured)]) -> [Case; 3] {
    let case = |what: &str, unit, figure: &dyn Fn(&Measured) -> f64, goal| {
        let figures = measured.iter().map(|(name, measured)| ((*name).to_owned(), figure(measured))).collect();
        Case::new(format!("{place}, {what}"), unit, figures).base(HAND).goal(goal)
    };
    [
        case("one after the other, p50", "ns", &|measured| measured.percentile(0.5), Goal::at_most(TIME, HAND)),
        case("one after the other, p99", "ns", &|measured| measured.percentile(0.99), Goal::at_most(TAIL, HAND)),
        case("64 in flight", "calls/s", &|measured| median(measured.rates.clone()), Goal::at_least(rate, HAND)),
    ]
}
