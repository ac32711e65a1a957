//! Keeps all of a server's shared state on Redis, with one call.

use std::future::Future;

use mcpgen_sdk::ServerBuilder;
use mcpgen_sdk::replicas::{Replicas, StoreError};
use mcpgen_sdk::tasks::{ServeTasks, TaskLimits, Tasks};

use crate::options::RedisOptions;
use crate::stores::RedisStores;

/// Keeps all state that a server's replicas share on Redis.
///
/// ```no_run
/// use mcpgen_redis::OnRedis;
/// use mcpgen_sdk::prelude::*;
/// use mcpgen_sdk::http::server::EndpointOptions;
///
/// # async fn start() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::builder("shop", "1.0.0").on_redis("redis://127.0.0.1/").await?.build();
/// let endpoint = server.http(EndpointOptions::default())?;
/// # let _ = endpoint;
/// # Ok(())
/// # }
/// ```
pub trait OnRedis: Sized {
    /// Connects to Redis as a new replica, and uses it for
    ///
    /// * sessions of legacy revisions, their streams' events, and requests for sessions on other replicas
    ///   ([`ServerBuilder::replicas`]);
    /// * changes to tools, prompts, resources and tasks ([`ServerBuilder::change_bus`]);
    /// * keys of request states, and used states ([`ServerBuilder::request_state`]);
    /// * tasks, if a tool can run as a task ([`ServerBuilder::default_tasks`]).
    ///
    /// `options` is a URL or [`RedisOptions`]. To use something else for one of these, call the builder's method
    /// afterwards; `ServerBuilder::tasks` takes precedence in any order. To limit the rate of calls as well, use
    /// [`on_stores`](Self::on_stores), and pass [`RedisStores::rate_limiter`] to [`ServerBuilder::rate_limiter`]. Call
    /// this in a tokio runtime.
    ///
    /// # Errors
    ///
    /// Fails like [`RedisStores::connect`].
    fn on_redis(self, options: impl Into<RedisOptions> + Send)
    -> impl Future<Output = Result<Self, StoreError>> + Send;

    /// Like [`on_redis`](Self::on_redis), for a replica that is already connected.
    ///
    /// # Errors
    ///
    /// Fails if Redis is unavailable.
    fn on_stores(self, stores: &RedisStores) -> impl Future<Output = Result<Self, StoreError>> + Send;
}

impl<S: Send> OnRedis for ServerBuilder<S> {
    async fn on_redis(self, options: impl Into<RedisOptions> + Send) -> Result<Self, StoreError> {
        self.on_stores(&RedisStores::connect(options.into()).await?).await
    }

    async fn on_stores(self, stores: &RedisStores) -> Result<Self, StoreError> {
        let codec = stores.request_state_codec().await?;
        Ok(self
            .replicas(Replicas::new(stores.clone()))
            .change_bus(stores.clone())
            .request_state(codec)
            .default_tasks(Tasks::new(stores.clone(), TaskLimits::default())))
    }
}
