//! Replicas of this server: what changes in one is told to those who listen to another. A service with a queue or a database
//! would use that; these tell each other by datagrams.

use std::net::Ipv4Addr;

use mcpgen_runtime::protocol::change::Change;
use mcpgen_runtime::{Server, ServerBuilder};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

/// Builds the server at this port. It sends its changes to the replicas at these ports, and receives theirs.
pub(crate) async fn among(server: ServerBuilder, port: u16, siblings: Vec<u16>) -> std::io::Result<Server> {
    if siblings.is_empty() {
        return Ok(server.build());
    }
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let (changes, mut changed) = mpsc::unbounded_channel::<String>();
    let server = server.on_change(move |change| drop(changes.send(name(change)))).build();
    let here = server.clone();
    tokio::spawn(async move {
        let mut received = [0; 1024];
        loop {
            tokio::select! {
                Some(change) = changed.recv() => for sibling in &siblings {
                    if let Err(error) = socket.send_to(change.as_bytes(), (Ipv4Addr::LOCALHOST, *sibling)).await {
                        eprintln!("the replica at {sibling} is not told: {error}");
                    }
                },
                // Nothing is heard of one that is not there yet.
                Ok(size) = socket.recv(&mut received) => {
                    here.changed_elsewhere(&named(&String::from_utf8_lossy(&received[..size])));
                }
            }
        }
    });
    Ok(server)
}

const TOOLS: &str = "tools";
const PROMPTS: &str = "prompts";
const RESOURCES: &str = "resources";

fn name(change: &Change) -> String {
    match change {
        Change::Tools => TOOLS.to_owned(),
        Change::Prompts => PROMPTS.to_owned(),
        Change::Resources => RESOURCES.to_owned(),
        Change::Resource(uri) => uri.clone(),
    }
}

fn named(name: &str) -> Change {
    match name {
        TOOLS => Change::Tools,
        PROMPTS => Change::Prompts,
        RESOURCES => Change::Resources,
        uri => Change::Resource(uri.to_owned()),
    }
}
