//! Makes many requests over many connections, and aborts some of them. Prints the numbers of responses, aborted
//! requests and remaining tasks and sessions, and the resident memory.
//!
//! Usage: `soak [REQUESTS [CONNECTIONS]]`. Exits with an error if a response is wrong or missing, or if a handler, a
//! session or a task remains.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use axum::serve::ListenerExt;
use mcpgen_sdk::http::client;
use mcpgen_sdk::http::client::ConnectHttp;
use mcpgen_sdk::http::server::{Endpoint, EndpointOptions, ServeHttp};
use mcpgen_sdk::protocol::ContextExt;
use mcpgen_sdk::server::RequestContext;
use mcpgen_sdk::{Client, Limits, Server};
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use mcpgen_types::{JsonObject, JsonRef, Revision};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

#[derive(Default)]
struct Counts {
    started: AtomicUsize,
    ended: AtomicUsize,
    completed: AtomicUsize,
    aborted: AtomicUsize,
    resumed: AtomicUsize,
    sessions: AtomicUsize,
}

/// Counts a handler as ended when it completes, panics or is dropped.
struct HandlerGuard(Arc<Counts>);

impl HandlerGuard {
    fn new(counts: &Arc<Counts>) -> Self {
        counts.started.fetch_add(1, SeqCst);
        Self(Arc::clone(counts))
    }
}

impl Drop for HandlerGuard {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, SeqCst);
    }
}

fn server(counts: &Arc<Counts>) -> Server {
    let tool = |name: &str| Tool::new(name, ToolInputSchema::new());
    let (echo, progress, later) = (Arc::clone(counts), Arc::clone(counts), Arc::clone(counts));
    let text =
        |arguments: &JsonObject| arguments.get("text").and_then(JsonRef::as_str).unwrap_or_default().into_owned();
    Server::builder("soak", "1")
        .tool(tool("echo"), move |arguments: JsonObject| {
            let guard = HandlerGuard::new(&echo);
            async move {
                let _guard = guard;
                text(&arguments)
            }
        })
        .tool(tool("progress"), move |call: RequestContext, arguments: JsonObject| {
            let guard = HandlerGuard::new(&progress);
            async move {
                let _guard = guard;
                for step in 0..3 {
                    call.progress(f64::from(step), None, None).await;
                    sleep(Duration::from_millis(2)).await;
                }
                text(&arguments)
            }
        })
        .tool(tool("later"), move |call: RequestContext, arguments: JsonObject| {
            let guard = HandlerGuard::new(&later);
            async move {
                let _guard = guard;
                call.close_sse_stream(Duration::from_millis(1));
                sleep(Duration::from_millis(10)).await;
                text(&arguments)
            }
        })
        .build()
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // reqwest requires a cryptography provider, even without TLS.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut arguments = std::env::args().skip(1).map(|number| number.parse::<usize>());
    let requests = arguments.next().transpose()?.unwrap_or(100_000);
    let connections = arguments.next().transpose()?.unwrap_or(200);
    let counts = Arc::<Counts>::default();
    let options = EndpointOptions::default()
        .with_idle(Duration::from_secs(3))
        .with_limits(Limits::default().with_drain_timeout(Duration::from_secs(1)));
    let endpoint = server(&counts).http(options)?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let app = axum::Router::new().route_service("/mcp", endpoint.clone());
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    tokio::spawn(async move { axum::serve(listener, app).await });

    let started = Instant::now();
    let rounds = 4;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let (idle_tasks, mut memory) = (tasks(), vec![resident()]);
    for _ in 0..rounds {
        let each = requests / rounds / connections;
        let workers = (0..connections)
            .map(|worker| tokio::spawn(Worker::new(worker, url.clone(), Arc::clone(&counts)).work(each)));
        for worker in workers.collect::<Vec<_>>() {
            worker.await??;
        }
        settle(&endpoint, &counts, || tasks() <= idle_tasks).await;
        memory.push(resident());
    }
    let seconds = started.elapsed().as_secs_f64();
    let get = |count: &AtomicUsize| count.load(SeqCst);
    println!(
        "{} responses in {seconds:.1} s, {:.0} per second",
        get(&counts.completed),
        get(&counts.completed) as f64 / seconds
    );
    println!(
        "aborted by the client: {}, resumed streams: {}, sessions: {}",
        get(&counts.aborted),
        get(&counts.resumed),
        get(&counts.sessions)
    );
    println!("handlers started: {}, ended: {}", get(&counts.started), get(&counts.ended));
    println!("tasks before: {idle_tasks}, after: {}; remaining sessions: {}", tasks(), endpoint.sessions());
    println!("resident memory in MiB, at the start and after each quarter: {memory:?}");
    ensure!(get(&counts.started) == get(&counts.ended), "a handler has not ended");
    ensure!(endpoint.sessions() == 0, "a session has not ended");
    ensure!(tasks() <= idle_tasks, "a task has not ended");
    Ok(())
}

