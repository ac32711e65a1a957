//! Simulates many replicas in one process, with thousands of sessions and one Redis server. Kills replicas, and cuts
//! and delays their connections to Redis at random.
//!
//! Exits with an error if a session is lost or receives a response to a request of another session.

mod link;

use std::net::{Ipv4Addr, TcpListener};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use clap::Parser;
use fastrand::Rng;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use link::Link;
use mcpgen_redis::{RedisOptions, RedisStores};
use mcpgen_sdk::Server;
use mcpgen_sdk::http::server::{Body, Endpoint, EndpointOptions, ServeHttp};
use mcpgen_sdk::replicas::Replicas;
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use mcpgen_types::{JsonObject, JsonRef};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::runtime::{Handle, Runtime};
use tokio::time::sleep;
use tower::ServiceExt;

/// Simulates many replicas in one process.
#[derive(Clone, Parser)]
struct Arguments {
    #[arg(long, default_value_t = 20)]
    replicas: usize,
    #[arg(long, default_value_t = 10_000)]
    sessions: usize,
    /// The number of requests.
    #[arg(long, default_value_t = 100_000)]
    requests: usize,
    /// The seed of all random decisions. Default: random, and printed.
    #[arg(long)]
    seed: Option<u64>,
}

/// A replica. It has a separate runtime, so that killing it ends all its tasks at once.
struct Replica {
    endpoint: Endpoint,
    link: Link,
    handle: Handle,
    runtime: Option<Runtime>,
}

impl Drop for Replica {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

struct World {
    replicas: Mutex<Vec<Option<Arc<Replica>>>>,
    is_over: AtomicBool,
    responses: AtomicUsize,
    retries: AtomicUsize,
    kills: AtomicUsize,
    cuts: AtomicUsize,
}

impl World {
    fn any(&self, random: &mut Rng) -> Arc<Replica> {
        let replicas = self.replicas.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(replica) = &replicas[random.usize(..replicas.len())] {
                return Arc::clone(replica);
            }
        }
    }

    fn replace(&self, index: usize, replica: Option<Arc<Replica>>) {
        let replaced =
            std::mem::replace(&mut self.replicas.lock().unwrap_or_else(PoisonError::into_inner)[index], replica);
        drop(replaced);
    }
}

/// The number of concurrent requests.
const WORKERS: usize = 100;

/// How long a failing request is retried.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}");
    let mut random = Rng::with_seed(seed);
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    let _redis = start_redis(port).await?;
    let mut replicas = Vec::new();
    for _ in 0..arguments.replicas {
        replicas.push(Some(start(port).await?));
    }
    let world = Arc::new(World {
        replicas: Mutex::new(replicas),
        is_over: AtomicBool::new(false),
        responses: AtomicUsize::new(0),
        retries: AtomicUsize::new(0),
        kills: AtomicUsize::new(0),
        cuts: AtomicUsize::new(0),
    });
    let began = Instant::now();
    let workers = (0..WORKERS).map(|_| {
        let share = arguments.sessions.div_ceil(WORKERS);
        tokio::spawn(begin_sessions(Arc::clone(&world), random.fork(), share))
    });
    let mut sessions = Vec::new();
    for worker in workers.collect::<Vec<_>>() {
        sessions.extend(worker.await??);
    }
    println!("{} sessions in {} s", sessions.len(), began.elapsed().as_secs());

    let chaos = tokio::spawn(chaos(Arc::clone(&world), port, random.fork()));
    let (began, sessions) = (Instant::now(), Arc::new(sessions));
    let workers = (0..WORKERS).map(|worker| {
        let share = arguments.requests.div_ceil(WORKERS);
        tokio::spawn(work(Arc::clone(&world), Arc::clone(&sessions), random.fork(), (worker, share)))
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await??;
    }
    world.is_over.store(true, Ordering::SeqCst);
    chaos.await??;
    let get = |count: &AtomicUsize| count.load(Ordering::SeqCst);
    println!(
        "{} responses in {} s, {} requests repeated, {} replicas killed, {} links cut or delayed",
        get(&world.responses),
        began.elapsed().as_secs(),
        get(&world.retries),
        get(&world.kills),
        get(&world.cuts),
    );
    Ok(())
}

/// Kills replicas, and cuts and delays their connections to Redis, until the test ends.
async fn chaos(world: Arc<World>, port: u16, mut random: Rng) -> anyhow::Result<()> {
    while !world.is_over.load(Ordering::SeqCst) {
        sleep(Duration::from_millis(random.u64(200..1000))).await;
        let count = world.replicas.lock().unwrap_or_else(PoisonError::into_inner).len();
        let index = random.usize(..count);
        if random.bool() {
            world.kills.fetch_add(1, Ordering::SeqCst);
            world.replace(index, None);
            sleep(Duration::from_millis(random.u64(0..2000))).await;
            world.replace(index, Some(start(port).await?));
        } else {
            world.cuts.fetch_add(1, Ordering::SeqCst);
            let link = world.any(&mut random).link.clone();
            if random.bool() {
                link.cut(true);
            } else {
                link.delay(Duration::from_millis(random.u64(1..200)));
            }
            let time = Duration::from_millis(random.u64(500..6000));
            tokio::spawn(async move {
                sleep(time).await;
                link.cut(false);
                link.delay(Duration::ZERO);
            });
        }
    }
    Ok(())
}

