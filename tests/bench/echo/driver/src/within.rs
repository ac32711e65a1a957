//! Servers within this process, each on a runtime of one thread that it shares with its client.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{ReadHalf, WriteHalf, duplex, split};
use tokio::runtime::{Builder, Runtime};

use crate::{Client, Dialect};

type Pipe = (ReadHalf<tokio::io::DuplexStream>, WriteHalf<tokio::io::DuplexStream>);

/// A server, and how it is spoken to.
pub struct Contender {
    pub name: &'static str,
    /// The package of its program.
    pub package: &'static str,
    pub dialect: Dialect,
    spawn: fn(Pipe),
}

/// All servers. Ours is the first.
pub const CONTENDERS: [Contender; 6] = [
    Contender { name: "mcpgen", package: "echo-mcpgen", dialect: Dialect::Handshake, spawn: mcpgen },
    Contender { name: "mcpgen modern", package: "echo-mcpgen", dialect: Dialect::Modern, spawn: mcpgen },
    Contender { name: "mcpgen router", package: "echo-router", dialect: Dialect::Handshake, spawn: router },
    Contender { name: "rmcp", package: "echo-rmcp", dialect: Dialect::Handshake, spawn: rmcp },
    Contender { name: "rmcp modern", package: "echo-rmcp", dialect: Dialect::Modern, spawn: rmcp },
    Contender { name: "hand", package: "echo-hand", dialect: Dialect::Handshake, spawn: hand },
];

/// The bytes that may be on their way in each direction, as in a pipe.
const ROOM: usize = 64 << 10;

/// A server, and its client.
pub struct Within {
    runtime: Runtime,
    pub client: Client,
}

impl Within {
    /// One of the servers.
    pub fn start(contender: &Contender) -> Result<Self> {
        Self::of(contender.dialect, contender.spawn).with_context(|| format!("{} in process", contender.name))
    }

    /// A server that `spawn` spawns.
    pub fn of(dialect: Dialect, spawn: impl FnOnce(Pipe)) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let client = runtime.block_on(async {
            let (here, there) = duplex(ROOM);
            spawn(split(there));
            let (reader, writer) = split(here);
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

    pub fn held(&mut self, let_go: impl FnOnce()) -> Result<()> {
        self.runtime.block_on(self.client.held(let_go))
    }
}

// Why a server ends is of no interest: its client finds it gone.

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