/// Waits until all sessions, handlers and tasks have ended, but at most 20 s.
async fn settle(endpoint: &Endpoint, counts: &Counts, idle: impl Fn() -> bool) {
    for _ in 0..200 {
        if endpoint.sessions() == 0 && counts.started.load(SeqCst) == counts.ended.load(SeqCst) && idle() {
            return;
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// Returns the resident memory in MiB, or 0 if it is unknown.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    resident.and_then(|kib| kib.parse::<usize>().ok()).unwrap_or_default() / 1024
}

/// A client with a separate connection.
struct Worker {
    number: usize,
    url: String,
    http: reqwest::Client,
    counts: Arc<Counts>,
    random: u64,
    session: Option<String>,
    next: usize,
}

impl Worker {
    fn new(number: usize, url: String, counts: Arc<Counts>) -> Self {
        let random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(number as u64 + 1);
        Self { number, url, http: reqwest::Client::new(), counts, random, session: None, next: 0 }
    }

    /// Returns `true` once in `one_in` calls on average. Uses xorshift, so that each run makes the same choices.
    fn chance(&mut self, one_in: u64) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random.is_multiple_of(one_in)
    }

    async fn work(mut self, requests: usize) -> anyhow::Result<()> {
        if self.number.is_multiple_of(10) {
            return self.work_with_runtime_client(requests).await;
        }
        for _ in 0..requests {
            self.next += 1;
            let tool = if self.chance(3) { "progress" } else { "echo" };
            let (is_modern, aborts, is_later) = (self.chance(2), self.chance(8), self.chance(5));
            let result = match is_modern {
                true => self.modern(tool, aborts).await,
                false => self.legacy(if is_later { "later" } else { tool }, aborts).await,
            };
            result.with_context(|| format!("worker {}, request {}", self.number, self.next))?;
        }
        // Some clients end their sessions.
        match self.session.take() {
            Some(session) if self.chance(2) => {
                self.http.delete(&self.url).header("mcp-session-id", session).send().await?;
            }
            _ => {}
        }
        Ok(())
    }

    async fn work_with_runtime_client(&mut self, requests: usize) -> anyhow::Result<()> {
        let revision = if self.chance(2) { Revision::V2025_11_25 } else { Revision::V2026_07_28 };
        let client = Client::builder("soak", "1").options(|options| options.known_revision = Some(revision));
        let client = client.connect_http(&self.url, client::ClientOptions::default()).await?;
        for _ in 0..requests {
            self.next += 1;
            let (tool, aborts) = (if self.chance(4) { "later" } else { "echo" }, self.chance(10));
            let text = self.text();
            let arguments = JsonObject::from_iter([("text".to_owned(), text.clone().into())]);
            let limit = if aborts { Duration::from_millis(1) } else { Duration::from_secs(60) };
            match timeout(limit, client.call_tool(tool, arguments)).await {
                Ok(result) => self.check(&mcpgen_types::to_value(&result?)?, &text)?,
                Err(_) if aborts => drop(self.counts.aborted.fetch_add(1, SeqCst)),
                Err(_) => bail!("no response within {limit:?}"),
            }
        }
        Ok(client.close().await?)
    }

    fn text(&self) -> String {
        format!("{}/{} {}", self.number, self.next, "x".repeat(self.next * 37 % 2000))
    }

    fn check(&self, result: &Value, text: &str) -> anyhow::Result<()> {
        ensure!(result["content"][0]["text"] == text, "expected {text:?}: {result}");
        self.counts.completed.fetch_add(1, SeqCst);
        Ok(())
    }

    fn call(&self, tool: &str, text: &str, meta: Value) -> Value {
        let params = json!({ "name": tool, "arguments": { "text": text }, "_meta": meta });
        json!({ "jsonrpc": "2.0", "id": self.next, "method": "tools/call", "params": params })
    }

    fn post(&self, message: &Value) -> reqwest::RequestBuilder {
        self.http
            .post(&self.url)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .body(message.to_string())
    }

    async fn modern(&mut self, tool: &str, aborts: bool) -> anyhow::Result<()> {
        let text = self.text();
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "progressToken": self.next,
        });
        let request = self.post(&self.call(tool, &text, meta)).header("mcp-protocol-version", MODERN);
        let request = request.header("mcp-method", "tools/call").header("mcp-name", tool);
        let result = async { anyhow::Ok(Stream::new(request.send().await?).result(self.next, None).await?) };
        let limit = if aborts { Duration::from_millis(self.random % 6) } else { Duration::from_secs(60) };
        match timeout(limit, result).await {
            Ok(result) => self.check(&result?.context("the stream ended without a response")?, &text),
            Err(_) if aborts => {
                self.counts.aborted.fetch_add(1, SeqCst);
                Ok(())
            }
            Err(_) => bail!("no response within {limit:?}"),
        }
    }

    /// Makes a call in a session. If `aborts` is set, drops the stream after two events and resumes it.
    async fn legacy(&mut self, tool: &str, aborts: bool) -> anyhow::Result<()> {
        if self.session.is_some() && self.chance(100) {
            self.session = None;
        }
        let session = match &self.session {
            Some(session) => session.clone(),
            None => self.initialize().await?,
        };
        let text = self.text();
        let request = self.post(&self.call(tool, &text, json!({ "progressToken": self.next })));
        let response = request.header("mcp-session-id", &session).send().await?;
        ensure!(response.status().is_success(), "{}: {}", response.status(), response.text().await?);
        let mut stream = Stream::new(response);
        let mut max_events = aborts.then_some(2);
        loop {
            if let Some(result) = stream.result(self.next, max_events.take()).await? {
                return self.check(&result, &text);
            }
            let last = stream.last_event_id.clone().context("the stream ended without an event ID to resume from")?;
            self.counts.resumed.fetch_add(1, SeqCst);
            let request = self.http.get(&self.url).header("accept", "text/event-stream");
            let response = request.header("mcp-session-id", &session).header("last-event-id", &last).send().await?;
            ensure!(response.status().is_success(), "{}: {}", response.status(), response.text().await?);
            stream = Stream { last_event_id: Some(last), ..Stream::new(response) };
        }
    }

    async fn initialize(&mut self) -> anyhow::Result<String> {
        let params =
            json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": { "name": "soak", "version": "1" } });
        let request = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = self.post(&request).send().await?;
        let session =
            response.headers().get("mcp-session-id").context("initialize: no Mcp-Session-Id")?.to_str()?.to_owned();
        response.bytes().await?;
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.post(&initialized).header("mcp-session-id", &session).send().await?;
        self.counts.sessions.fetch_add(1, SeqCst);
        self.session = Some(session.clone());
        Ok(session)
    }
}

