//! A connection in this process, and an end of it that is driven by hand.

#![allow(dead_code, reason = "every test uses a part of it")]

use std::sync::Arc;
use std::time::Duration;

use mcpgen_runtime::connection::{Connection, Limits};
use mcpgen_runtime::peer::Peer;
use mcpgen_runtime::protocol::Protocol;
use mcpgen_runtime::service::router::Router;
use mcpgen_runtime::transport::lines;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

/// Runs one end over a pipe.
pub(crate) fn run(router: Router, protocol: Arc<dyn Protocol>, limits: Limits, pipe: DuplexStream) -> Peer {
    let connection = Connection::new(router.clone(), router, protocol, limits);
    let peer = connection.peer().clone();
    let (reader, writer) = tokio::io::split(pipe);
    tokio::spawn(connection.run(lines::receive(reader, 1 << 20), lines::send(writer)));
    peer
}

/// The other end, driven by hand.
pub(crate) struct Wire {
    ears: Ears,
    mouth: HttpSink,
}

/// What hears the other end.
pub(crate) struct Ears(Lines<BufReader<ReadHalf<DuplexStream>>>);

/// What speaks to the other end.
pub(crate) struct HttpSink(WriteHalf<DuplexStream>);

impl Ears {
    pub(crate) async fn hear(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(30), self.0.next_line()).await.expect("a line in time");
        serde_json::from_str(&line.expect("the server writes").expect("the server is there")).expect("JSON")
    }
}

impl HttpSink {
    pub(crate) async fn say(&mut self, text: &str) {
        self.say_raw(&format!("{text}\n")).await;
    }

    /// Without the end of a line.
    pub(crate) async fn say_raw(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.expect("the server reads");
    }
}

impl Wire {
    /// The other end of what `run` runs on a pipe.
    pub(crate) fn to<T>(run: impl FnOnce(DuplexStream) -> T) -> (Wire, T) {
        let (here, there) = tokio::io::duplex(4096);
        (Wire::of(here), run(there))
    }

    /// The end of a pipe.
    pub(crate) fn of(pipe: DuplexStream) -> Wire {
        let (reader, writer) = tokio::io::split(pipe);
        Wire { ears: Ears(BufReader::new(reader).lines()), mouth: HttpSink(writer) }
    }

    /// For hearing and speaking at the same time.
    pub(crate) fn split(self) -> (Ears, HttpSink) {
        (self.ears, self.mouth)
    }

    pub(crate) async fn say(&mut self, text: &str) {
        self.mouth.say(text).await;
    }

    /// Without the end of a line.
    pub(crate) async fn say_raw(&mut self, text: &str) {
        self.mouth.say_raw(text).await;
    }

    pub(crate) async fn hear(&mut self) -> Value {
        self.ears.hear().await
    }

    pub(crate) async fn ask(&mut self, text: &str) -> Value {
        self.say(text).await;
        self.hear().await
    }

    /// Nothing more is said, but still heard.
    pub(crate) async fn close_output(&mut self) {
        self.mouth.0.shutdown().await.expect("closed");
    }

    /// Whether the other end has ended.
    pub(crate) async fn is_over(&mut self) -> bool {
        self.ears.0.next_line().await.is_ok_and(|line| line.is_none())
    }
}
