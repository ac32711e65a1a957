//! Connects once to every server, to check the configuration or to pin the tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use mcpgen_bridge::catalog::{Catalog, Entry, Kind};
use mcpgen_bridge::{Downstream, Greeting, LinkDown, Relay};
use mcpgen_sdk::protocol::info::LocalInfo;
use mcpgen_types::JsonObject;
use serde_json::Value;

use crate::gateway::Gateway;
use crate::pins::PinFile;
use crate::session::Session;

/// What a server offers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckedServer {
    /// Its name in the configuration.
    pub name: String,
    /// Its own name, version and revision, and the numbers of its items; or why it is not available.
    pub outcome: Result<String, String>,
}

impl Gateway {
    /// Connects to every server, reads its lists, and disconnects.
    pub async fn check(&self) -> Vec<CheckedServer> {
        let servers = self.servers();
        let (relays, failures, catalog) = self.connect_once().await;
        let checked = relays.into_iter().zip(failures).enumerate().map(|(server, (relay, failures))| {
            let count = |kind: Kind| {
                let of_server = |entry: &&Entry| entry.server == server && entry.is_available;
                let count = catalog.entries(kind).iter().filter(of_server).count();
                (count > 0).then(|| format!(", {count} {}{}", kind.noun(), if count == 1 { "" } else { "s" }))
            };
            let counts: String = Kind::ALL.into_iter().filter_map(count).collect();
            let outcome = match (relay, failures.is_empty()) {
                (Ok(relay), true) => Ok(relay.describe_server() + &counts),
                (Ok(_), false) => Err(failures.join("; ")),
                (Err(down), _) => Err(down.cause),
            };
            CheckedServer { name: servers.names[server].clone(), outcome }
        });
        checked.collect()
    }

    /// Connects to every server, and returns the pins of its tools: the content of [`Pinning::file`](crate::Pinning::file).
    ///
    /// # Errors
    ///
    /// Fails with the reasons if servers or their lists are not available.
    pub async fn pin(&self) -> Result<String, Vec<String>> {
        let servers = self.servers();
        let (relays, failures, catalog) = self.connect_once().await;
        let failed = relays.into_iter().zip(failures).zip(&servers.names).flat_map(|((relay, failures), name)| {
            let down = relay.err().map(|down| down.cause);
            down.into_iter().chain(failures).map(move |why| format!("server `{name}`: {why}"))
        });
        let failed: Vec<_> = failed.collect();
        if !failed.is_empty() {
            return Err(failed);
        }
        let names = servers.names.iter().cloned();
        let mut pins: BTreeMap<String, Vec<Value>> = names.map(|name| (name, Vec::new())).collect();
        for entry in catalog.entries(Kind::Tool) {
            if let Some(tools) = pins.get_mut(&servers.names[entry.server]) {
                tools.push(entry.item().clone().into());
            }
        }
        serde_json::to_string_pretty(&PinFile(pins)).map_err(|error| vec![error.to_string()])
    }

    /// Returns for each server its connection and why lists could not be read, and the lists.
    async fn connect_once(&self) -> (Vec<Result<Arc<Relay>, LinkDown>>, Vec<Vec<String>>, Arc<Catalog>) {
        let ours = LocalInfo::new("mcpgen-gateway", env!("CARGO_PKG_VERSION"));
        let greeting =
            Greeting { is_legacy: false, capabilities: JsonObject::new(), implementation: ours.implementation.clone() };
        let servers = self.servers();
        let session = Session::new(Downstream::new(&ours, greeting), Arc::clone(&servers));
        let relays = join_all((0..servers.names.len()).map(|server| session.connect(server))).await;
        let catalog = session.list(&Kind::ALL, true).await;
        let failures = (0..servers.names.len()).map(|server| session.list_failures(server)).collect();
        (relays, failures, catalog)
    }

    /// Ends the connections of all clients to the servers, and waits until the processes of servers have ended.
    pub async fn close(&self) {
        self.end_sessions();
        let servers = self.servers();
        let processes = &servers.processes;
        processes.close();
        processes.wait().await;
    }
}
