//! Sends the most expensive messages that each memory limit allows, and prints the resident memory at the limit.
//!
//! Usage: `memory [LIMIT]`. Runs each attack in a separate process. Exits with an error if one takes more memory than
//! its limit allows, or if the answer at the limit is not the documented one. Linux only.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use mcpgen_sdk::http::server::{Body, Endpoint, EndpointOptions, ServeHttp};
use mcpgen_sdk::protocol::ContextExt;
use mcpgen_sdk::server::RequestContext;
use mcpgen_sdk::transport::lines;
use mcpgen_sdk::{Client, Server, serve};
use mcpgen_types::v2026_07_28::{Resource, Tool, ToolInputSchema};
use mcpgen_types::{Json, JsonObject, JsonRef};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::Semaphore;
use tower::ServiceExt;

const MIB: usize = 1 << 20;

/// How much memory a process may take in addition to the limit: for the index of a message that is being scanned, and
/// for what the allocator keeps.
const SLACK: usize = 64 * MIB;

static NOTIFICATIONS_MAY_END: Semaphore = Semaphore::const_new(0);
static ENDED_NOTIFICATIONS: AtomicUsize = AtomicUsize::new(0);

struct Attack {
    name: &'static str,
    limit: &'static str,
    /// The maximum memory that the limit allows, without [`SLACK`].
    bytes: usize,
    answer: &'static str,
    run: fn() -> futures_util::future::BoxFuture<'static, anyhow::Result<String>>,
}