async fn begin_sessions(world: Arc<World>, mut random: Rng, count: usize) -> anyhow::Result<Vec<String>> {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "simulate", "version": "1" },
    });
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let mut sessions = Vec::new();
    while sessions.len() < count {
        let response = post(&world, &mut random, None, &initialize).await.context("killed too early")?;
        ensure!(response.status() == 200, "initialize: {}", response.status());
        let id = response.headers().get("mcp-session-id").context("no session ID")?;
        let id = id.to_str()?.to_owned();
        // If a session is not used after `initialize`, the server soon ends it.
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let response = post(&world, &mut random, Some(&id), &ready).await.context("killed too early")?;
        ensure!(response.status() == 202, "notifications/initialized: {}", response.status());
        sessions.push(id);
    }
    Ok(sessions)
}

async fn work(
    world: Arc<World>,
    sessions: Arc<Vec<String>>,
    mut random: Rng,
    (worker, count): (usize, usize),
) -> anyhow::Result<()> {
    for call in 0..count {
        let session = &sessions[random.usize(..sessions.len())];
        // No other request has the same text or the same ID.
        let (id, text) = (worker * 1_000_000 + call + 1, format!("{worker} {call}"));
        let params = json!({ "name": "echo", "arguments": { "text": text } });
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let until = Instant::now() + PATIENCE;
        loop {
            let response = post(&world, &mut random, Some(session), &request);
            let Some(response) = tokio::time::timeout(PATIENCE, response).await? else {
                world.retries.fetch_add(1, Ordering::SeqCst);
                continue;
            };
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            match status.as_u16() {
                200 => {
                    let response: Value = serde_json::from_slice(&body)?;
                    ensure!(response["id"] == id && response["result"]["content"][0]["text"] == text, "{response}");
                    world.responses.fetch_add(1, Ordering::SeqCst);
                    break;
                }
                404 => anyhow::bail!("session {session} is lost: {}", String::from_utf8_lossy(&body)),
                _ => {
                    world.retries.fetch_add(1, Ordering::SeqCst);
                    ensure!(Instant::now() < until, "{status}: {}", String::from_utf8_lossy(&body));
                    sleep(Duration::from_millis(random.u64(20..200))).await;
                }
            }
        }
    }
    Ok(())
}

/// Sends a message to a random replica. Returns `None` if the replica is killed before it responds.
async fn post(world: &World, random: &mut Rng, session: Option<&str>, message: &Value) -> Option<Response<Body>> {
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json");
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    let request = request.body(Full::new(Bytes::from(message.to_string()))).unwrap_or_default();
    let replica = world.any(random);
    // This runs in the replica's runtime, so that killing the replica ends the request.
    let response = replica.handle.spawn(replica.endpoint.clone().oneshot(request));
    drop(replica);
    match response.await {
        Ok(Ok(response)) => Some(response),
        Ok(Err(never)) => match never {},
        Err(_) => None,
    }
}

async fn start(redis: u16) -> anyhow::Result<Arc<Replica>> {
    let link = Link::open(redis).await?;
    let url = format!("redis://{}", link.address);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let endpoint = runtime.spawn(async move {
        let stores = RedisStores::connect(RedisOptions::new(&url)).await?;
        let echo = Tool::new("echo", ToolInputSchema::new());
        let server = Server::builder("simulate", "1")
            .change_bus(stores.clone())
            .tool(echo, |arguments: JsonObject| async move {
                arguments.get("text").and_then(JsonRef::as_str).unwrap_or_default().into_owned()
            })
            .build();
        let options = EndpointOptions::default().with_replicas(Replicas::new(stores));
        anyhow::Ok(server.http(options)?)
    });
    let handle = runtime.handle().clone();
    Ok(Arc::new(Replica { endpoint: endpoint.await??, link, handle, runtime: Some(runtime) }))
}

async fn start_redis(port: u16) -> anyhow::Result<Child> {
    let port_text = port.to_string();
    let options = ["--port", &port_text, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", "/tmp"];
    let mut command = Command::new("redis-server");
    command.args(options).stdout(Stdio::null()).kill_on_drop(true);
    let child = command.spawn().context("starting redis-server; install the package redis-server")?;
    for _ in 0..100 {
        if tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_ok() {
            return Ok(child);
        }
        sleep(Duration::from_millis(50)).await;
    }
    anyhow::bail!("redis-server does not listen")
}
