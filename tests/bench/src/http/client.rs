//! An MCP client that makes one call after the other and checks every response.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use echo_driver::Dialect;
use serde_json::Value;

use super::connection::Connection;
use super::requests::{self, FIRST_ID};

pub(super) struct Client {
    /// A connection to each replica of the server. The calls use them in turn.
    connections: Vec<Connection>,
    request: Template,
    response: Template,
    next_id: u32,
    body: Vec<u8>,
}

impl Client {
    /// Connects to the replicas, begins a session if the dialect has sessions, and makes a first call.
    pub(super) async fn connect(ports: &[u16], dialect: Dialect) -> Result<Self> {
        let mut connections = Vec::with_capacity(ports.len());
        for port in ports {
            connections.push(Connection::open(*port).await?);
        }
        let connection = connections.first_mut().context("no replica")?;
        let session = match dialect {
            Dialect::Handshake => Some(begin_session(connection).await?),
            Dialect::Modern => None,
        };
        let request = requests::call(dialect, session.as_deref(), FIRST_ID);
        let mut body = Vec::new();
        let head = connection.exchange(&request, &mut body).await?;
        ensure!(head.status == 200, "status {}: {}", head.status, String::from_utf8_lossy(&body));
        let response = head.message(&body)?;
        check_echo(response, dialect)?;
        let (request, response) = (Template::new(&request)?, Template::new(response)?);
        Ok(Self { connections, request, response, next_id: FIRST_ID + 1, body })
    }

    /// Makes calls until the deadline. Returns how long each took.
    pub(super) async fn call_until(&mut self, deadline: Instant) -> Result<Vec<Duration>> {
        let mut times = Vec::new();
        loop {
            let began = Instant::now();
            if began >= deadline {
                return Ok(times);
            }
            self.call().await?;
            times.push(began.elapsed());
        }
    }

    async fn call(&mut self) -> Result<()> {
        let request = self.request.with_id(self.next_id);
        let replica = self.next_id as usize % self.connections.len();
        let head = self.connections[replica].exchange(request, &mut self.body).await?;
        let response = head.message(&self.body)?;
        let is_expected = head.status == 200 && response == self.response.with_id(self.next_id);
        ensure!(is_expected, "call {}: status {}: {}", self.next_id, head.status, String::from_utf8_lossy(&self.body));
        self.next_id += 1;
        Ok(())
    }
}

pub(super) async fn begin_session(connection: &mut Connection) -> Result<String> {
    let mut body = Vec::new();
    let head = connection.exchange(&requests::initialize(), &mut body).await.context("initialize")?;
    let response: Value = serde_json::from_slice(head.message(&body)?)?;
    ensure!(
        head.status == 200 && response["result"]["protocolVersion"] == requests::REVISION,
        "initialize: {response}"
    );
    let session = head.session.context("initialize: no Mcp-Session-Id")?;
    let head = connection.exchange(&requests::initialized(&session), &mut body).await.context("initialized")?;
    ensure!(head.status == 202, "initialized: status {}: {}", head.status, String::from_utf8_lossy(&body));
    Ok(session)
}

/// Checks the response to the first call. Later responses are compared with it byte by byte.
fn check_echo(response: &[u8], dialect: Dialect) -> Result<()> {
    let response: Value = serde_json::from_slice(response)?;
    let result = &response["result"];
    let is_echo = response["jsonrpc"] == "2.0"
        && response["id"] == FIRST_ID
        && result["content"].as_array().is_some_and(|content| content.len() == 1)
        && result["content"][0]["type"] == "text"
        && result["content"][0]["text"] == requests::text(FIRST_ID)
        && result["isError"] != true
        && (dialect == Dialect::Handshake || result["resultType"] == "complete");
    ensure!(is_echo, "not an echo: {response}");
    Ok(())
}

/// A request or a response in which only the id changes.
struct Template {
    bytes: Vec<u8>,
    /// Where the id is: in the member `id` and at the end of the text.
    ids: [usize; 2],
}

impl Template {
    /// Makes a template of the message with the first id.
    fn new(bytes: &[u8]) -> Result<Self> {
        let id = FIRST_ID.to_string();
        let offsets: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(id.as_bytes())).collect();
        let ids = offsets.try_into().ok().context("expected the id twice in a message")?;
        Ok(Self { bytes: bytes.to_vec(), ids })
    }

    fn with_id(&mut self, id: u32) -> &[u8] {
        let mut rest = id;
        for place in (0..8).rev() {
            let digit = b'0' + (rest % 10) as u8;
            self.ids.iter().for_each(|start| self.bytes[start + place] = digit);
            rest /= 10;
        }
        &self.bytes
    }
}
