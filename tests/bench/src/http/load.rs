//! Requests per second and latency, by the number of connections.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use echo_driver::Dialect;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use super::client::Client;
use super::server::Server;
use super::{CONTENDERS, RMCP, case};
use crate::dispatch::binaries::Binaries;
use crate::report::{Case, Goal};
use crate::sample::median;

const CONNECTIONS: [usize; 3] = [1, 64, 512];

/// The goal for our rate, as a multiple of rmcp's.
const RATE: f64 = 1.0;
/// The goal for our latency, as a multiple of rmcp's.
const LATENCY: f64 = 1.0;

/// The lengths and the number of turns.
struct Turns {
    warm_up: Duration,
    turn: Duration,
    rounds: usize,
}

pub(super) fn run(quick: bool, rounds: usize, binaries: &Binaries) -> Result<Vec<Case>> {
    let millis = Duration::from_millis;
    let (warm_up, turn) = if quick { (millis(100), millis(300)) } else { (millis(1_000), millis(5_000)) };
    let turns = Turns { warm_up, turn, rounds };
    let mut cases = Vec::new();
    for (dialect, kind) in [(Dialect::Modern, "modern"), (Dialect::Handshake, "session")] {
        for connections in CONNECTIONS {
            let plural = if connections == 1 { "" } else { "s" };
            let name = format!("{kind} calls, {connections} connection{plural}");
            eprintln!("  {name}");
            cases.extend(scenario(&name, dialect, connections, &turns, binaries).with_context(|| name.clone())?);
        }
    }
    Ok(cases)
}

/// Returns the rows for one dialect and one number of connections.
fn scenario(name: &str, dialect: Dialect, connections: usize, turns: &Turns, binaries: &Binaries) -> Result<[Case; 4]> {
    let start = |(name, package): (&str, &str)| {
        Loaded::start(dialect, connections, binaries, package).with_context(|| name.to_owned())
    };
    let mut servers = [start(CONTENDERS[0])?, start(CONTENDERS[1])?];
    for server in &mut servers {
        server.turn(turns.warm_up)?;
    }
    let mut results: [Vec<Turn>; 2] = Default::default();
    for round in 0..turns.rounds {
        // Alternates the order.
        for index in [round % 2, (round + 1) % 2] {
            let turn = servers[index].turn(turns.turn).with_context(|| CONTENDERS[index].0)?;
            results[index].push(turn);
        }
    }
    let row = |what: &str, unit, figure: fn(&Turn) -> f64, goal| {
        let figures = results.each_ref().map(|turns| median(turns.iter().map(figure).collect()));
        case(format!("{name}, {what}"), unit, figures, goal)
    };
    let latency = || Some(Goal::at_most(LATENCY, RMCP));
    Ok([
        row("rate", "requests/s", |turn| turn.rate, Some(Goal::at_least(RATE, RMCP))),
        row("p50", "ns", |turn| turn.p50, latency()),
        row("p99", "ns", |turn| turn.p99, latency()),
        row("CPU of the server per request", "ns", |turn| turn.cpu, None),
    ])
}

/// A server and the clients connected to it.
struct Loaded {
    runtime: Runtime,
    server: Server,
    clients: Vec<Client>,
}

/// The figures of one turn.
struct Turn {
    /// Requests per second.
    rate: f64,
    /// Latency in nanoseconds.
    p50: f64,
    p99: f64,
    /// CPU time of the server per request, in nanoseconds.
    cpu: f64,
}

impl Loaded {
    fn start(dialect: Dialect, connections: usize, binaries: &Binaries, package: &str) -> Result<Self> {
        let server = Server::start(binaries.path(package)?)?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let clients = runtime.block_on(async {
            let mut clients = Vec::with_capacity(connections);
            for _ in 0..connections {
                clients.push(Client::connect(server.port, dialect).await?);
            }
            anyhow::Ok(clients)
        })?;
        Ok(Self { runtime, server, clients })
    }

    /// Makes calls on all connections for the length of a turn.
    fn turn(&mut self, length: Duration) -> Result<Turn> {
        let clients = std::mem::take(&mut self.clients);
        let cpu = self.server.cpu()?;
        let began = Instant::now();
        let (clients, mut times) = self.runtime.block_on(call(clients, began + length))?;
        let elapsed = began.elapsed();
        let cpu = self.server.cpu()? - cpu;
        self.clients = clients;
        times.sort_unstable();
        let count = times.len() as f64;
        let percentile = |part: f64| {
            let index = (count * part) as usize;
            times.get(index.min(times.len().saturating_sub(1))).map_or(f64::NAN, |time| time.as_nanos() as f64)
        };
        let (p50, p99) = (percentile(0.5), percentile(0.99));
        Ok(Turn { rate: count / elapsed.as_secs_f64(), p50, p99, cpu: cpu.as_nanos() as f64 / count })
    }
}

/// Makes calls on all connections until the deadline. Returns the clients and the latency of each call.
async fn call(clients: Vec<Client>, deadline: Instant) -> Result<(Vec<Client>, Vec<Duration>)> {
    let (mut done, mut times) = (Vec::with_capacity(clients.len()), Vec::new());
    let mut tasks = JoinSet::new();
    for mut client in clients {
        tasks.spawn(async move {
            let times = client.call_until(deadline).await?;
            anyhow::Ok((client, times))
        });
    }
    while let Some(finished) = tasks.join_next().await {
        let (client, its_times) = finished??;
        done.push(client);
        times.extend(its_times);
    }
    Ok((done, times))
}
