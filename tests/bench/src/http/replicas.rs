//! Measures what sessions in shared stores cost: one process without stores, one with stores in memory, and replicas
//! with Redis.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::load::{Contender, DIALECTS, Turn, Turns, measure, medians};
use super::{CONTENDERS, PACKAGES as SINGLE, notes};
use crate::dispatch::binaries::Binaries;
use crate::dispatch::child::Running;
use crate::report::{Case, OURS, Section};

const CONNECTIONS: usize = 64;

pub(crate) const PACKAGES: [&str; 3] = [SINGLE[0], SINGLE[1], REPLICA];

const REPLICA: &str = "http-replica";

/// Measures the servers in turn, `rounds` times.
pub(crate) fn run(quick: bool, rounds: usize, binaries: &Binaries) -> Result<Vec<Section>> {
    let rounds = if quick { 1 } else { rounds.max(1) };
    let turns = Turns::new(quick, rounds);
    let redis = Redis::start()?;
    let [(ours, package), (rmcp, rmcp_package)] = CONTENDERS;
    let contender = |name, package, arguments: &[&String], replicas| Contender {
        name,
        package,
        arguments: arguments.iter().copied().cloned().collect(),
        replicas,
    };
    let contenders = [
        contender(ours, package, &[], 1),
        contender("memory stores", REPLICA, &[], 1),
        contender("Redis", REPLICA, &[&redis.url], 1),
        contender("Redis, 3 replicas", REPLICA, &[&redis.url], 3),
        contender(rmcp, rmcp_package, &[], 1),
    ];
    let mut cases = Vec::new();
    for (dialect, kind) in DIALECTS {
        let name = format!("{kind} calls");
        let results = measure(&name, dialect, CONNECTIONS, &turns, binaries, &contenders)?;
        let row = |what: &str, unit, figure: fn(&Turn) -> f64| {
            let figures = contenders.iter().map(|contender| contender.name.to_owned()).zip(medians(&results, figure));
            Case::new(format!("{name}, {what}"), unit, figures.collect()).base(OURS)
        };
        cases.extend([
            row("rate", "requests/s", |turn| turn.rate),
            row("p50", "ns", |turn| turn.p50),
            row("p99", "ns", |turn| turn.p99),
            row("CPU of the server per request", "ns", |turn| turn.cpu),
        ]);
    }
    Ok(vec![Section {
        name: "replicas",
        title: format!("Streamable HTTP, {CONNECTIONS} connections: sessions in one process, in stores, and on Redis"),
        cases,
        notes: notes(&[
            "The same calls as in the part `http`. `mcpgen` and `rmcp` keep sessions in one process. `memory stores` \
             is one replica whose sessions are in `MemoryHub`, `Redis` one replica on a redis-server of this machine, \
             without persistence, and `Redis, 3 replicas` three of them: each client sends its calls to the replicas \
             in turn, so two of three calls of a session arrive at a replica that forwards them to the replica which \
             runs the session.",
            "The client, redis-server and all replicas run on the same cores, so more replicas cannot be faster here: \
             the CPU time, which is the sum of the replicas without redis-server, shows what a call costs.",
        ]),
    }])
}

/// A Redis server that writes nothing to disk.
struct Redis {
    url: String,
    _process: Running,
}

impl Redis {
    fn start() -> Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        let process = command.stdout(Stdio::null()).spawn();
        let process = Running(process.context("starting redis-server; install the package redis-server")?);
        let until = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            ensure!(Instant::now() < until, "redis-server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Self { url: format!("redis://127.0.0.1:{port}/"), _process: process })
    }
}
