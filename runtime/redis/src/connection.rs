//! The shared connection, and new ones for commands that block or subscribe.

use std::time::Duration;

use mcpgen_sdk::replicas::StoreError;
use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection, PubSub};
use redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, Pipeline, RedisResult, ScriptInvocation};
use tokio::time::timeout;

use crate::error::{InvalidOptions, Unavailable, redis_error};
use crate::options::RedisOptions;

/// The longest pause between attempts to connect.
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// Reconnects when the connection is lost. All operations have a timeout.
#[derive(Clone)]
pub(crate) struct Connection {
    client: Client,
    manager: ConnectionManager,
    timeout: Duration,
}

impl Connection {
    pub(crate) async fn open(options: &RedisOptions) -> Result<Self, StoreError> {
        let client = client(options).map_err(InvalidOptions::Client)?;
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(options.timeout))
            .set_response_timeout(Some(options.timeout))
            .set_max_delay(MAX_BACKOFF);
        let manager = ConnectionManager::new_lazy_with_config(client.clone(), config).map_err(redis_error)?;
        let connection = Self { client, manager, timeout: options.timeout };
        // The manager retries until the timeout, because Redis may still be starting. It retries even with a wrong
        // password, so this checks the options first.
        if let Err(error) = connection.blocking(Duration::ZERO).await
            && error.is_configuration()
        {
            return Err(error);
        }
        connection.query::<()>(&redis::cmd("PING")).await?;
        Ok(connection)
    }

    pub(crate) async fn query<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StoreError> {
        self.within(command.query_async(&mut self.manager.clone())).await
    }

    pub(crate) async fn pipeline<T: FromRedisValue>(&self, commands: &Pipeline) -> Result<T, StoreError> {
        self.within(commands.query_async(&mut self.manager.clone())).await
    }

    pub(crate) async fn script<T: FromRedisValue>(&self, script: &ScriptInvocation<'_>) -> Result<T, StoreError> {
        self.within(script.invoke_async(&mut self.manager.clone())).await
    }

    /// Opens a connection for commands that block for up to `block`.
    pub(crate) async fn blocking(&self, block: Duration) -> Result<MultiplexedConnection, StoreError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.timeout))
            .set_response_timeout(Some(block + self.timeout));
        self.within(self.client.get_multiplexed_async_connection_with_config(&config)).await
    }

    pub(crate) async fn subscribe(&self, channel: &str) -> Result<PubSub, StoreError> {
        let subscribe = async {
            let mut subscription = self.client.get_async_pubsub().await?;
            subscription.subscribe(channel).await?;
            Ok(subscription)
        };
        self.within(subscribe).await
    }

    pub(crate) async fn within<T>(&self, operation: impl Future<Output = RedisResult<T>>) -> Result<T, StoreError> {
        match timeout(self.timeout, operation).await {
            Ok(result) => result.map_err(redis_error),
            Err(_) => Err(Unavailable::TimedOut(self.timeout).into()),
        }
    }
}

#[cfg(not(feature = "tls"))]
fn client(options: &RedisOptions) -> RedisResult<Client> {
    Client::open(options.url.as_str())
}

#[cfg(feature = "tls")]
fn client(options: &RedisOptions) -> RedisResult<Client> {
    // Fails only if the application has installed another provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match options.root_certificates.clone() {
        None => Client::open(options.url.as_str()),
        Some(root_cert) => {
            let certificates = redis::TlsCertificates { client_tls: None, root_cert: Some(root_cert) };
            Client::build_with_tls(options.url.as_str(), certificates)
        }
    }
}

/// Waits longer after each attempt.
#[derive(Debug, Default)]
pub(crate) struct Backoff(u32);

impl Backoff {
    pub(crate) async fn wait(&mut self) {
        let delay = Duration::from_millis(20 << self.0.min(6));
        self.0 += 1;
        tokio::time::sleep(delay.min(MAX_BACKOFF)).await;
    }
}