/// Returns the attacks. Each returns the answer that it received at the limit.
fn attacks() -> Vec<Attack> {
    macro_rules! attacks {
        ($($name:literal, $limit:literal, $mib:literal MiB, $answer:literal, $run:expr;)*) => {
            vec![$(Attack { name: $name, limit: $limit, bytes: $mib * MIB, answer: $answer, run: || $run.boxed() }),*]
        };
    }
    attacks! {
        "one call of small objects", "message_memory", 256 MiB, "200", call_alone();
        "calls of small objects", "message_memory", 256 MiB, "503", calls(|| array(r#"{"a":0}"#, 100_000));
        "calls of empty objects", "message_memory", 256 MiB, "503", calls(|| array("{}", 250_000));
        "calls of small arrays", "message_memory", 256 MiB, "503", calls(|| array("[0]", 250_000));
        "calls of numbers", "message_memory", 256 MiB, "503", calls(|| array("0", 500_000));
        "calls of short strings", "message_memory", 256 MiB, "503", calls(|| array(r#""""#, 300_000));
        "calls of one long string", "message_memory", 256 MiB, "503", calls(|| format!("\"{}\"", "x".repeat(3_000_000)));
        "calls of many members", "message_memory", 256 MiB, "503", calls(|| members(100_000));
        "subscriptions with metadata", "message_memory", 256 MiB, "503", listens();
        "notifications", "message_memory", 256 MiB, "503", notifications();
        "responses that are not read", "message_memory", 256 MiB, "503", unread_responses();
        "sessions with long declarations", "session_memory", 512 MiB, "200", sessions();
        "sessions with long declarations, in use", "session_memory", 512 MiB, "503", sessions_in_use();
        "sessions with many subscriptions", "session_memory", 512 MiB, "503", subscriptions();
        "sessions with events that are not read", "session_memory", 512 MiB, "503", unread_events();
        "events that are too old to resume", "replay", 1 MiB, "400", discarded_events();
        "one long declaration", "MAX_DECLARATION", 12 MiB, "-32602", long_declarations();
        "one session with many subscriptions", "state of a session", 4 MiB, "413", subscriptions_of_one_session();
        "messages that the connection has not taken", "inbox of a session", 16 MiB, "503", untaken_messages();
        "bodies that never end", "body_buffer", 64 MiB, "503", unfinished_bodies();
        "requests over stdio", "Limits::memory", 256 MiB, "queued", requests_over_stdio();
        "one request over stdio", "Limits::memory", 384 MiB, "-32600", request_over_stdio();
        "queued requests", "queued_request_bytes", 64 MiB, "-32005", queued_requests();
        "queued notifications", "queued_notification_bytes", 16 MiB, "dropped", queued_notifications();
        "messages that a client does not read", "outbox_bytes", 4 MiB, "the sender waits", unread_messages();
        "a list of 60 MB at the client", "Limits::memory", 768 MiB, "the call fails", list_at_client();
    }
}

fn main() -> anyhow::Result<()> {
    let selected = std::env::args().nth(1);
    let attacks = attacks();
    if let Some(attack) = selected.as_ref().and_then(|name| attacks.iter().find(|attack| attack.name == *name)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let before = resident("VmRSS")?;
        let answer = runtime.block_on((attack.run)())?;
        let used = resident("VmHWM")?.saturating_sub(before);
        println!("{answer}\n{used}");
        return Ok(());
    }
    let mut failures = Vec::new();
    println!("| attack | limit | bytes | answer | resident memory, at most |");
    println!("|---|---|---:|---|---:|");
    for Attack { name, limit, bytes, answer, .. } in &attacks {
        if selected.as_ref().is_some_and(|selected| selected != limit) {
            continue;
        }
        let output = std::process::Command::new(std::env::current_exe()?).arg(name).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let (found, used) = text
            .trim_end()
            .split_once('\n')
            .with_context(|| format!("{name}: {}{}", output.status, String::from_utf8_lossy(&output.stderr)))?;
        let used: usize = used.parse()?;
        println!("| {name} | `{limit}` | {} MiB | {found} | {} MiB |", bytes / MIB, used / MIB);
        if found != *answer {
            failures.push(format!("{name}: expected the answer {answer}, found {found}"));
        }
        if used > bytes + SLACK {
            failures.push(format!("{name}: {used} bytes are more than {bytes} and {SLACK}"));
        }
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

fn resident(field: &str) -> anyhow::Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).context("no such field")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<usize>()? << 10)
}

fn array(element: &str, count: usize) -> String {
    format!("[{}]", vec![element; count].join(","))
}

fn members(count: usize) -> String {
    let members: Vec<String> = (0..count).map(|number| format!("\"k{number:x}\":{{}}")).collect();
    format!("{{{}}}", members.join(","))
}

/// Returns a server with tools that never return, or that return or report their argument, a notification whose handler
/// waits, and a resource.
fn server() -> Server {
    let tool = |name: &str| Tool::new(name, ToolInputSchema::new());
    Server::builder("target", "1")
        .tool(tool("wait"), |arguments: JsonObject| async move {
            let _held = arguments;
            std::future::pending::<String>().await
        })
        .tool(tool("echo"), |arguments: JsonObject| async move {
            arguments.get("x").and_then(JsonRef::as_str).unwrap_or_default().into_owned()
        })
        .tool(tool("report"), |context: RequestContext, arguments: JsonObject| async move {
            let text = arguments.get("x").and_then(JsonRef::as_str).unwrap_or_default();
            for step in 0..arguments.get("steps").and_then(JsonRef::as_u64).unwrap_or(1) {
                context.progress(step as f64, None, Some(&text)).await;
            }
            "done"
        })
        .handlers(|router| {
            router.custom_notification("example/wait", |_, _: Json| async {
                drop(NOTIFICATIONS_MAY_END.acquire().await);
                ENDED_NOTIFICATIONS.fetch_add(1, Ordering::SeqCst);
            })
        })
        .resource(Resource::new("file:///a", "a"), || async { "" })
        .build()
}

fn endpoint() -> anyhow::Result<Endpoint> {
    Ok(server().http(EndpointOptions::default())?)
}

type Headers = Vec<(&'static str, String)>;

async fn send(endpoint: &Endpoint, method: &str, headers: &Headers, body: Bytes) -> anyhow::Result<Response<Body>> {
    let mut request = Request::builder().method(method).uri("/mcp").header("host", "localhost");
    request = request.header("accept", "application/json, text/event-stream");
    request = request.header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    Ok(endpoint.clone().oneshot(request.body(Full::new(body))?).await?)
}

fn modern(method: &str, name: Option<&str>, members: &str, meta: &str) -> (Headers, Bytes) {
    let mut headers = vec![("mcp-protocol-version", "2026-07-28".to_owned()), ("mcp-method", method.to_owned())];
    headers.extend(name.map(|name| ("mcp-name", name.to_owned())));
    let meta = format!(
        r#"{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}{meta}}}"#
    );
    let id = if method.starts_with("notifications/") { "" } else { r#""id":1,"# };
    let body = format!(r#"{{"jsonrpc":"2.0",{id}"method":"{method}","params":{{"_meta":{meta}{members}}}}}"#);
    (headers, body.into())
}

/// Sends requests that never end, until one is refused. Returns the status of the refused request.
async fn until_refused<F: Future<Output = anyhow::Result<Response<Body>>> + 'static>(
    limit: usize,
    mut request: impl FnMut(usize) -> F,
) -> anyhow::Result<String> {
    let mut open = Vec::new();
    for number in 0..limit {
        let mut pending = Box::pin(request(number));
        match futures_util::poll!(&mut pending) {
            std::task::Poll::Pending => open.push((Some(pending), None)),
            std::task::Poll::Ready(response) => {
                let response = response?;
                if response.status().is_client_error() || response.status().is_server_error() {
                    return Ok(response.status().as_str().to_owned());
                }
                open.push((None, Some(response)));
            }
        }
        tokio::task::yield_now().await;
    }
    bail!("{limit} requests were accepted")
}

async fn call_alone() -> anyhow::Result<String> {
    let endpoint = endpoint()?;
    let arguments = format!(r#","name":"wait","arguments":{{"x":{}}}"#, array(r#"{"a":0}"#, 480_000));
    let (headers, body) = modern("tools/call", Some("wait"), &arguments, "");
    Ok(send(&endpoint, "POST", &headers, body).await?.status().as_str().to_owned())
}

async fn calls(load: impl Fn() -> String) -> anyhow::Result<String> {
    let endpoint = endpoint()?;
    let arguments = format!(r#","name":"wait","arguments":{{"x":{}}}"#, load());
    let (headers, body) = modern("tools/call", Some("wait"), &arguments, "");
    until_refused(1000, |_| {
        let (endpoint, headers, body) = (endpoint.clone(), headers.clone(), body.clone());
        async move { send(&endpoint, "POST", &headers, body).await }
    })
    .await
}

async fn listens() -> anyhow::Result<String> {
    let endpoint = endpoint()?;
    let meta = format!(r#","example/x":{}"#, array(r#"{"a":0}"#, 50_000));
    let (headers, body) = modern("subscriptions/listen", None, r#","notifications":{"toolsListChanged":true}"#, &meta);
    until_refused(1000, |_| {
        let (endpoint, headers, body) = (endpoint.clone(), headers.clone(), body.clone());
        async move { send(&endpoint, "POST", &headers, body).await }
    })
    .await
}

async fn notifications() -> anyhow::Result<String> {
    let endpoint = endpoint()?;
    let meta = format!(r#","example/x":{}"#, array(r#"{"a":0}"#, 20_000));
    let (headers, body) = modern("notifications/progress", None, r#","progressToken":1,"progress":1"#, &meta);
    for _ in 0..1000 {
        // Does not yield, so no handler runs in between.
        let response = send(&endpoint, "POST", &headers, body.clone()).now_or_never().context("no response")??;
        if response.status() != 202 {
            return Ok(response.status().as_str().to_owned());
        }
    }
    bail!("all notifications were accepted")
}

async fn unread_responses() -> anyhow::Result<String> {
    let endpoint = endpoint()?;
    let arguments = format!(r#","name":"echo","arguments":{{"x":"{}"}}"#, "x".repeat(3_900_000));
    let (headers, body) = modern("tools/call", Some("echo"), &arguments, "");
    let mut unread = Vec::new();
    for _ in 0..1000 {
        let response = send(&endpoint, "POST", &headers, body.clone()).await?;
        if response.status() != 200 {
            return Ok(response.status().as_str().to_owned());
        }
        unread.push(response);
    }
    bail!("all calls were accepted")
}

async fn initialize(endpoint: &Endpoint, capabilities: &str) -> anyhow::Result<Response<Body>> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"clientInfo":{{"name":"a","version":"1"}}}}}}"#
    );
    send(endpoint, "POST", &Vec::new(), body.into()).await
}

/// Begins a session with these capabilities. Returns the status and the ID of the session.
async fn begin(endpoint: &Endpoint, capabilities: &str) -> anyhow::Result<(String, String)> {
    let response = initialize(endpoint, capabilities).await?;
    let id = response.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned();
    let status = response.status().as_str().to_owned();
    response.into_body().collect().await?;
    Ok((status, id))
}

fn long_declaration() -> String {
    format!(r#"{{"experimental":{{"x":{{"y":{}}}}}}}"#, array(r#"{"a":0}"#, 8_000))
}

/// Begins more sessions than the limit allows. None is refused, because idle ones are evicted.
async fn sessions() -> anyhow::Result<String> {
    let (endpoint, declared, mut last) = (endpoint()?, long_declaration(), String::new());
    for _ in 0..4000 {
        (last, _) = begin(&endpoint, &declared).await?;
        ensure!(last == "200", "refused with {last}");
    }
    Ok(last)
}

async fn sessions_in_use() -> anyhow::Result<String> {
    let (endpoint, declared, mut open) = (endpoint()?, long_declaration(), Vec::new());
    for _ in 0..4000 {
        let (status, id) = begin(&endpoint, &declared).await?;
        if status != "200" {
            return Ok(status);
        }
        open.push(send(&endpoint, "GET", &vec![("mcp-session-id", id)], Bytes::new()).await?);
    }
    bail!("all sessions were accepted")
}

async fn subscriptions() -> anyhow::Result<String> {
    let (endpoint, mut open) = (endpoint()?, Vec::new());
    for _ in 0..1000 {
        let (status, id) = begin(&endpoint, "{}").await?;
        if status != "200" {
            return Ok(status);
        }
        let headers = vec![("mcp-session-id", id)];
        open.push(send(&endpoint, "GET", &headers, Bytes::new()).await?);
        for number in 0..128 {
            let uri = format!("file:///{number}/{}", "x".repeat(8_000));
            let body =
                json!({ "jsonrpc": "2.0", "id": number, "method": "resources/subscribe", "params": { "uri": uri } });
            let response = send(&endpoint, "POST", &headers, body.to_string().into()).await?;
            let status = response.status();
            if status != 200 {
                return Ok(status.as_str().to_owned());
            }
            response.into_body().collect().await?;
        }
    }
    bail!("all subscriptions were accepted")
}

async fn unread_events() -> anyhow::Result<String> {
    let (endpoint, mut open) = (endpoint()?, Vec::new());
    let text = "x".repeat(1_000_000);
    for _ in 0..1000 {
        let (status, id) = begin(&endpoint, "{}").await?;
        if status != "200" {
            return Ok(status);
        }
        let headers = vec![("mcp-session-id", id)];
        for number in 0..3 {
            let params = json!({ "name": "echo", "arguments": { "x": text } });
            let body = json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params });
            let response = send(&endpoint, "POST", &headers, body.to_string().into()).await?;
            if response.status() != 200 {
                return Ok(response.status().as_str().to_owned());
            }
            open.push(response);
        }
    }
    bail!("all calls were accepted")
}

/// In a session, calls a tool that reports `text` as progress, once.
async fn report(endpoint: &Endpoint, headers: &Headers, id: usize, text: &str) -> anyhow::Result<Response<Body>> {
    let params = json!({ "name": "report", "arguments": { "x": text }, "_meta": { "progressToken": id } });
    let body = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
    send(endpoint, "POST", headers, body.to_string().into()).await
}

/// Returns the status of a request for events that the session no longer has.
async fn discarded_events() -> anyhow::Result<String> {
    let endpoint = endpoint()?;
    let (_, id) = begin(&endpoint, "{}").await?;
    let mut headers = vec![("mcp-session-id", id)];
    let (text, mut first) = ("x".repeat(100_000), None);
    for number in 0..1_000 {
        let events = report(&endpoint, &headers, number, &text).await?.into_body().collect().await?.to_bytes();
        let id = std::str::from_utf8(&events)?.lines().find_map(|line| line.strip_prefix("id: "));
        first = first.or_else(|| id.map(str::to_owned));
    }
    headers.push(("last-event-id", first.context("no event")?));
    Ok(send(&endpoint, "GET", &headers, Bytes::new()).await?.status().as_str().to_owned())
}

/// Begins a session with the longest declaration that is accepted. Returns the error for a longer one.
async fn long_declarations() -> anyhow::Result<String> {
    let endpoint = endpoint()?;
    let (status, _) = begin(&endpoint, &long_declaration()).await?;
    ensure!(status == "200", "refused with {status}");
    let declared = format!(r#"{{"experimental":{{"x":{{"y":{}}}}}}}"#, array(r#"{"a":0}"#, 24_000));
    let error: Value =
        serde_json::from_slice(&initialize(&endpoint, &declared).await?.into_body().collect().await?.to_bytes())?;
    Ok(error["error"]["code"].to_string())
}

async fn subscriptions_of_one_session() -> anyhow::Result<String> {
    let endpoint = endpoint()?;
    let (_, id) = begin(&endpoint, "{}").await?;
    let headers = vec![("mcp-session-id", id)];
    let meta = array(r#"{"a":0}"#, 12_500);
    for number in 0..1_000 {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{number},"method":"resources/subscribe","params":{{"uri":"file:///{number}","_meta":{{"x":{meta}}}}}}}"#
        );
        let response = send(&endpoint, "POST", &headers, body.into()).await?;
        if response.status() != 200 {
            return Ok(response.status().as_str().to_owned());
        }
        response.into_body().collect().await?;
    }
    bail!("all subscriptions were accepted")
}

async fn untaken_messages() -> anyhow::Result<String> {
    let endpoint = endpoint()?;
    let (_, id) = begin(&endpoint, "{}").await?;
    let headers = vec![("mcp-session-id", id)];
    let params = array(r#"{"a":0}"#, 2_000);
    let body = format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"x":{params}}}}}"#);
    for _ in 0..10_000 {
        // Does not yield, so the connection does not run in between.
        let response =
            send(&endpoint, "POST", &headers, body.clone().into()).now_or_never().context("no response")??;
        if response.status() != 202 {
            return Ok(response.status().as_str().to_owned());
        }
    }
    bail!("all notifications were accepted")
}

async fn unfinished_bodies() -> anyhow::Result<String> {
    let endpoint = endpoint()?;
    let piece = Bytes::from(vec![b' '; 1_000_000]);
    until_refused(1000, |_| {
        let (endpoint, piece) = (endpoint.clone(), piece.clone());
        async move {
            let body = stream::iter([Ok::<_, std::io::Error>(Frame::data(piece))]).chain(stream::pending());
            let request = Request::builder().method("POST").header("host", "localhost");
            let request = request.header("accept", "application/json, text/event-stream");
            let request = request.header("content-type", "application/json").body(StreamBody::new(body))?;
            Ok(endpoint.oneshot(request).await?)
        }
    })
    .await
}

/// The client's end of a connection over a pipe.
struct Pipe {
    reader: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    sent: usize,
}

impl Pipe {
    fn serve() -> Self {
        let (here, there) = tokio::io::duplex(64 << 10);
        let (reader, writer) = tokio::io::split(there);
        tokio::spawn(serve(server(), (lines::receive(reader, 64 * MIB), lines::send(writer))));
        let (reader, writer) = tokio::io::split(here);
        Self { reader: BufReader::new(reader).lines(), writer, sent: 0 }
    }

    async fn send(&mut self, message: &str) -> anyhow::Result<()> {
        self.writer.write_all(message.as_bytes()).await?;
        Ok(self.writer.write_all(b"\n").await?)
    }

    /// Calls a tool in 2026-07-28 without waiting for the response.
    async fn call(&mut self, tool: &str, arguments: &str) -> anyhow::Result<()> {
        let arguments = format!(r#","name":"{tool}","arguments":{arguments}"#);
        let (_, body) = modern("tools/call", None, &arguments, r#","progressToken":1"#);
        self.sent += 1;
        self.send(&std::str::from_utf8(&body)?.replacen("\"id\":1", &format!("\"id\":{}", self.sent), 1)).await
    }

    async fn receive(&mut self) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&self.reader.next_line().await?.context("the connection ended")?)?)
    }
}

