//! What a call costs: the same client makes the same calls of the same tool, and only the servers differ.

pub(crate) mod binaries;
pub(crate) mod child;
mod growth;

use std::time::Duration;

use anyhow::{Context, Result};
use echo_driver::{CONTENDERS, Within};
use nix::time::{ClockId, clock_gettime};

use crate::report::{Case, Goal, Section};
use crate::sample::median;
use binaries::Binaries;
use child::Process;

const HAND: &str = "hand";

/// Our rate must be this much of what a loop by hand does, in process and over pipes.
const RATES: [f64; 2] = [0.5, 0.6];
/// A call may take so much longer than with a loop by hand.
const TIME: f64 = 1.8;
/// The slowest call in a hundred may take so much longer than with a loop by hand.
const TAIL: f64 = 2.0;

/// How many calls are on their way at a time where it is not one.
pub(crate) const IN_FLIGHT: usize = 64;

/// Measures in process, over standard input and output, and with more and more calls in flight.
pub(crate) fn run(quick: bool, binaries: &Binaries) -> Result<Vec<Section>> {
    let within = CONTENDERS.iter().map(|contender| Ok((contender.name, Within::start(contender)?)));
    let within = measure(within.collect::<Result<_>>()?, quick)?;
    let processes = CONTENDERS.iter().map(|contender| Ok((contender.name, Process::start(contender, binaries)?)));
    let processes = measure(processes.collect::<Result<_>>()?, quick)?;
    Ok(vec![
        Section {
            name: "dispatch",
            title: "tools/call of a tool that echoes a text of 73 bytes".to_owned(),
            cases: cases("in process", RATES[0], &within)
                .into_iter()
                .chain(cases("over standard input and output", RATES[1], &processes))
                .collect(),
            notes: NOTES.map(str::to_owned).to_vec(),
        },
        growth::run(quick)?,
    ])
}

/// What the figures mean.
const NOTES: [&str; 4] = [
    "In process, a server and its client share a runtime of one thread and are connected by a pipe in memory of \
     64 KiB; the rate is by the time that this thread worked. Over standard input and output the server is a \
     process, and both sides read and write without blocking.",
    "The client is the same for all: it writes lines that are ready, and compares each answer with what it must \
     be, byte by byte. One after the other, a call is made when the one before is answered, and the time of each \
     is taken; in flight, there are always 64 without an answer.",
    "`mcpgen` is `Server` with a tool whose arguments are a type, `mcpgen router` a handler of `CallToolRequest` \
     without that layer, `rmcp` the official SDK with its macros and its router kept, `hand` a loop over lines \
     with serde. Those called `modern` are the same servers, asked in revision 2026-07-28; the others speak \
     2025-11-25.",
    "`hand` answers one call after the other; it has no cancellation, no limits, no checks beyond serde's, and \
     knows nothing of 2026-07-28.",
];

/// A server that is being called.
trait Server {
    fn prepare(&mut self, calls: usize);
    fn one_by_one(&mut self, times: &mut Vec<Duration>) -> Result<()>;
    fn in_flight(&mut self, depth: usize) -> Result<()>;
    /// The time that its rate is by.
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

server!(Within, worked());
server!(Process, Ok(Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC)?)));

/// How long this thread has worked so far: what else the machine does is not in it.
fn worked() -> Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into())
}

/// What was found about a server.
#[derive(Default)]
struct Found {
    /// Of each call that was made by itself.
    times: Vec<Duration>,
    /// Calls per second, turn by turn.
    rates: Vec<f64>,
}

impl Found {
    /// The time in nanoseconds that so much of all calls took at most.
    fn percentile(&self, part: f64) -> f64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        let index = (times.len() as f64 * part) as usize;
        times.get(index.min(times.len().saturating_sub(1))).map_or(f64::NAN, |time| time.as_nanos() as f64)
    }
}

/// All servers in turn, so that whatever else the machine does hits all of them.
fn measure<S: Server>(mut servers: Vec<(&'static str, S)>, quick: bool) -> Result<Vec<(&'static str, Found)>> {
    let (turns, single, many) = if quick { (21, 50, 256) } else { (301, 100, 512) };
    let mut found: Vec<Found> = servers.iter().map(|_| Found::default()).collect();
    for (name, server) in &mut servers {
        take_turn(server, 10 * single, 10 * many, &mut Found::default()).with_context(|| (*name).to_owned())?;
    }
    for turn in 0..turns {
        for place in 0..servers.len() {
            // Nobody always comes after the same one.
            let index = (place + turn) % servers.len();
            let (name, server) = &mut servers[index];
            take_turn(server, single, many, &mut found[index]).with_context(|| (*name).to_owned())?;
        }
    }
    Ok(servers.into_iter().map(|(name, _)| name).zip(found).collect())
}

fn take_turn<S: Server>(server: &mut S, single: usize, many: usize, found: &mut Found) -> Result<()> {
    server.prepare(single);
    found.times.reserve(single);
    server.one_by_one(&mut found.times)?;
    server.prepare(many);
    let began = S::now()?;
    server.in_flight(IN_FLIGHT)?;
    found.rates.push(many as f64 / (S::now()? - began).as_secs_f64());
    Ok(())
}

fn cases(place: &str, rate: f64, found: &[(&'static str, Found)]) -> [Case; 3] {
    let case = |what: &str, unit, figure: &dyn Fn(&Found) -> f64, goal| {
        let figures = found.iter().map(|(name, found)| ((*name).to_owned(), figure(found))).collect();
        Case::new(format!("{place}, {what}"), unit, figures).base(HAND).goal(goal)
    };
    [
        case("one after the other, p50", "ns", &|found| found.percentile(0.5), Goal::at_most(TIME, HAND)),
        case("one after the other, p99", "ns", &|found| found.percentile(0.99), Goal::at_most(TAIL, HAND)),
        case("64 in flight", "calls/s", &|found| median(found.rates.clone()), Goal::at_least(rate, HAND)),
    ]
}
