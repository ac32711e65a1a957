//! The contract tests of `mcpgen_cluster::testing`.

use std::time::Duration;

use mcpgen_cluster::testing;
use mcpgen_redis::RedisStores;

use crate::redis_server::RedisServer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_sessions() {
    let Some(redis) = RedisServer::start().await else { return };
    testing::session_store(async || redis.replica().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_sessions() {
    let Some(redis) = RedisServer::start().await else { return };
    let mut options = redis.options();
    options.max_sessions = 5;
    testing::session_limit(async || RedisStores::connect(options.clone()).await.expect("a connection"), 5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_events() {
    let Some(redis) = RedisServer::start().await else { return };
    let max = redis.options().max_stream_bytes;
    testing::event_store(async || redis.replica().await, max).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passes_changes() {
    let Some(redis) = RedisServer::start().await else { return };
    testing::change_bus(async || redis.replica().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forwards_requests() {
    let Some(redis) = RedisServer::start().await else { return };
    testing::exchange_bus(async || redis.replica().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_rates() {
    let Some(redis) = RedisServer::start().await else { return };
    let limiter = async || redis.replica().await.rate_limiter(10, Duration::from_secs(2));
    testing::rate_limiter(limiter, 10, Duration::from_secs(2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_used_states() {
    let Some(redis) = RedisServer::start().await else { return };
    let lifetime = redis.options().request_state_lifetime;
    testing::replay_guard(async || redis.replica().await, lifetime).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_tasks() {
    let Some(redis) = RedisServer::start().await else { return };
    testing::task_store(async || redis.replica().await).await;
    let mut options = redis.options();
    options.max_tasks_per_owner = 5;
    testing::task_limit(async || RedisStores::connect(options.clone()).await.expect("a connection"), 5).await;
}