async fn requests_over_stdio() -> anyhow::Result<String> {
    let mut pipe = Pipe::serve();
    let arguments = format!(r#"{{"x":{}}}"#, array(r#"{"a":0}"#, 50_000));
    for _ in 0..45 {
        pipe.call("wait", &arguments).await?;
    }
    pipe.send("not JSON").await?;
    let response = pipe.receive().await?;
    // No request is refused. Those that do not fit wait.
    ensure!(response["error"]["code"] == -32700, "{response}");
    Ok("queued".to_owned())
}

async fn request_over_stdio() -> anyhow::Result<String> {
    let mut pipe = Pipe::serve();
    pipe.call("wait", &format!(r#"{{"x":{}}}"#, array(r#"{"a":0}"#, 7_500_000))).await?;
    Ok(pipe.receive().await?["error"]["code"].to_string())
}

/// Makes `Limits::in_flight` small requests, and then fills the queue.
async fn queued_requests() -> anyhow::Result<String> {
    let mut pipe = Pipe::serve();
    for _ in 0..256 {
        pipe.call("wait", "{}").await?;
    }
    let arguments = format!(r#"{{"x":{}}}"#, array(r#"{"a":0}"#, 50_000));
    for _ in 0..200 {
        pipe.call("wait", &arguments).await?;
    }
    Ok(pipe.receive().await?["error"]["code"].to_string())
}

async fn queued_notifications() -> anyhow::Result<String> {
    let mut pipe = Pipe::serve();
    pipe.call("echo", r#"{"x":""}"#).await?;
    pipe.receive().await?;
    let load = array(r#"{"a":0}"#, 50_000);
    for _ in 0..500 {
        pipe.send(&format!(r#"{{"jsonrpc":"2.0","method":"example/wait","params":{{"x":{load}}}}}"#)).await?;
    }
    // The connection has read all notifications before it answers this.
    pipe.call("echo", r#"{"x":""}"#).await?;
    ensure!(pipe.receive().await?["id"] == 2, "the call is answered");
    NOTIFICATIONS_MAY_END.add_permits(500);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let ended = ENDED_NOTIFICATIONS.load(Ordering::SeqCst);
    ensure!((2..20).contains(&ended), "{ended} of 500 notifications were handled");
    Ok("dropped".to_owned())
}

async fn unread_messages() -> anyhow::Result<String> {
    let mut pipe = Pipe::serve();
    pipe.call("report", &format!(r#"{{"steps":10000,"x":"{}"}}"#, "x".repeat(100_000))).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut reported = 0;
    while pipe.receive().await?["method"] == "notifications/progress" {
        reported += 1;
    }
    ensure!(reported == 10_000, "{reported} messages arrived");
    Ok("the sender waits".to_owned())
}

/// Lists the tools of a server that sends 60 MB of small objects.
async fn list_at_client() -> anyhow::Result<String> {
    let (here, there) = tokio::io::duplex(64 << 10);
    tokio::spawn(async move {
        let (reader, mut writer) = tokio::io::split(there);
        let mut lines = BufReader::new(reader).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let request: Value = serde_json::from_str(&line).unwrap_or_default();
            let (id, method) = (&request["id"], request["method"].as_str().unwrap_or_default());
            let outcome = match method {
                "initialize" => {
                    r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"v"}}"#
                }
                "tools/list" => r##""result":{"tools":[{"name":"t","inputSchema":{"type":"object","x":#}}]}"##,
                _ => r#""error":{"code":-32601,"message":"no"}"#,
            };
            if !id.is_null() {
                let outcome =
                    outcome.replacen('#', &array(r#"{"a":0}"#, 7_500_000), usize::from(method == "tools/list"));
                let _ = writer.write_all(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{outcome}}}\n").as_bytes()).await;
            }
        }
    });
    let (reader, writer) = tokio::io::split(here);
    let client = Client::builder("client", "1").connect(lines::receive(reader, 64 * MIB), lines::send(writer)).await?;
    match client.tools().await {
        Err(error) if error.to_string().contains("`Limits::memory`") => Ok("the call fails".to_owned()),
        Err(error) => bail!("{error}"),
        Ok(_) => bail!("the list was accepted"),
    }
}
