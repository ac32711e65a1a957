//! Servers in this process. Each shares a single-threaded runtime with its client.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{ReadHalf, WriteHalf, duplex, split};
use tokio::runtime::{Builder, Runtime};

use crate::{Client, Dialect};

type Pipe = (ReadHalf<tokio::io::DuplexStream>, WriteHalf<tokio::io::DuplexStream>);

/// A server, and the dialect that its client uses.
pub struct Contender {
    pub name: &'static str,
    pub package: &'static str,
    pub dialect: Dialect,
    spawn: fn(Pipe),
}

/// All servers, mcpgen first.
pub const CONTENDERS: [Contender; 6] = [
    Contender { name: "mcpgen", package: "echo-mcpgen", dialect: Dialect::Handshake, spawn: mcpgen },
    Contender { name: "mcpgen modern", package: "echo-mcpgen", dialect: Dialect::Modern, spawn: mcpgen },
    Contender { name: "mcpgen router", package: "echo-router", dialect: Dialect::Handshake, spawn: router },
    Contender { name: "rmcp", package: "echo-rmcp", dialect: Dialect::Handshake, spawn: rmcp },
    Contender { name: "rmcp modern", package: "echo-rmcp", dialect: Dialect::Modern, spawn: rmcp },
    Contender { name: "hand", package: "echo-hand", dialect: Dialect::Handshake, spawn: hand },
];

/// How many bytes each direction buffers: as many as a pipe.
const CAPACITY: usize = 64 << 10;

pub struct InProcess {
    runtime: Runtime,
    pub client: Client,
}

impl InProcess {
    /// Starts one of [`CONTENDERS`].
    pub fn start(contender: &Contender) -> Result<Self> {
        Self::of(contender.dialect, contender.spawn).with_context(|| format!("{} in process", contender.name))
    }

    /// Starts a server with `spawn`, which takes the server's end of the pipe.
    pub fn of(dialect: Dialect, spawn: impl FnOnce(Pipe)) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let client = runtime.block_on(async {
            let (client, server) = duplex(CAPACITY);
            spawn(split(server));
            let (reader, writer) = split(client);
            Client::open(reader, writer, dialect).await
        })?;
        Ok(Self { runtime, client })
    }

    pub fn one_by_one(&mut self, times: &mut Vec<Duration>) -> Result<()> {
        self.runtime.block_on(self.client.one_by_one(times))
    }

    pub fn in_flight(&mut self, depth: usize) -> Result<()> {
        self.runtime.block_on(self.client.in_flight(depth))
    }

    pub fn held(&mut self, release: impl FnOnce()) -> Result<()> {
        self.runtime.block_on(self.client.held(release))
    }
}

// If a server returns an error, the connection closes, and its client fails.

fn mcpgen((reader, writer): Pipe) {
    tokio::spawn(async { echo_mcpgen::serve(reader, writer).await.is_ok() });
}

fn router((reader, writer): Pipe) {
    tokio::spawn(async { echo_router::serve(reader, writer).await.is_ok() });
}

fn rmcp((reader, writer): Pipe) {
    tokio::spawn(async { echo_rmcp::serve(reader, writer).await.is_ok() });
}

fn hand((reader, writer): Pipe) {
    tokio::spawn(async { echo_hand::serve(reader, writer).await.is_ok() });
}
