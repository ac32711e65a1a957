//! An HTTP/1.1 client on one TCP connection. It supports only what the servers use, and takes little time compared with
//! a server.

use anyhow::{Context, Result, bail, ensure};
use httparse::{EMPTY_HEADER, Header, Status};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The number of bytes to read at a time. Large enough for one echo response.
const READ: usize = 8 << 10;

pub(super) struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
}

/// The part of a response's head that the benchmark uses.
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) is_events: bool,
    pub(super) session: Option<String>,
    framing: Framing,
}

#[derive(Clone, Copy)]
enum Framing {
    Length(usize),
    Chunked,
}

impl Connection {
    /// Connects to a server on this machine, with TCP_NODELAY.
    pub(super) async fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.context("connecting")?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, input: Vec::with_capacity(READ) })
    }

    /// Sends a request and reads its response. Replaces the contents of `body` with the response's body.
    pub(super) async fn exchange(&mut self, request: &[u8], body: &mut Vec<u8>) -> Result<Head> {
        let head = self.begin(request).await?;
        body.clear();
        match head.framing {
            Framing::Length(length) => {
                while self.input.len() < length {
                    self.fill().await?;
                }
                body.extend(self.input.drain(..length));
            }
            Framing::Chunked => while self.chunk(body).await? {},
        }
        ensure!(self.input.is_empty(), "the server sent more than its response");
        Ok(head)
    }

    pub(super) async fn begin(&mut self, request: &[u8]) -> Result<Head> {
        self.stream.write_all(request).await.context("sending a request")?;
        loop {
            if let Some((length, head)) = Head::parse(&self.input)? {
                self.input.drain(..length);
                return Ok(head);
            }
            self.fill().await?;
        }
    }

    /// Appends the next chunk of a chunked body to `body`. Returns `false` at the end of the body.
    pub(super) async fn chunk(&mut self, body: &mut Vec<u8>) -> Result<bool> {
        loop {
            let size = httparse::parse_chunk_size(&self.input).ok().context("invalid chunk size")?;
            if let Status::Complete((start, size)) = size {
                let end = start + usize::try_from(size)?;
                if let Some(after) = self.input.get(end..end + 2) {
                    ensure!(after == b"\r\n", "a chunk is longer than its size");
                    body.extend_from_slice(&self.input[start..end]);
                    self.input.drain(..end + 2);
                    return Ok(size > 0);
                }
            }
            self.fill().await?;
        }
    }

    /// Drops the buffer and returns the socket, which takes less memory for idle streams.
    pub(super) fn into_stream(self) -> TcpStream {
        self.stream
    }

    async fn fill(&mut self) -> Result<()> {
        self.input.reserve(READ - self.input.len().min(READ - 1));
        match self.stream.read_buf(&mut self.input).await.context("reading a response")? {
            0 => bail!("the server closed the connection"),
            _ => Ok(()),
        }
    }
}

impl Head {
    /// Parses the head at the beginning of `input` and returns it with its length. Returns `None` if the head is
    /// incomplete.
    fn parse(input: &[u8]) -> Result<Option<(usize, Self)>> {
        let mut headers = [EMPTY_HEADER; 32];
        let mut response = httparse::Response::new(&mut headers);
        let Status::Complete(length) = response.parse(input)? else { return Ok(None) };
        let status = response.code.context("no status")?;
        let text = |name| text(response.headers, name);
        let framing = match (text("transfer-encoding"), text("content-length")) {
            (Some("chunked"), None) => Framing::Chunked,
            (None, Some(length)) => Framing::Length(length.parse()?),
            (None, None) if status == 204 => Framing::Length(0),
            other => bail!("unexpected framing of the response: {other:?}"),
        };
        let is_events = text("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        let session = text("mcp-session-id").map(str::to_owned);
        Ok(Some((length, Self { status, is_events, session, framing })))
    }

    /// Returns the only JSON-RPC message in the body of this response.
    pub(super) fn message<'body>(&self, body: &'body [u8]) -> Result<&'body [u8]> {
        if !self.is_events {
            return Ok(body);
        }
        let mut messages = messages(body);
        match (messages.next(), messages.next()) {
            (Some(message), None) => Ok(message),
            _ => bail!("expected one message: {}", String::from_utf8_lossy(body)),
        }
    }
}

/// Returns the messages in an event stream. Both servers write each message on one line.
pub(super) fn messages(events: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = events.split(|byte| *byte == b'\n');
    let data = lines.filter_map(|line| line.strip_prefix(b"data:"));
    data.map(<[u8]>::trim_ascii).filter(|data| !data.is_empty())
}

fn text<'head>(headers: &[Header<'head>], name: &str) -> Option<&'head str> {
    let header = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(header.value).ok()
}
