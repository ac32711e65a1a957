//! The contract tests of `testing`, run against the in-memory stores.

use std::sync::Arc;
use std::time::Duration;

use mcpgen_cluster::MemoryHub;
use mcpgen_cluster::testing;
use mcpgen_sdk::server::request_state::InMemoryReplayGuard;
use mcpgen_sdk::tasks::InMemoryTaskStore;

const MAX_BYTES: usize = 100_000;

fn hub() -> MemoryHub {
    MemoryHub::new(10_000, MAX_BYTES)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_stores_sessions() {
    let hub = hub();
    testing::session_store(async || hub.replica()).await;
    let small = MemoryHub::new(3, MAX_BYTES);
    testing::session_limit(async || small.replica(), 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_stores_events() {
    let hub = hub();
    testing::event_store(async || hub.replica(), MAX_BYTES).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_passes_changes() {
    let hub = hub();
    testing::change_bus(async || hub.replica()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_forwards_requests() {
    let hub = hub();
    testing::exchange_bus(async || hub.replica()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_limits_rates() {
    let limiter = Arc::new(mcpgen_cluster::InMemoryRateLimiter::new(5, Duration::from_secs(1)));
    testing::rate_limiter(async || Arc::clone(&limiter), 5, Duration::from_secs(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_records_used_states() {
    let guard = Arc::new(InMemoryReplayGuard::new(1000));
    testing::replay_guard(async || Arc::clone(&guard), Duration::from_secs(60)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_stores_tasks() {
    let store = Arc::new(InMemoryTaskStore::new(1000, 1000));
    testing::task_store(async || Arc::clone(&store)).await;
    let small = Arc::new(InMemoryTaskStore::new(1000, 5));
    testing::task_limit(async || Arc::clone(&small), 5).await;
}
