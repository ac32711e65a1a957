//! The remote end of a connection, driven by the test.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

/// Sends and receives lines without interpreting them.
pub(crate) struct RawPeer {
    reader: RawReader,
    writer: RawWriter,
}

/// The receiving half of a [`RawPeer`].
pub(crate) struct RawReader(Lines<BufReader<ReadHalf<DuplexStream>>>);

/// The sending half of a [`RawPeer`].
pub(crate) struct RawWriter(WriteHalf<DuplexStream>);

impl RawReader {
    /// Receives a message. Panics after 30 seconds, or if the connection is closed.
    pub(crate) async fn receive(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(30), self.0.next_line()).await.expect("a line in time");
        serde_json::from_str(&line.expect("a line of text").expect("an open connection")).expect("JSON")
    }
}

impl RawWriter {
    /// Sends a line.
    pub(crate) async fn send(&mut self, text: &str) {
        self.write(&format!("{text}\n")).await;
    }

    /// Writes text without ending the line.
    pub(crate) async fn write(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.expect("an open connection");
    }
}

impl RawPeer {
    /// Creates a pipe and calls `run` with its other end. Also returns the result of `run`.
    pub(crate) fn connect<T>(run: impl FnOnce(DuplexStream) -> T) -> (RawPeer, T) {
        let (here, there) = tokio::io::duplex(4096);
        (RawPeer::new(here), run(there))
    }

    /// Creates a peer at one end of a pipe.
    pub(crate) fn new(pipe: DuplexStream) -> RawPeer {
        let (reader, writer) = tokio::io::split(pipe);
        RawPeer { reader: RawReader(BufReader::new(reader).lines()), writer: RawWriter(writer) }
    }

    /// Splits the peer, to send and receive at the same time.
    pub(crate) fn split(self) -> (RawReader, RawWriter) {
        (self.reader, self.writer)
    }

    /// Sends a line.
    pub(crate) async fn send(&mut self, text: &str) {
        self.writer.send(text).await;
    }

    /// Writes text without ending the line.
    pub(crate) async fn write(&mut self, text: &str) {
        self.writer.write(text).await;
    }

    /// Receives a message. Panics after 30 seconds, or if the connection is closed.
    pub(crate) async fn receive(&mut self) -> Value {
        self.reader.receive().await
    }

    /// Sends a line and receives the next message.
    pub(crate) async fn request(&mut self, text: &str) -> Value {
        self.send(text).await;
        self.receive().await
    }

    /// Closes the sending half. Messages can still be received.
    pub(crate) async fn close_output(&mut self) {
        self.writer.0.shutdown().await.expect("an open connection");
    }

    /// Returns whether the connection is closed. Waits for the end of the stream or the next line.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.reader.0.next_line().await.is_ok_and(|line| line.is_none())
    }
}
