//! The client of all the servers. It is the same for each, checks every answer, and costs little beside a server.
//!
//! Ids always have eight digits and stand in the texts as well. So all answers of a server are of one length, and like
//! its first one but for the digits: after that one was read with care, the others are compared with it byte by byte.

mod calls;
mod within;

use std::future::poll_fn;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

use calls::{Answers, Calls};
pub use within::{CONTENDERS, Contender, Within};

/// How a client introduces itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// By a handshake, in revision 2025-11-25.
    Handshake,
    /// In each request, in revision 2026-07-28.
    Modern,
}

/// A client of a server that echoes.
pub struct Client {
    wire: Wire,
    dialect: Dialect,
    /// The id of the next call.
    next: usize,
    answers: Answers,
    calls: Calls,
}

impl Client {
    /// Introduces itself, and makes a first call to see how this server answers.
    pub async fn open(
        reader: impl AsyncRead + Unpin + 'static,
        writer: impl AsyncWrite + Unpin + 'static,
        dialect: Dialect,
    ) -> Result<Self> {
        let mut wire = Wire::new(reader, writer);
        if dialect == Dialect::Handshake {
            wire.shake_hands().await?;
        }
        let first = Calls::new(dialect, calls::FIRST_ID, 1);
        wire.writer.write_all(&first.lines).await?;
        let answers = Answers::like(&wire.line().await?, dialect)?;
        Ok(Self { wire, dialect, next: calls::FIRST_ID + 1, answers, calls: first })
    }

    /// Gets so many calls ready, so that making them needs no memory.
    pub fn prepare(&mut self, calls: usize) {
        self.calls = Calls::new(self.dialect, self.next, calls);
        self.answers.expect(self.next, calls);
        self.next += calls;
    }

    /// Makes the calls that are ready, each after the answer to the one before. `times` gets how long each took.
    pub async fn one_by_one(&mut self, times: &mut Vec<Duration>) -> Result<()> {
        for call in 0..self.calls.count {
            let began = Instant::now();
            self.exchange(call..call + 1, 1).await?;
            times.push(began.elapsed());
        }
        Ok(())
    }

    /// Makes the calls that are ready, as many at a time.
    pub async fn in_flight(&mut self, depth: usize) -> Result<()> {
        self.exchange(0..self.calls.count, depth).await
    }

    /// Makes the calls that are ready, all at once, of a server that holds them back until it is told to let them go.
    pub async fn held(&mut self, let_go: impl FnOnce()) -> Result<()> {
        self.wire.writer.write_all(&self.calls.lines).await?;
        // What was asked last is answered first: so everything before is held.
        self.wire.say(&json!({ "jsonrpc": "2.0", "id": "held", "method": "ping" })).await?;
        let line = self.wire.line().await?;
        let pong: Value = serde_json::from_slice(&line)?;
        ensure!(pong["id"] == "held" && pong.get("result").is_some(), "no pong: {pong}");
        let_go();
        let mut turn = Turn { calls: 0..self.calls.count, depth: 0, written: self.calls.lines.len(), answered: 0 };
        poll_fn(|cx| self.poll(cx, &mut turn)).await
    }

    async fn exchange(&mut self, calls: Range<usize>, depth: usize) -> Result<()> {
        let written = calls.start * self.calls.length;
        let mut turn = Turn { calls, depth, written, answered: 0 };
        poll_fn(|cx| self.poll(cx, &mut turn)).await
    }

    /// Writes what may be written, and reads what there is, in one task: neither waits for the other.
    fn poll(&mut self, cx: &mut Context<'_>, turn: &mut Turn) -> Poll<Result<()>> {
        loop {
            let mut idle = true;
            let allowed = turn.calls.end.min(turn.calls.start + turn.answered + turn.depth) * self.calls.length;
            if turn.written < allowed {
                let rest = &self.calls.lines[turn.written..allowed];
                if let Poll::Ready(written) = Pin::new(&mut self.wire.writer).poll_write(cx, rest)? {
                    if written == 0 {
                        return Poll::Ready(Err(anyhow!("the server takes no more calls")));
                    }
                    turn.written += written;
                    idle = false;
                }
            }
            if self.wire.poll_read(cx)?.is_ready() {
                turn.answered += self.wire.take(&mut self.answers)?;
                idle = false;
            }
            if turn.answered == turn.calls.len() {
                return Poll::Ready(Ok(()));
            }
            if idle {
                return Poll::Pending;
            }
        }
    }
}

/// Calls that are being made.
struct Turn {
    calls: Range<usize>,
    /// How many may be without an answer.
    depth: usize,
    /// Bytes.
    written: usize,
    answered: usize,
}

/// Both directions of a connection.
struct Wire {
    reader: Box<dyn AsyncRead + Unpin>,
    writer: Box<dyn AsyncWrite + Unpin>,
    /// What was read, and is not looked at yet: so many bytes of it.
    input: Vec<u8>,
    filled: usize,
}

impl Wire {
    fn new(reader: impl AsyncRead + Unpin + 'static, writer: impl AsyncWrite + Unpin + 'static) -> Self {
        Self { reader: Box::new(reader), writer: Box::new(writer), input: vec![0; 64 << 10], filled: 0 }
    }

    async fn shake_hands(&mut self) -> Result<()> {
        let client = json!({ "name": "driver", "version": "1.0.0" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        self.say(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })).await?;
        let answer: Value = serde_json::from_slice(&self.line().await?)?;
        ensure!(answer["result"]["protocolVersion"] == "2025-11-25", "no handshake: {answer}");
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await
    }

    async fn say(&mut self, message: &Value) -> Result<()> {
        Ok(self.writer.write_all(format!("{message}\n").as_bytes()).await?)
    }

    /// The next line, of whatever length.
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
            return Poll::Ready(Err(anyhow!("a line too long")));
        }
        ready!(Pin::new(&mut self.reader).poll_read(cx, &mut buffer)).context("reading answers")?;
        match buffer.filled().len() {
            0 => Poll::Ready(Err(anyhow!("the server has gone"))),
            read => {
                self.filled += read;
                Poll::Ready(Ok(()))
            }
        }
    }

    /// Checks all answers that are complete. How many there were.
    fn take(&mut self, answers: &mut Answers) -> Result<usize> {
        let lines = self.input[..self.filled].chunks_exact(answers.length());
        let count = lines.len();
        for line in lines {
            if let Err(why) = answers.check(line) {
                bail!("{why}: {}", String::from_utf8_lossy(&self.input[..self.filled.min(1000)]));
            }
        }
        self.consume(count * answers.length());
        Ok(count)
    }

    fn consume(&mut self, bytes: usize) {
        self.input.copy_within(bytes..self.filled, 0);
        self.filled -= bytes;
    }
}
