//! Serves the gateway to one client, for example on standard input and output.

use std::future::Future;
use std::io;
use std::sync::Arc;

use futures_util::StreamExt;
use mcpgen_bridge::{Bridge, BridgeError};
use mcpgen_sdk::Limits;
use mcpgen_sdk::protocol::{Role, RouterExt};
use mcpgen_sdk::telemetry::connection;
use mcpgen_sdk::transport::{Incoming, Outgoing};
use mcpgen_sdk::util::error_chain;
use tower::BoxError;

use crate::gateway::Gateway;

impl Gateway {
    /// Serves a client until it closes the connection or `shutdown` completes.
    ///
    /// # Errors
    ///
    /// Fails if reading or writing fails.
    pub async fn serve_client(
        &self,
        (incoming, outgoing): (impl Incoming, impl Outgoing),
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let router = self.router();
        let protocol = self.protocol_config().protocol(&router.handled(Role::Server)).initialize_once();
        let connection = connection(router.clone(), router, Arc::new(protocol), Limits::default());
        connection.run(incoming.take_until(shutdown), outgoing).await
    }

    /// Bridges a client to the only server until either closes the connection, or `shutdown` completes. Unlike
    /// [`serve_client`](Self::serve_client), the client sees what the server says about itself, and the connection ends
    /// with the server.
    ///
    /// # Errors
    ///
    /// Fails if the server cannot be connected, or if reading or writing fails.
    pub async fn bridge_client(
        &self,
        (incoming, outgoing): (impl Incoming, impl Outgoing),
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), BridgeError> {
        let servers = self.servers();
        let connect = |builder| async {
            let only = servers.upstreams.first().ok_or("there is no server")?;
            let connected = only.connect(builder, &servers.processes).await;
            connected.map_err(|why| BoxError::from(format!("server `{}`: {}", only.name, error_chain(&*why))))
        };
        Bridge::new().run((incoming.take_until(shutdown), outgoing), connect).await
    }
}
