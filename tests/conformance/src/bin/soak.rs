//! Many requests over many connections, some of which break off: what is lost, what is left over, and how much memory it
//! takes. `soak [REQUESTS [CONNECTIONS]]`; ends with an error if anything is not as it should be.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use axum::serve::ListenerExt;
use mcpgen_runtime::http::client;
use mcpgen_runtime::http::server::{Endpoint, Options};
use mcpgen_runtime::{Client, Limits, Server};
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use mcpgen_types::{JsonObject, Revision};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

#[derive(Default)]
struct Seen {
    begun: AtomicUsize,
    ended: AtomicUsize,
    answered: AtomicUsize,
    broken_off: AtomicUsize,
    resumed: AtomicUsize,
    sessions: AtomicUsize,
}

/// Counts handlers that have ended, however that came.
struct Ended(Arc<Seen>);

impl Ended {
    fn later(observed: &Arc<Seen>) -> Self {
        observed.begun.fetch_add(1, SeqCst);
        Self(Arc::clone(observed))
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, SeqCst);
    }
}

fn server(observed: &Arc<Seen>) -> Server {
    let tool = |name: &str| Tool::new(ToolInputSchema::new(), name);
    let (echo, progress, later) = (Arc::clone(observed), Arc::clone(observed), Arc::clone(observed));
    let said = |arguments: &JsonObject| arguments.get("say").and_then(Value::as_str).unwrap_or_default().to_owned();
    Server::builder("soak", "1")
        .tool_with_schema(tool("echo"), move |_, arguments| {
            let ended = Ended::later(&echo);
            async move {
                let _ended = ended;
                said(&arguments)
            }
        })
        .tool_with_schema(tool("progress"), move |call, arguments| {
            let ended = Ended::later(&progress);
            async move {
                let _ended = ended;
                for step in 0..3 {
                    call.progress(f64::from(step), None, None).await;
                    sleep(Duration::from_millis(2)).await;
                }
                said(&arguments)
            }
        })
        .tool_with_schema(tool("later"), move |call, arguments| {
            let ended = Ended::later(&later);
            async move {
                let _ended = ended;
                call.close_sse_stream(Duration::from_millis(1));
                sleep(Duration::from_millis(10)).await;
                said(&arguments)
            }
        })
        .build()
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // Somebody has to say which cryptography there is, though nothing here needs any.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut given = std::env::args().skip(1).map(|number| number.parse::<usize>());
    let requests = given.next().transpose()?.unwrap_or(100_000);
    let connections = given.next().transpose()?.unwrap_or(200);
    let observed = Arc::<Seen>::default();
    let options = Options {
        idle: Duration::from_secs(3),
        limits: Limits { drain: Duration::from_secs(1), ..Limits::default() },
        ..Options::default()
    };
    let endpoint = server(&observed).http(options)?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let app = axum::Router::new().route_service("/mcp", endpoint.clone());
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    tokio::spawn(async move { axum::serve(listener, app).await });

    let begun = Instant::now();
    let rounds = 4;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let (idle_tasks, mut memory) = (tasks(), vec![resident()]);
    for _ in 0..rounds {
        let each = requests / rounds / connections;
        let workers = (0..connections)
            .map(|worker| tokio::spawn(Worker::new(worker, url.clone(), Arc::clone(&observed)).work(each)));
        for worker in workers.collect::<Vec<_>>() {
            worker.await??;
        }
        settle(&endpoint, &observed, || tasks() <= idle_tasks).await;
        memory.push(resident());
    }
    let seconds = begun.elapsed().as_secs_f64();
    let of = |count: &AtomicUsize| count.load(SeqCst);
    println!(
        "answered {} in {seconds:.1} s, {:.0} a second",
        of(&observed.answered),
        of(&observed.answered) as f64 / seconds
    );
    println!(
        "broken off by the client: {}, come back to: {}, sessions: {}",
        of(&observed.broken_off),
        of(&observed.resumed),
        of(&observed.sessions)
    );
    println!("handlers begun {}, ended {}", of(&observed.begun), of(&observed.ended));
    println!("tasks before {idle_tasks}, after {}; sessions left: {}", tasks(), endpoint.sessions());
    println!("resident memory, MiB, before and after each quarter: {memory:?}");
    ensure!(of(&observed.begun) == of(&observed.ended), "a handler is left over");
    ensure!(endpoint.sessions() == 0, "a session is left over");
    ensure!(tasks() <= idle_tasks, "a task is left over");
    Ok(())
}