struct Stream {
    response: reqwest::Response,
    /// The part of the body that is not parsed yet.
    text: String,
    last_event_id: Option<String>,
}

impl Stream {
    fn new(response: reqwest::Response) -> Self {
        Self { response, text: String::new(), last_event_id: None }
    }

    /// Returns the result of a request. Returns `None` if the stream ends before the result, or after `max_events`
    /// events.
    async fn result(&mut self, id: usize, mut max_events: Option<usize>) -> anyhow::Result<Option<Value>> {
        let is_json = self.response.headers().get("content-type").is_some_and(|kind| kind == "application/json");
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
                self.last_event_id = field("id: ").or(self.last_event_id.take());
                let message = field("data: ").and_then(|data| serde_json::from_str::<Value>(&data).ok());
                self.text = rest.to_owned();
                if let Some(message) = message.filter(|message| message["id"] == id) {
                    return Ok(Some(message["result"].clone()));
                }
                max_events = max_events.map(|max| max.saturating_sub(1));
                if max_events == Some(0) {
                    return Ok(None);
                }
                continue;
            }
            match self.response.chunk().await? {
                Some(chunk) => self.text.push_str(std::str::from_utf8(&chunk)?),
                None if is_json => {
                    let message: Value = serde_json::from_str(&self.text)?;
                    ensure!(message["id"] == id, "{message}");
                    return Ok(Some(message["result"].clone()));
                }
                None => return Ok(None),
            }
        }
    }
}
