//! Clients and servers in one process, for tests.

use mcpgen_runtime::transport;

use super::builder::ClientBuilder;
use super::handle::Client;
use super::handshake::HandshakeError;
use crate::server::{IntoConnection, ServeError, Server};

impl Server {
    /// Connects a client to this server, in this process. A tokio task serves the connection until the client is
    /// dropped or closed. Messages are encoded and decoded as on any other transport.
    ///
    /// The connection does no I/O, so tests can pause time with `#[tokio::test(start_paused = true)]`.
    ///
    /// ```
    /// use mcpgen_sdk::{Client, Server};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let server = Server::builder("greeter", "1.0.0").tool("greet", || async { "hello" }).build();
    /// let client = server.in_process(Client::builder("test", "1.0.0")).await?;
    /// let result = client.tool("greet").await?;
    /// assert_ne!(result.is_error, Some(true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the server has invalid definitions, or if the client and the server have no revision in common.
    pub async fn in_process(&self, client: ClientBuilder) -> Result<Client, InProcessError> {
        let (theirs, ours) = transport::duplex();
        let connection = self.clone().into_connection()?;
        tokio::spawn(async move {
            if let Err(error) = connection.run(ours.0, ours.1).await {
                tracing::warn!(%error, "the connection in this process failed");
            }
        });
        Ok(client.connect(theirs.0, theirs.1).await?)
    }
}

/// Why a client could not connect to a server in the same process.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InProcessError {
    /// The server could not start.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The handshake failed.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
}
