//! HTTP requests to random replicas, and event streams that are resumed on other replicas.

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use fastrand::Rng;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::World;

const REVISION: &str = "2025-11-25";

/// How long a client tries to get a response.
const PATIENCE: Duration = Duration::from_secs(40);

/// Why a request has no response.
pub(crate) enum Failure {
    /// The replica died or asked the client to try again.
    Interrupted,
    NoSession,
}

#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) id: String,
}

impl Session {
    /// Begins a session. Tries again until it succeeds.
    pub(crate) async fn begin(world: &World, random: &mut Rng) -> anyhow::Result<Self> {
        let params = json!({
            "protocolVersion": REVISION,
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "failover", "version": "1" },
        });
        let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let until = Instant::now() + PATIENCE;
        loop {
            let response = post(world, random, None, &initialize).await;
            let id = response.ok().and_then(|response| {
                let id = response.headers().get("mcp-session-id")?.to_str().ok()?.to_owned();
                response.status().is_success().then_some(id)
            });
            if let Some(id) = id {
                let session = Self { id };
                let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
                if session.send(world, random, &ready).await? {
                    return Ok(session);
                }
            }
            ensure!(Instant::now() < until, "cannot begin a session");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Sends a notification or a response. Tries again until a replica accepts it. Returns `false` if the session does
    /// not exist.
    pub(crate) async fn send(&self, world: &World, random: &mut Rng, message: &Value) -> anyhow::Result<bool> {
        let until = Instant::now() + PATIENCE;
        loop {
            match post(world, random, Some(&self.id), message).await {
                Ok(response) if response.status() == 202 => return Ok(true),
                Ok(response) if response.status() == 404 => return Ok(false),
                _ => {}
            }
            ensure!(Instant::now() < until, "no replica accepts {message}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Makes a request and returns the response. Calls `each` with every message before it, and sends the message that
    /// `each` returns, if any. Resumes the stream at other replicas.
    pub(crate) async fn request(
        &self,
        world: &World,
        random: &mut Rng,
        request: &Value,
        mut each: impl FnMut(&Value) -> Option<Value>,
    ) -> anyhow::Result<Result<Value, Failure>> {
        let Ok(response) = post(world, random, Some(&self.id), request).await else {
            return Ok(Err(Failure::Interrupted));
        };
        let status = response.status();
        if status == 404 {
            return Ok(Err(Failure::NoSession));
        }
        if !status.is_success() {
            return Ok(Err(Failure::Interrupted));
        }
        if response.headers().get("content-type").is_none_or(|kind| kind != "text/event-stream") {
            let message = response.bytes().await.ok().and_then(|body| serde_json::from_slice(&body).ok());
            return Ok(message.ok_or(Failure::Interrupted));
        }
        let until = Instant::now() + PATIENCE;
        let mut stream = Events::new(response);
        loop {
            while let Some(message) = stream.next().await {
                if message.get("method").is_none() && message["id"] == request["id"] {
                    return Ok(Ok(message));
                }
                if let Some(answer) = each(&message)
                    && !self.send(world, random, &answer).await?
                {
                    return Ok(Err(Failure::NoSession));
                }
            }
            ensure!(Instant::now() < until, "no response to {request}");
            // A stream that ended before its first event cannot be resumed.
            let Some(last_id) = stream.last_id.clone() else { return Ok(Err(Failure::Interrupted)) };
            match self.resume(world, random, Some(&last_id)).await? {
                Ok(resumed) => stream = resumed,
                Err(failure) => return Ok(Err(failure)),
            }
        }
    }

    /// Opens the stream for messages that belong to no request, or resumes a stream after an event.
    pub(crate) async fn resume(
        &self,
        world: &World,
        random: &mut Rng,
        last_id: Option<&str>,
    ) -> anyhow::Result<Result<Events, Failure>> {
        let until = Instant::now() + PATIENCE;
        loop {
            let port = world.ports[random.usize(..world.ports.len())];
            let mut request = world
                .http
                .get(format!("http://127.0.0.1:{port}/mcp"))
                .header("accept", "text/event-stream")
                .header("mcp-session-id", &self.id);
            if let Some(last_id) = last_id {
                request = request.header("last-event-id", last_id);
            }
            match request.send().await {
                Ok(response) if response.status().is_success() => {
                    if last_id.is_some() {
                        world.counts.resumed.fetch_add(1, Ordering::SeqCst);
                    }
                    return Ok(Ok(Events { last_id: last_id.map(str::to_owned), ..Events::new(response) }));
                }
                Ok(response) if response.status() == 404 => return Ok(Err(Failure::NoSession)),
                // Redis has lost the events.
                Ok(response) if response.status() == 400 && world.may_lose_sessions => {
                    return Ok(Err(Failure::Interrupted));
                }
                Ok(response) if response.status() == 400 => {
                    bail!("cannot resume after {last_id:?}: {}", response.text().await.unwrap_or_default())
                }
                _ => {}
            }
            ensure!(Instant::now() < until, "cannot resume a stream");
            sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn post(
    world: &World,
    random: &mut Rng,
    session: Option<&str>,
    message: &Value,
) -> reqwest::Result<reqwest::Response> {
    let port = world.ports[random.usize(..world.ports.len())];
    let mut request = world
        .http
        .post(format!("http://127.0.0.1:{port}/mcp"))
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .body(message.to_string());
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    request.send().await
}

pub(crate) struct Events {
    response: reqwest::Response,
    text: Vec<u8>,
    pub(crate) last_id: Option<String>,
}

/// How long a stream may be silent. The servers send comments more often.
const SILENCE: Duration = Duration::from_secs(20);

impl Events {
    fn new(response: reqwest::Response) -> Self {
        Self { response, text: Vec::new(), last_id: None }
    }

    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some(end) = self.text.windows(2).position(|window| window == b"\n\n") {
                let event: Vec<u8> = self.text.drain(..end + 2).collect();
                if let Some(message) = self.read(&String::from_utf8_lossy(&event)) {
                    return Some(message);
                }
            }
            let chunk = timeout(SILENCE, self.response.chunk()).await.ok()?.ok()??;
            self.text.extend_from_slice(&chunk);
        }
    }

    fn read(&mut self, event: &str) -> Option<Value> {
        let mut message = None;
        for line in event.lines() {
            match line.split_once(": ") {
                Some(("id", id)) => self.last_id = Some(id.to_owned()),
                Some(("data", data)) => message = serde_json::from_str(data).ok(),
                _ => {}
            }
        }
        message
    }
}

pub(crate) fn text(response: &Value) -> anyhow::Result<&str> {
    let text = response["result"]["content"][0]["text"].as_str();
    text.with_context(|| format!("expected a tool result, found {response}"))
}
