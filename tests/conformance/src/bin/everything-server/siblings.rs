//! Replicas of this server: what changes in one is told to those who listen to another. A service with a queue or a database
//! would use that; these tell each other by datagrams.

use std::net::Ipv4Addr;

use mcpgen_runtime::Server;
use mcpgen_runtime::protocol::change::Change;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

/// The server at this port, which tells those at these ports of its changes, and hears of theirs.
pub(crate) async fn among(server: Server, port: u16, siblings: Vec<u16>) -> std::io::Result<Server> {
    if siblings.is_empty() {
        return Ok(server);
    }
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let (changes, mut changed) = mpsc::unbounded_channel::<String>();
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
    // Once nobody tells any more, nobody needs to hear.
    Ok(server.on_change(move |change| drop(changes.send(name(change)))))
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
