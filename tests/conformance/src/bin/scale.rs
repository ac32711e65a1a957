//! Measures what sessions and requests cost: memory, Redis commands and CPU time.
//!
//! Starts a Redis server, and two replicas in this process. Requests do not pass through an HTTP server, so the CPU
//! time is that of the endpoint. Use a release build on a machine that does nothing else.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use clap::Parser;
use futures_util::StreamExt;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use mcpgen_redis::OnRedis;
use mcpgen_sdk::Server;
use mcpgen_sdk::http::server::{Body, Endpoint, EndpointOptions, ServeHttp};
use mcpgen_sdk::protocol::ContextExt;
use mcpgen_sdk::server::RequestContext;
use mcpgen_types::JsonObject;
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::sleep;
use tower::ServiceExt;

/// Measures what sessions and requests cost.
#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value_t = 10_000)]
    sessions: usize,
    /// The number of requests of each kind.
    #[arg(long, default_value_t = 20_000)]
    requests: usize,
    /// The seconds for which idle sessions are observed.
    #[arg(long, default_value_t = 30)]
    idle: u64,
}

/// The number of concurrent requests.
const CONCURRENT: usize = 64;

/// The number of clock ticks in a second. The kernel reports CPU time in ticks.
const TICKS: f64 = 100.0;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    let options = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", "/tmp"];
    let mut redis = Command::new("redis-server");
    redis.args(["--port", &port.to_string()]).args(options).stdout(Stdio::null()).kill_on_drop(true);
    let _process = redis.spawn().context("starting redis-server; install the package redis-server")?;
    let redis = Redis { port };
    while redis.run(&["PING"]).await.is_err() {
        sleep(Duration::from_millis(20)).await;
    }
    let (home, other) = (replica(port, arguments.sessions).await?, replica(port, arguments.sessions).await?);

    let before = (resident()?, redis.info("memory", "used_memory").await?);
    let costs = Costs::begin(&redis).await?;
    let sessions = (0..arguments.sessions).map(|_| tokio::spawn(begin(home.clone())));
    let mut sessions = futures_util::stream::iter(sessions).buffer_unordered(CONCURRENT);
    let mut ids = Vec::new();
    while let Some(id) = sessions.next().await {
        ids.push(id??);
    }
    let ids = Arc::new(ids);
    costs.end(&redis, "begin a session", arguments.sessions).await?;
    let (memory, stored) = (resident()?, redis.info("memory", "used_memory").await?);
    let of_each = |before: f64, after: f64| (after - before) / arguments.sessions as f64 / 1024.0;
    println!(
        "a session takes {:.1} KiB at its home, and {:.2} KiB in Redis",
        of_each(before.0, memory),
        of_each(before.1, stored)
    );
    let key = format!("mcpgen:session:{{{}}}", ids[0]);
    println!("MEMORY USAGE {key}: {}", redis.run(&["MEMORY", "USAGE", &key]).await?.trim());

    // Each session is renewed within 5 seconds of its start, and then once every 15 minutes.
    let costs = Costs::begin(&redis).await?;
    sleep(Duration::from_secs(10)).await;
    costs.end(&redis, "the renewal of a session, with 10 seconds of 2 replicas", arguments.sessions).await?;
    let costs = Costs::begin(&redis).await?;
    sleep(Duration::from_secs(arguments.idle)).await;
    costs.end(&redis, "a second of 2 replicas, with all sessions idle", usize::try_from(arguments.idle)?).await?;

    for (name, endpoint) in [("a request at the home of its session", &home), ("a forwarded request", &other)] {
        // The first requests load scripts, find out which replica runs each session, and open connections.
        requests(endpoint, &ids, ids.len(), "echo").await?;
        let costs = Costs::begin(&redis).await?;
        requests(endpoint, &ids, arguments.requests, "echo").await?;
        costs.end(&redis, name, arguments.requests).await?;
    }
    let first = Arc::new(ids[..ids.len().min(CONCURRENT)].to_vec());
    let (costs, before) = (Costs::begin(&redis).await?, redis.info("memory", "used_memory").await?);
    let streams = arguments.requests / 10;
    requests(&home, &first, streams, "count").await?;
    costs.end(&redis, "a request whose stream has 10 events", streams).await?;
    let taken = (redis.info("memory", "used_memory").await? - before) / streams as f64 / 1024.0;
    println!("such a stream takes {taken:.2} KiB in Redis while it is kept");
    let costs = Costs::begin(&redis).await?;
    requests(&home, &Arc::new(vec![String::new()]), arguments.requests, "echo").await?;
    costs.end(&redis, "a request of revision 2026-07-28", arguments.requests).await?;
    Ok(())
}

async fn replica(port: u16, sessions: usize) -> anyhow::Result<Endpoint> {
    let tool = |name: &str| Tool::new(name, ToolInputSchema::new());
    let server = Server::builder("scale", "1")
        .tool(tool("echo"), |arguments: JsonObject| async move { mcpgen_types::to_string(&arguments) })
        .tool(tool("count"), |context: RequestContext| async move {
            for number in 0..10 {
                context.progress(f64::from(number), None, None).await;
            }
            "counted"
        });
    let server = server.on_redis(format!("redis://127.0.0.1:{port}")).await?.build();
    let (sessions, requests) = (sessions + 1, 4 * CONCURRENT);
    Ok(server.http(
        EndpointOptions::default().with_sessions(sessions).with_session_memory(usize::MAX).with_requests(requests),
    )?)
}

