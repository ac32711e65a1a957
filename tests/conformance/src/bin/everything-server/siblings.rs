//! Shares changes between replicas of this server, so that clients of each replica are notified of all changes.
//!
//! The replicas send UDP datagrams to each other. A real service would use its message queue or its database.

use std::net::Ipv4Addr;

use mcpgen_runtime::protocol::change::Change;
use mcpgen_runtime::{Server, ServerBuilder};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

/// Builds the server at `port`. It sends its changes to the replicas at the ports `siblings`, and receives theirs.
pub(crate) async fn connect(server: ServerBuilder, port: u16, siblings: Vec<u16>) -> std::io::Result<Server> {
    if siblings.is_empty() {
        return Ok(server.build());
    }
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let (changes, mut outgoing) = mpsc::unbounded_channel::<String>();
    let server = server.on_change(move |change| {
        if let Some(name) = name(change) {
            // Sending fails only if the task has ended.
            drop(changes.send(name));
        }
    });
    let server = server.build();
    let receiver = server.clone();
    tokio::spawn(async move {
        let mut buffer = [0; 1024];
        loop {
            tokio::select! {
                change = outgoing.recv() => {
                    let Some(change) = change else { break };
                    for sibling in &siblings {
                        if let Err(error) = socket.send_to(change.as_bytes(), (Ipv4Addr::LOCALHOST, *sibling)).await {
                            eprintln!("cannot notify the replica at port {sibling}: {error}");
                        }
                    }
                }
                // Receiving fails after a send to a replica that is not listening yet.
                received = socket.recv(&mut buffer) => if let Ok(size) = received {
                    receiver.relay_change(&change(&String::from_utf8_lossy(&buffer[..size])));
                },
            }
        }
    });
    Ok(server)
}

const TOOLS: &str = "tools";
const PROMPTS: &str = "prompts";
const RESOURCES: &str = "resources";

/// Returns the text of a change. Returns `None` for the changes that a server does not make.
fn name(change: &Change) -> Option<String> {
    Some(match change {
        Change::Tools => TOOLS.to_owned(),
        Change::Prompts => PROMPTS.to_owned(),
        Change::Resources => RESOURCES.to_owned(),
        Change::Resource(uri) => uri.clone(),
        _ => return None,
    })
}

fn change(name: &str) -> Change {
    match name {
        TOOLS => Change::Tools,
        PROMPTS => Change::Prompts,
        RESOURCES => Change::Resources,
        uri => Change::Resource(uri.to_owned()),
    }
}
