//! Kills replicas of a server while clients use it, and checks what the clients receive.
//!
//! Starts a Redis server and replicas that share it. Clients send each request to a random replica. Meanwhile, replicas
//! are killed at random and started again. `--outage` also stops Redis once for 10 seconds and deletes all its data.
//!
//! Exits with an error if a client receives a wrong response, misses or repeats an event, or loses a task. Without
//! `--outage`, losing a session is an error too.

mod client;
mod http;
mod replica;

use std::net::{Ipv4Addr, TcpListener};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Parser;
use tokio::process::{Child, Command};
use tokio::time::sleep;

/// Kills replicas of a server while clients use it, and checks what the clients see.
#[derive(Clone, Parser)]
struct Arguments {
    /// The number of replicas.
    #[arg(long, default_value_t = 3)]
    replicas: usize,
    /// The number of clients.
    #[arg(long, default_value_t = 24)]
    clients: usize,
    /// How many times a replica is killed.
    #[arg(long, default_value_t = 20)]
    kills: usize,
    /// Stops Redis for 10 seconds, and deletes all its data once.
    #[arg(long)]
    outage: bool,
    /// The seed of all random decisions. Default: random, and printed.
    #[arg(long)]
    seed: Option<u64>,
    /// Runs a replica on this port instead of the test.
    #[arg(long, hide = true)]
    port: Option<u16>,
    /// The Redis server of a replica.
    #[arg(long, hide = true)]
    redis: Option<String>,
}

/// What happened to the clients.
#[derive(Default)]
struct Counts {
    completed: AtomicUsize,
    /// Requests that a client repeated because their replica had died.
    interrupted: AtomicUsize,
    /// Streams that were resumed at another replica.
    resumed: AtomicUsize,
    /// Tasks that ended with the error that their replica had died.
    failed_tasks: AtomicUsize,
    notifications: AtomicUsize,
    /// Sessions that a client had to replace.
    lost_sessions: AtomicUsize,
    /// Wrong responses. Each is printed as well.
    wrong: AtomicUsize,
}

struct World {
    ports: Vec<u16>,
    http: reqwest::Client,
    counts: Counts,
    is_over: AtomicBool,
    may_lose_sessions: bool,
}

impl World {
    fn wrong(&self, what: &str) {
        self.counts.wrong.fetch_add(1, Ordering::SeqCst);
        println!("WRONG: {what}");
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // reqwest requires a cryptography provider, even without TLS.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments = Arguments::parse();
    match (arguments.port, &arguments.redis) {
        (Some(port), Some(redis)) => replica::run(port, redis).await,
        _ => supervise(arguments).await,
    }
}

async fn supervise(arguments: Arguments) -> anyhow::Result<()> {
    let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}");
    let random = &mut fastrand::Rng::with_seed(seed);
    let redis_port = free_port()?;
    let mut redis = start_redis(redis_port)?;
    let url = format!("redis://127.0.0.1:{redis_port}");
    let ports = (0..arguments.replicas).map(|_| free_port()).collect::<Result<Vec<_>, _>>()?;
    let mut replicas = Vec::new();
    for port in &ports {
        replicas.push(start_replica(*port, &url)?);
    }
    let world = Arc::new(World {
        http: reqwest::Client::builder().pool_max_idle_per_host(0).build()?,
        ports: ports.clone(),
        counts: Counts::default(),
        is_over: AtomicBool::new(false),
        may_lose_sessions: arguments.outage,
    });
    for port in &ports {
        wait_for(*port).await?;
    }
    let clients = (0..arguments.clients).map(|number| {
        let random = random.fork();
        tokio::spawn(client::run(number, Arc::clone(&world), random))
    });
    let clients: Vec<_> = clients.collect();

    let began = Instant::now();
    for kill in 0..arguments.kills {
        sleep(Duration::from_millis(random.u64(300..1200))).await;
        let victim = random.usize(..replicas.len());
        replicas[victim].kill().await?;
        sleep(Duration::from_millis(random.u64(0..400))).await;
        replicas[victim] = start_replica(ports[victim], &url)?;
        wait_for(ports[victim]).await?;
        if arguments.outage && kill == arguments.kills / 3 {
            redis.kill().await?;
            println!("Redis has stopped");
            sleep(Duration::from_secs(10)).await;
            redis = start_redis(redis_port)?;
            println!("Redis has started, without its data");
        }
        if (kill + 1) % 20 == 0 {
            println!("{} kills, {} s", kill + 1, began.elapsed().as_secs());
        }
    }
    sleep(Duration::from_secs(2)).await;
    world.is_over.store(true, Ordering::SeqCst);
    for client in clients {
        client.await??;
    }
    report(&world, arguments.kills, began.elapsed())
}

fn report(world: &World, kills: usize, elapsed: Duration) -> anyhow::Result<()> {
    let Counts { completed, interrupted, resumed, failed_tasks, notifications, lost_sessions, wrong } = &world.counts;
    println!("{kills} kills in {} s", elapsed.as_secs());
    for (name, count) in [
        ("completed operations", completed),
        ("requests repeated because their replica died", interrupted),
        ("streams resumed", resumed),
        ("tasks that failed because their replica died", failed_tasks),
        ("notifications", notifications),
        ("sessions begun again", lost_sessions),
        ("wrong", wrong),
    ] {
        println!("  {name}: {}", count.load(Ordering::SeqCst));
    }
    let get = |count: &AtomicUsize| count.load(Ordering::SeqCst);
    ensure!(get(wrong) == 0, "clients have seen wrong responses");
    ensure!(world.may_lose_sessions || get(lost_sessions) == 0, "clients have lost their sessions");
    ensure!(get(completed) > kills, "the clients have made too few requests");
    Ok(())
}

fn free_port() -> std::io::Result<u16> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr().map(|address| address.port())
}

fn start_redis(port: u16) -> anyhow::Result<Child> {
    let port = port.to_string();
    let options = ["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", "/tmp"];
    let mut command = Command::new("redis-server");
    command.args(options).stdout(Stdio::null()).kill_on_drop(true);
    command.spawn().context("starting redis-server; install the package redis-server")
}

fn start_replica(port: u16, redis: &str) -> anyhow::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--port", &port.to_string(), "--redis", redis]).stdout(Stdio::null()).kill_on_drop(true);
    Ok(command.spawn()?)
}

async fn wait_for(port: u16) -> anyhow::Result<()> {
    let until = Instant::now() + Duration::from_secs(20);
    while tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err() {
        ensure!(Instant::now() < until, "the replica at port {port} does not start");
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