struct Redis {
    port: u16,
}

impl Redis {
    async fn run(&self, words: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new("redis-cli");
        let output =
            command.args(["-p", &self.port.to_string()]).args(words).output().await.context("starting redis-cli")?;
        let text = String::from_utf8(output.stdout)?;
        ensure!(output.status.success() && !text.starts_with("ERR"), "{words:?}: {text}");
        Ok(text)
    }

    async fn info(&self, section: &str, name: &str) -> anyhow::Result<f64> {
        let info = self.run(&["INFO", section]).await?;
        let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        Ok(line.with_context(|| format!("no {name}"))?.trim().parse()?)
    }

    /// Returns the CPU seconds of the server's main thread.
    async fn cpu(&self) -> anyhow::Result<f64> {
        let (user, system) = ("used_cpu_user_main_thread", "used_cpu_sys_main_thread");
        Ok(self.info("cpu", user).await? + self.info("cpu", system).await?)
    }
}

/// The time, and the CPU time used so far, when a measurement began.
struct Costs {
    began: Instant,
    cpu: f64,
    redis_cpu: f64,
}

impl Costs {
    async fn begin(redis: &Redis) -> anyhow::Result<Self> {
        redis.run(&["CONFIG", "RESETSTAT"]).await?;
        Ok(Self { began: Instant::now(), cpu: cpu()?, redis_cpu: redis.cpu().await? })
    }

    /// Prints what each of `count` operations has used on average.
    async fn end(self, redis: &Redis, name: &str, count: usize) -> anyhow::Result<()> {
        let (elapsed, count) = (self.began.elapsed().as_secs_f64(), count as f64);
        let (cpu, redis_cpu) = (cpu()? - self.cpu, redis.cpu().await? - self.redis_cpu);
        let stats = redis.run(&["INFO", "commandstats"]).await?;
        let calls = stats.lines().filter_map(|line| {
            let (command, stats) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((command, stats.split(',').next()?.parse::<f64>().ok()?))
        });
        // Leaves out this program's own commands.
        let mut calls: BTreeMap<&str, f64> =
            calls.filter(|(name, _)| !matches!(*name, "info" | "config|resetstat")).collect();
        calls.values_mut().for_each(|calls| *calls /= count);
        calls.retain(|_, calls| *calls >= 0.01);
        let calls: Vec<String> = calls.iter().map(|(name, calls)| format!("{name} {calls:.2}")).collect();
        println!(
            "{name}: {:.0} µs of CPU time, {:.1} µs of Redis's, {:.0} per second; commands: {}",
            cpu / count * 1e6,
            redis_cpu / count * 1e6,
            count / elapsed,
            if calls.is_empty() { "none".to_owned() } else { calls.join(", ") },
        );
        Ok(())
    }
}

fn cpu() -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name of the program is in parentheses and may contain spaces.
    let fields: Vec<&str> = stat.rsplit_once(')').context("no name")?.1.split_whitespace().collect();
    let ticks =
        fields.get(11).context("no time")?.parse::<f64>()? + fields.get(12).context("no time")?.parse::<f64>()?;
    Ok(ticks / TICKS)
}

fn resident() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.split_whitespace().next().context("no value")?.parse::<f64>()? * 1024.0)
}

async fn send(endpoint: &Endpoint, headers: &[(&str, &str)], body: &Value) -> anyhow::Result<Response<Body>> {
    let mut request = Request::builder().method("POST").uri("/mcp").header("host", "localhost");
    request =
        request.header("accept", "application/json, text/event-stream").header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let Ok(response) = endpoint.clone().oneshot(request.body(Full::new(Bytes::from(body.to_string())))?).await;
    Ok(response)
}

async fn begin(endpoint: Endpoint) -> anyhow::Result<String> {
    let info = json!({ "name": "scale", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} }, "clientInfo": info });
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let response = send(&endpoint, &[], &initialize).await?;
    let id = response.headers().get("mcp-session-id").context("no session")?.to_str()?.to_owned();
    response.into_body().collect().await?;
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    ensure!(send(&endpoint, &[("mcp-session-id", &id)], &ready).await?.status() == 202);
    Ok(id)
}

/// Calls a tool in sessions, or in revision 2026-07-28 if the session ID is empty.
async fn requests(endpoint: &Endpoint, ids: &Arc<Vec<String>>, count: usize, tool: &'static str) -> anyhow::Result<()> {
    let calls = (0..count).map(|number| {
        let (endpoint, ids) = (endpoint.clone(), Arc::clone(ids));
        async move {
            let id = &ids[number % ids.len()];
            let mut params =
                json!({ "name": tool, "arguments": { "number": number }, "_meta": { "progressToken": number } });
            let headers = match id.as_str() {
                "" => {
                    params["_meta"] = json!({
                        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                        "io.modelcontextprotocol/clientCapabilities": {},
                    });
                    vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", tool)]
                }
                id => vec![("mcp-session-id", id)],
            };
            let call = json!({ "jsonrpc": "2.0", "id": number + 1, "method": "tools/call", "params": params });
            let response = send(&endpoint, &headers, &call).await?;
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            ensure!(status == 200 && body.windows(8).any(|it| it == b"\"result\""), "{status} {body:?}");
            Ok(())
        }
    });
    let mut calls = futures_util::stream::iter(calls).map(tokio::spawn).buffer_unordered(CONCURRENT);
    while let Some(call) = calls.next().await {
        call??;
    }
    Ok(())
}
