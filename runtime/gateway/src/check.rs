//! Connects once to every server, to check the configuration or to pin the tools.

use std::sync::Arc;

use futures_util::future::join_all;
use mcpgen_bridge::catalog::{Catalog, Entry, Kind};
use mcpgen_bridge::{Downstream, Greeting, Relay};
use mcpgen_sdk::protocol::info::LocalInfo;
use mcpgen_types::JsonObject;

use crate::gateway::Gateway;
use crate::pins::PinFile;
use crate::session::Session;

/// What a server offers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckedServer {
    /// Its name in the configuration.
    pub name: String,
    /// Its own name, version and revision, and how many items it has; or why it is not available.
    pub outcome: Result<String, String>,
}

impl Gateway {
    /// Connects to every server, reads its lists, and disconnects.
    pub async fn check(&self) -> Vec<CheckedServer> {
        let (servers, catalog) = self.connect_once().await;
        let checked = servers.into_iter().enumerate().map(|(server, (name, relay))| {
            let count = |kind: Kind| {
                let of_server = |entry: &&Entry| entry.server == server && entry.is_available;
                let count = catalog.entries(kind).iter().filter(of_server).count();
                (count > 0).then(|| format!(", {count} {}{}", kind.noun(), if count == 1 { "" } else { "s" }))
            };
            let counts: String = Kind::ALL.into_iter().filter_map(count).collect();
            let outcome = relay.map(|relay| relay.describe_server() + &counts).map_err(|why| why.join("; "));
            CheckedServer { name, outcome }
        });
        checked.collect()
    }

    /// Connects to every server, and returns the pins of all tools, for [`Pinning::file`](crate::Pinning::file).
    ///
    /// # Errors
    ///
    /// Fails with the reasons if servers or their lists are not available.
    pub async fn pin(&self) -> Result<String, Vec<String>> {
        let (servers, catalog) = self.connect_once().await;
        let failed = servers.iter().flat_map(|(name, relay)| {
            let failures = relay.as_ref().err().into_iter().flatten();
            failures.map(move |why| format!("server `{name}`: {why}"))
        });
        let failed: Vec<_> = failed.collect();
        if !failed.is_empty() {
            return Err(failed);
        }
        let tools = |server| {
            let of_server = catalog.entries(Kind::Tool).iter().filter(|entry| entry.server == server);
            of_server.map(|entry| entry.item().clone().into()).collect()
        };
        let pins = servers.into_iter().enumerate().map(|(server, (name, _))| (name, tools(server))).collect();
        serde_json::to_string_pretty(&PinFile(pins)).map_err(|error| vec![error.to_string()])
    }

    /// Returns each server's name, with its connection or why it or its lists are not available; and all lists.
    async fn connect_once(&self) -> (Vec<(String, Result<Arc<Relay>, Vec<String>>)>, Arc<Catalog>) {
        let ours = LocalInfo::new("mcpgen-gateway", env!("CARGO_PKG_VERSION"));
        let implementation = ours.implementation.clone();
        let greeting = Greeting { is_legacy: false, capabilities: JsonObject::new(), implementation };
        let servers = self.servers();
        let session = Session::new(Downstream::new(&ours, greeting), Arc::clone(&servers));
        let relays = join_all((0..servers.names.len()).map(|server| session.connect(server))).await;
        let catalog = session.list(&Kind::ALL, true).await;
        let connected = relays.into_iter().enumerate().map(|(server, relay)| match session.list_failures(server) {
            failures if failures.is_empty() => (servers.names[server].clone(), relay.map_err(|down| vec![down.cause])),
            failures => (servers.names[server].clone(), Err(failures)),
        });
        (connected.collect(), catalog)
    }

    /// Ends the connections of all clients to the servers, and waits until the servers' processes have ended.
    pub async fn close(&self) {
        self.end_sessions();
        let servers = self.servers();
        let processes = &servers.processes;
        processes.close();
        processes.wait().await;
    }
}
