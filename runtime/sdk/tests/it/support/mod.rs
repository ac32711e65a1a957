//! Connections in this process whose remote end the test drives. The modules contain servers, requests and examples.

#![allow(dead_code, reason = "with fewer features, fewer tests use it")]

#[path = "../../../examples/support/dialect.rs"]
pub(crate) mod dialect;
#[cfg(all(unix, feature = "stdio"))]
pub(crate) mod example;
#[cfg(feature = "http-server")]
pub(crate) mod http_server;
#[path = "../../../../tests/support/raw_peer.rs"]
pub(crate) mod raw_peer;
#[cfg(feature = "http-server")]
pub(crate) mod requests;
#[cfg(feature = "http-client")]
pub(crate) mod sessions;

use std::sync::Arc;

pub(crate) use raw_peer::RawPeer;

use mcpgen_sdk::connection::{Connection, Limits};
use mcpgen_sdk::peer::Peer;
use mcpgen_sdk::protocol::{Mcp, RevisionRules};
use mcpgen_sdk::router::Router;
use mcpgen_sdk::transport::lines;
use tokio::io::DuplexStream;

/// Runs a connection over a pipe.
pub(crate) fn run(router: Router, rules: Arc<dyn RevisionRules>, limits: Limits, pipe: DuplexStream) -> Peer {
    let connection = Connection::new(router, Mcp::new(rules)).limits(limits);
    let peer = connection.peer().clone();
    let (reader, writer) = tokio::io::split(pipe);
    tokio::spawn(connection.run(lines::receive(reader, 1 << 20), lines::send(writer)));
    peer
}