/// Waits until what nobody uses any more has ended.
async fn settle(endpoint: &Endpoint, observed: &Seen, idle: impl Fn() -> bool) {
    for _ in 0..200 {
        if endpoint.sessions() == 0 && observed.begun.load(SeqCst) == observed.ended.load(SeqCst) && idle() {
            return;
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// In MiB, where that can be known.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|pages| pages.split_whitespace().nth(1)?.parse::<usize>().ok());
    pages.unwrap_or_default() * 4096 / (1 << 20)
}

/// One client, with a connection of its own.
struct Worker {
    number: usize,
    url: String,
    http: reqwest::Client,
    observed: Arc<Seen>,
    random: u64,
    session: Option<String>,
    next: usize,
}

impl Worker {
    fn new(number: usize, url: String, observed: Arc<Seen>) -> Self {
        let random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(number as u64 + 1);
        Self { number, url, http: reqwest::Client::new(), observed, random, session: None, next: 0 }
    }

    /// Xorshift: which way it goes need only be mixed, and the same each time.
    fn chance(&mut self, one_in: u64) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random.is_multiple_of(one_in)
    }

    async fn work(mut self, requests: usize) -> anyhow::Result<()> {
        if self.number.is_multiple_of(10) {
            return self.work_with_our_client(requests).await;
        }
        for _ in 0..requests {
            self.next += 1;
            let tool = if self.chance(3) { "progress" } else { "echo" };
            let (is_modern, breaks, is_later) = (self.chance(2), self.chance(8), self.chance(5));
            let said = match is_modern {
                true => self.modern(tool, breaks).await,
                false => self.legacy(if is_later { "later" } else { tool }, breaks).await,
            };
            said.with_context(|| format!("worker {}, request {}", self.number, self.next))?;
        }
        // Some say that they go.
        match self.session.take() {
            Some(session) if self.chance(2) => {
                self.http.delete(&self.url).header("mcp-session-id", session).send().await?;
            }
            _ => {}
        }
        Ok(())
    }

    async fn work_with_our_client(&mut self, requests: usize) -> anyhow::Result<()> {
        let revision = if self.chance(2) { Revision::V2025_11_25 } else { Revision::V2026_07_28 };
        let client = Client::builder("soak", "1").options(|options| options.known_revision = Some(revision));
        let client = client.connect_http(&self.url, client::Options::default()).await?;
        for _ in 0..requests {
            self.next += 1;
            let (tool, breaks) = (if self.chance(4) { "later" } else { "echo" }, self.chance(10));
            let said = self.said();
            let arguments = JsonObject::from_iter([("say".to_owned(), said.clone().into())]);
            let patience = if breaks { Duration::from_millis(1) } else { Duration::from_secs(60) };
            match timeout(patience, client.call_tool(tool, arguments)).await {
                Ok(result) => self.check(&mcpgen_types::to_value(&result?)?, &said)?,
                Err(_) if breaks => drop(self.observed.broken_off.fetch_add(1, SeqCst)),
                Err(_) => bail!("no answer"),
            }
        }
        Ok(client.close().await?)
    }

    fn said(&self) -> String {
        format!("{}/{} {}", self.number, self.next, "x".repeat(self.next * 37 % 2000))
    }

    fn check(&self, result: &Value, said: &str) -> anyhow::Result<()> {
        ensure!(result["content"][0]["text"] == said, "expected {said:?}: {result}");
        self.observed.answered.fetch_add(1, SeqCst);
        Ok(())
    }

    fn call(&self, tool: &str, said: &str, meta: Value) -> Value {
        let params = json!({ "name": tool, "arguments": { "say": said }, "_meta": meta });
        json!({ "jsonrpc": "2.0", "id": self.next, "method": "tools/call", "params": params })
    }

    fn post(&self, message: &Value) -> reqwest::RequestBuilder {
        self.http
            .post(&self.url)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .body(message.to_string())
    }

    async fn modern(&mut self, tool: &str, breaks: bool) -> anyhow::Result<()> {
        let said = self.said();
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "progressToken": self.next,
        });
        let request = self.post(&self.call(tool, &said, meta)).header("mcp-protocol-version", MODERN);
        let request = request.header("mcp-method", "tools/call").header("mcp-name", tool);
        let answer = async { anyhow::Ok(Stream::of(request.send().await?).answer(self.next, None).await?) };
        let patience = if breaks { Duration::from_millis(self.random % 6) } else { Duration::from_secs(60) };
        match timeout(patience, answer).await {
            Ok(answer) => self.check(&answer?.context("the stream ended")?, &said),
            Err(_) if breaks => {
                self.observed.broken_off.fetch_add(1, SeqCst);
                Ok(())
            }
            Err(_) => bail!("no answer"),
        }
    }

    /// In a session what breaks off is come back to, once there is an event that says where to go on.
    async fn legacy(&mut self, tool: &str, breaks: bool) -> anyhow::Result<()> {
        if self.session.is_some() && self.chance(100) {
            self.session = None;
        }
        let session = match &self.session {
            Some(session) => session.clone(),
            None => self.begin().await?,
        };
        let said = self.said();
        let request = self.post(&self.call(tool, &said, json!({ "progressToken": self.next })));
        let response = request.header("mcp-session-id", &session).send().await?;
        ensure!(response.status().is_success(), "{}: {}", response.status(), response.text().await?);
        let mut stream = Stream::of(response);
        let mut most = breaks.then_some(2);
        loop {
            if let Some(answer) = stream.answer(self.next, most.take()).await? {
                return self.check(&answer, &said);
            }
            let last = stream.last.clone().context("the stream ended, and there is no way back")?;
            self.observed.resumed.fetch_add(1, SeqCst);
            let again = self.http.get(&self.url).header("accept", "text/event-stream");
            let again = again.header("mcp-session-id", &session).header("last-event-id", &last).send().await?;
            ensure!(again.status().is_success(), "{}: {}", again.status(), again.text().await?);
            stream = Stream { last: Some(last), ..Stream::of(again) };
        }
    }

    async fn begin(&mut self) -> anyhow::Result<String> {
        let params =
            json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": { "name": "soak", "version": "1" } });
        let begin = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = self.post(&begin).send().await?;
        let session = response.headers().get("mcp-session-id").context("no session")?.to_str()?.to_owned();
        response.bytes().await?;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.post(&ready).header("mcp-session-id", &session).send().await?;
        self.observed.sessions.fetch_add(1, SeqCst);
        self.session = Some(session.clone());
        Ok(session)
    }
}

/// A response, as far as it was read.
struct Stream {
    response: reqwest::Response,
    text: String,
    last: Option<String>,
}

impl Stream {
    fn of(response: reqwest::Response) -> Self {
        Self { response, text: String::new(), last: None }
    }

    /// The result of a request; `None` if the stream ends before, or after so many events.
    async fn answer(&mut self, id: usize, mut most: Option<usize>) -> anyhow::Result<Option<Value>> {
        let is_json = self.response.headers().get("content-type").is_some_and(|kind| kind == "application/json");
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
                self.last = field("id: ").or(self.last.take());
                let message = field("data: ").and_then(|data| serde_json::from_str::<Value>(&data).ok());
                self.text = rest.to_owned();
                if let Some(message) = message.filter(|message| message["id"] == id) {
                    return Ok(Some(message["result"].clone()));
                }
                most = most.map(|most| most.saturating_sub(1));
                if most == Some(0) {
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
