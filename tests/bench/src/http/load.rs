//! Measures requests per second and latency, by the number of connections.

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

const RATE: f64 = 1.0;
const LATENCY: f64 = 1.0;

/// The dialects of the calls, with their names in the tables.
pub(super) const DIALECTS: [(Dialect, &str); 2] = [(Dialect::Modern, "modern"), (Dialect::Handshake, "session")];

pub(super) struct Turns {
    warm_up: Duration,
    turn: Duration,
    rounds: usize,
}

impl Turns {
    pub(super) fn new(quick: bool, rounds: usize) -> Self {
        let millis = Duration::from_millis;
        let (warm_up, turn) = if quick { (millis(100), millis(300)) } else { (millis(1_000), millis(5_000)) };
        Self { warm_up, turn, rounds }
    }
}

/// A server, as one or several processes.
pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) package: &'static str,
    pub(super) arguments: Vec<String>,
    pub(super) replicas: usize,
}

pub(super) fn run(quick: bool, rounds: usize, binaries: &Binaries) -> Result<Vec<Case>> {
    let turns = Turns::new(quick, rounds);
    let contenders = CONTENDERS.map(|(name, package)| Contender { name, package, arguments: Vec::new(), replicas: 1 });
    let mut cases = Vec::new();
    for (dialect, kind) in DIALECTS {
        for connections in CONNECTIONS {
            let plural = if connections == 1 { "" } else { "s" };
            let name = format!("{kind} calls, {connections} connection{plural}");
            let results = measure(&name, dialect, connections, &turns, binaries, &contenders)?;
            cases.extend(rows(&name, &results));
        }
    }
    Ok(cases)
}

fn rows(name: &str, results: &[Vec<Turn>]) -> [Case; 4] {
    let row = |what: &str, unit, figure: fn(&Turn) -> f64, goal| {
        case(format!("{name}, {what}"), unit, &medians(results, figure), goal)
    };
    let latency = || Some(Goal::at_most(LATENCY, RMCP));
    [
        row("rate", "requests/s", |turn| turn.rate, Some(Goal::at_least(RATE, RMCP))),
        row("p50", "ns", |turn| turn.p50, latency()),
        row("p99", "ns", |turn| turn.p99, latency()),
        row("CPU of the server per request", "ns", |turn| turn.cpu, None),
    ]
}

pub(super) fn medians(results: &[Vec<Turn>], figure: fn(&Turn) -> f64) -> Vec<f64> {
    results.iter().map(|turns| median(turns.iter().map(figure).collect())).collect()
}

/// Makes calls to the contenders in turn. Returns the figures of each.
pub(super) fn measure(
    name: &str,
    dialect: Dialect,
    connections: usize,
    turns: &Turns,
    binaries: &Binaries,
    contenders: &[Contender],
) -> Result<Vec<Vec<Turn>>> {
    eprintln!("  {name}");
    let start = |contender: &Contender| {
        let loaded = Loaded::start(dialect, connections, binaries, contender);
        loaded.with_context(|| format!("{name}: {}", contender.name))
    };
    let mut servers = contenders.iter().map(start).collect::<Result<Vec<_>>>()?;
    for server in &mut servers {
        server.turn(turns.warm_up)?;
    }
    let mut results: Vec<Vec<Turn>> = contenders.iter().map(|_| Vec::new()).collect();
    for round in 0..turns.rounds {
        for place in 0..contenders.len() {
            // Each round begins with another contender, so that none always benefits from its position.
            let index = (place + round) % contenders.len();
            let turn = servers[index].turn(turns.turn);
            results[index].push(turn.with_context(|| format!("{name}: {}", contenders[index].name))?);
        }
    }
    Ok(results)
}

struct Loaded {
    runtime: Runtime,
    replicas: Vec<Server>,
    clients: Vec<Client>,
}

pub(super) struct Turn {
    /// Requests per second.
    pub(super) rate: f64,
    /// The median latency in nanoseconds.
    pub(super) p50: f64,
    pub(super) p99: f64,
    /// The CPU time of all replicas per request, in nanoseconds.
    pub(super) cpu: f64,
}

impl Loaded {
    fn start(dialect: Dialect, connections: usize, binaries: &Binaries, contender: &Contender) -> Result<Self> {
        let program = binaries.path(contender.package)?;
        let replicas = (0..contender.replicas).map(|_| Server::start(program, &contender.arguments));
        let replicas = replicas.collect::<Result<Vec<_>>>()?;
        let ports: Vec<u16> = replicas.iter().map(|replica| replica.port).collect();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let clients = runtime.block_on(async {
            let mut clients = Vec::with_capacity(connections);
            for _ in 0..connections {
                clients.push(Client::connect(&ports, dialect).await?);
            }
            anyhow::Ok(clients)
        })?;
        Ok(Self { runtime, replicas, clients })
    }

    fn cpu(&self) -> Result<Duration> {
        self.replicas.iter().map(Server::cpu).sum()
    }

    fn turn(&mut self, length: Duration) -> Result<Turn> {
        let clients = std::mem::take(&mut self.clients);
        let cpu = self.cpu()?;
        let began = Instant::now();
        let (clients, mut times) = self.runtime.block_on(call(clients, began + length))?;
        let elapsed = began.elapsed();
        let cpu = self.cpu()? - cpu;
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
