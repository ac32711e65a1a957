//! Contract tests for implementations of the traits of [`replicas`](mcpgen_mcp::replicas) and [`tasks`](mcpgen_tasks).
//!
//! Each function tests one trait, and panics if the implementation violates the contract. Most take an async function
//! that creates the stores of a new replica. All replicas that it creates must share one storage, and a replica must
//! die when its stores are dropped. The tests run in real time and use random names, so several can share a storage.
//! Run them on a multi-threaded runtime, along with tests of what is specific to the implementation.
//!
//! ```
//! use mcpgen_cluster::MemoryHub;
//! use mcpgen_cluster::testing;
//!
//! # tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(async {
//! let hub = MemoryHub::new(10_000, 256 << 10);
//! testing::change_bus(async || hub.replica()).await;
//! # });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `sessions`, `events`, `changes`, `exchange`, `limits` and `tasks` test one or two traits each.

#![allow(clippy::missing_panics_doc, reason = "a test panics if it fails")]

mod changes;
mod events;
mod exchange;
mod limits;
mod sessions;
mod tasks;

use std::time::Duration;

pub use changes::change_bus;
pub use events::event_store;
pub use exchange::exchange_bus;
pub use limits::{rate_limiter, replay_guard};
pub use sessions::{session_limit, session_store};
pub use tasks::{task_limit, task_store};
use tokio::time::{Instant, sleep};

/// How long a store may take to detect that a replica has died.
const DETECTION: Duration = Duration::from_secs(15);

fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("random bytes");
    bytes
}

/// No test takes this long.
const LONG: Duration = Duration::from_secs(600);

/// Returns a name that no other test uses.
fn unique(name: &str) -> String {
    format!("{name}-{:032x}", u128::from_be_bytes(random()))
}

async fn eventually<T>(what: &str, mut poll: impl AsyncFnMut() -> Option<T>) -> T {
    let until = Instant::now() + DETECTION;
    loop {
        if let Some(value) = poll().await {
            return value;
        }
        assert!(Instant::now() < until, "{what}: not within {DETECTION:?}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Panics if the future takes too long.
async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DETECTION, future).await.unwrap_or_else(|_| panic!("{what}: not within {DETECTION:?}"))
}
