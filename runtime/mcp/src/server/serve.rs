//! Serves connections.

use std::future::Future;
use std::sync::Arc;

use futures_util::StreamExt;
use mcpgen_runtime::connection::{Connection, Limits};
use mcpgen_runtime::router::Router;
use mcpgen_runtime::transport::{Incoming, Outgoing};

use super::error::ServeError;
use super::state::Server;
use crate::protocol::config::ServerConfig;
use crate::protocol::info::HandlerCapabilities;
use crate::protocol::{Role, RouterExt};
use crate::telemetry::connection;

/// Serves a connection until the client closes it.
///
/// `server` is a [`Server`], or a [`Router`] with its [`LocalInfo`](crate::LocalInfo) or [`ServerConfig`]. A transport
/// is an [`Incoming`] stream and an [`Outgoing`] sink of messages, as returned for example by
/// [`duplex`](mcpgen_runtime::transport::duplex).
///
/// ```
/// use mcpgen_sdk::{Client, Server, serve, transport};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let server = Server::builder("empty", "1.0.0").build();
/// let (ours, theirs) = transport::duplex();
/// let serving = tokio::spawn(serve(server, ours));
/// let client = Client::builder("visitor", "1.0.0").connect(theirs.0, theirs.1).await?;
/// client.close().await?;
/// serving.await??;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Fails if the server has invalid definitions, if no key for the request state could be generated, or if reading or
/// writing fails.
pub async fn serve(
    server: impl IntoConnection,
    (incoming, outgoing): (impl Incoming, impl Outgoing),
) -> Result<(), ServeError> {
    Ok(server.into_connection()?.run(incoming, outgoing).await?)
}

/// Like [`serve`], until `shutdown` completes. From then on no new requests are read, and running ones have
/// [`Limits::drain_timeout`] to complete.
///
/// # Errors
///
/// Fails like [`serve`].
pub async fn serve_until(
    server: impl IntoConnection,
    (incoming, outgoing): (impl Incoming, impl Outgoing),
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    serve(server, (incoming.take_until(shutdown), outgoing)).await
}

/// What [`serve`] accepts as a server.
pub trait IntoConnection {
    /// Creates a connection. Use this instead of [`serve`] to get the connection's peer before it runs.
    ///
    /// # Errors
    ///
    /// Fails if the server has invalid definitions, or if no key for the request state could be generated.
    fn into_connection(self) -> Result<Connection<Router>, ServeError>;
}

impl IntoConnection for Server {
    fn into_connection(self) -> Result<Connection<Router>, ServeError> {
        self.connect_to_bus();
        let (router, config) = (self.router(), self.config()?);
        // All handlers work in every revision, and `config` already lists the capabilities.
        let protocol = config.protocol(&HandlerCapabilities::default());
        let limits = self.0.config.limits.clone();
        Ok(connection(router.clone(), router, Arc::new(protocol), limits))
    }
}

/// Supports the configured revisions that have a handler.
impl<C: Into<ServerConfig>> IntoConnection for (C, Router) {
    fn into_connection(self) -> Result<Connection<Router>, ServeError> {
        let (config, router) = self;
        (config, router, Limits::default()).into_connection()
    }
}

/// Supports the configured revisions that have a handler.
impl<C: Into<ServerConfig>> IntoConnection for (C, Router, Limits) {
    fn into_connection(self) -> Result<Connection<Router>, ServeError> {
        let (config, router, limits) = self;
        let (config, handlers): (ServerConfig, _) = (config.into(), router.handled(Role::Server));
        if !config.local_info.revisions.iter().any(|revision| handlers.supports(*revision)) {
            let revisions: Vec<_> = router.revisions().iter().map(|revision| revision.as_str()).collect();
            return Err(ServeError::NoRevision(revisions.join(", ")));
        }
        let protocol = config.protocol(&handlers);
        Ok(connection(router.clone(), router, Arc::new(protocol), limits))
    }
}

impl Server {
    /// Serves the process's standard input and output. Nothing else may write to standard output.
    ///
    /// # Errors
    ///
    /// Fails like [`serve`].
    #[cfg(feature = "stdio")]
    pub async fn serve_stdio(&self) -> Result<(), ServeError> {
        serve(
            self.clone(),
            mcpgen_runtime::transport::stdio::stdio(mcpgen_runtime::transport::lines::DEFAULT_LINE_LIMIT)?,
        )
        .await
    }

    /// Like [`serve_stdio`](Self::serve_stdio), until `shutdown` completes. From then on no new requests are read, and
    /// running ones have [`Limits::drain_timeout`] to complete.
    ///
    /// ```no_run
    /// # use mcpgen_sdk::Server;
    /// # use mcpgen_sdk::server::ServeError;
    /// # async fn run(server: Server) -> Result<(), ServeError> {
    /// server.serve_stdio_until(async { tokio::signal::ctrl_c().await.unwrap_or(()) }).await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails like [`serve`].
    #[cfg(feature = "stdio")]
    pub async fn serve_stdio_until(
        &self,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServeError> {
        let stdio = mcpgen_runtime::transport::stdio::stdio(mcpgen_runtime::transport::lines::DEFAULT_LINE_LIMIT)?;
        serve_until(self.clone(), stdio, shutdown).await
    }
}
