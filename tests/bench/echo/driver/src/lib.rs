//! A client that calls every echo server and checks every response. It takes little time compared with a server.
//!
//! Ids always have eight digits and are repeated in the texts. So all responses of a server have the same length and
//! differ only in these digits. The client parses and checks the first response, and compares the others with it byte
//! by byte.

mod calls;
mod in_process;

use std::future::poll_fn;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

use calls::{Calls, Responses};
pub use in_process::{CONTENDERS, Contender, InProcess};

/// How a client sends its revision and capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// With the `initialize` handshake, in revision 2025-11-25.
    Handshake,
    /// In the metadata of each request, in revision 2026-07-28.
    Modern,
}

pub struct Client {
    connection: Connection,
    dialect: Dialect,
    next: usize,
    responses: Responses,
    calls: Calls,
}

impl Client {
    /// Performs the handshake if the dialect has one, and makes a first call, whose response becomes the template.
    pub async fn open(
        reader: impl AsyncRead + Unpin + 'static,
        writer: impl AsyncWrite + Unpin + 'static,
        dialect: Dialect,
    ) -> Result<Self> {
        let mut connection = Connection::new(reader, writer);
        if dialect == Dialect::Handshake {
            connection.initialize().await?;
        }
        let first = Calls::new(dialect, calls::FIRST_ID, 1);
        connection.writer.write_all(&first.lines).await?;
        let responses = Responses::new(&connection.line().await?, dialect)?;
        Ok(Self { connection, dialect, next: calls::FIRST_ID + 1, responses, calls: first })
    }

    /// Encodes this many calls, so that making them does not allocate.
    pub fn prepare(&mut self, calls: usize) {
        self.calls = Calls::new(self.dialect, self.next, calls);
        self.responses.expect(self.next, calls);
        self.next += calls;
    }

    /// Makes the prepared calls one after the other. Appends the time of each to `times`.
    pub async fn one_by_one(&mut self, times: &mut Vec<Duration>) -> Result<()> {
        for call in 0..self.calls.count {
            let began = Instant::now();
            self.exchange(call..call + 1, 1).await?;
            times.push(began.elapsed());
        }
        Ok(())
    }

    /// Makes the prepared calls, with at most `depth` pending at a time.
    pub async fn in_flight(&mut self, depth: usize) -> Result<()> {
        self.exchange(0..self.calls.count, depth).await
    }

    /// Makes the prepared calls all at once. The handlers of the server must wait until `release` is called.
    pub async fn held(&mut self, release: impl FnOnce()) -> Result<()> {
        self.connection.writer.write_all(&self.calls.lines).await?;
        // The response to a later ping arrives first, which shows that the server has read all calls.
        self.connection.send(&json!({ "jsonrpc": "2.0", "id": "held", "method": "ping" })).await?;
        let line = self.connection.line().await?;
        let pong: Value = serde_json::from_slice(&line)?;
        ensure!(pong["id"] == "held" && pong.get("result").is_some(), "not a response to ping: {pong}");
        release();
        let mut turn = Turn { calls: 0..self.calls.count, depth: 0, written: self.calls.lines.len(), received: 0 };
        poll_fn(|cx| self.poll(cx, &mut turn)).await
    }

    async fn exchange(&mut self, calls: Range<usize>, depth: usize) -> Result<()> {
        let written = calls.start * self.calls.length;
        let mut turn = Turn { calls, depth, written, received: 0 };
        poll_fn(|cx| self.poll(cx, &mut turn)).await
    }

    /// Writes and reads as much as possible in one task, so that neither direction waits for the other.
    fn poll(&mut self, cx: &mut Context<'_>, turn: &mut Turn) -> Poll<Result<()>> {
        loop {
            let mut idle = true;
            let allowed = turn.calls.end.min(turn.calls.start + turn.received + turn.depth) * self.calls.length;
            if turn.written < allowed {
                let rest = &self.calls.lines[turn.written..allowed];
                if let Poll::Ready(written) = Pin::new(&mut self.connection.writer).poll_write(cx, rest)? {
                    if written == 0 {
                        return Poll::Ready(Err(anyhow!("the server no longer reads calls")));
                    }
                    turn.written += written;
                    idle = false;
                }
            }
            if self.connection.poll_read(cx)?.is_ready() {
                turn.received += self.connection.check(&mut self.responses)?;
                idle = false;
            }
            if turn.received == turn.calls.len() {
                return Poll::Ready(Ok(()));
            }
            if idle {
                return Poll::Pending;
            }
        }
    }
}

struct Turn {
    calls: Range<usize>,
    depth: usize,
    written: usize,
    received: usize,
}

struct Connection {
    reader: Box<dyn AsyncRead + Unpin>,
    writer: Box<dyn AsyncWrite + Unpin>,
    /// What was read. The first `filled` bytes are not consumed yet.
    input: Vec<u8>,
    filled: usize,
}

impl Connection {
    fn new(reader: impl AsyncRead + Unpin + 'static, writer: impl AsyncWrite + Unpin + 'static) -> Self {
        Self { reader: Box::new(reader), writer: Box::new(writer), input: vec![0; 64 << 10], filled: 0 }
    }

    async fn initialize(&mut self) -> Result<()> {
        let client = json!({ "name": "driver", "version": "1.0.0" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        self.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })).await?;
        let response: Value = serde_json::from_slice(&self.line().await?)?;
        ensure!(response["result"]["protocolVersion"] == "2025-11-25", "initialize: {response}");
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await
    }

    async fn send(&mut self, message: &Value) -> Result<()> {
        Ok(self.writer.write_all(format!("{message}\n").as_bytes()).await?)
    }

    /// Reads the next line and returns it with its line feed.
    async fn line(&mut self) -> Result<Vec<u8>> {
        loop {
            if let Some(end) = self.input[..self.filled].iter().position(|byte| *byte == b'\n') {
                let line = self.input[..=end].to_vec();
                self.consume(end + 1);
                return Ok(line);
            }
            poll_fn(|cx| self.poll_read(cx)).await?;
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let mut buffer = ReadBuf::new(&mut self.input[self.filled..]);
        if buffer.remaining() == 0 {
            return Poll::Ready(Err(anyhow!("the line is longer than the buffer of 64 KiB")));
        }
        ready!(Pin::new(&mut self.reader).poll_read(cx, &mut buffer)).context("reading responses")?;
        match buffer.filled().len() {
            0 => Poll::Ready(Err(anyhow!("the server closed the connection"))),
            read => {
                self.filled += read;
                Poll::Ready(Ok(()))
            }
        }
    }

    /// Checks all complete responses that were read. Returns their number.
    fn check(&mut self, responses: &mut Responses) -> Result<usize> {
        let lines = self.input[..self.filled].chunks_exact(responses.length());
        let count = lines.len();
        for line in lines {
            if let Err(error) = responses.check(line) {
                bail!("{error}: {}", String::from_utf8_lossy(&self.input[..self.filled.min(1000)]));
            }
        }
        self.consume(count * responses.length());
        Ok(count)
    }

    fn consume(&mut self, bytes: usize) {
        self.input.copy_within(bytes..self.filled, 0);
        self.filled -= bytes;
    }
}
