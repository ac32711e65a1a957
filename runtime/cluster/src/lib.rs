//! Shared in-memory state for several replicas of a server, rate limits, and contract tests for stores.
//!
//! [`MemoryHub`] provides the stores of [`mcpgen_mcp::replicas`] for replicas in one process, for tests and as an
//! example. Replicas in several processes use `mcpgen-redis`. [`testing`] has contract tests for other stores.

mod memory;
mod rate_limit;
pub mod testing;

pub use memory::{MemoryHub, MemoryStores};
pub use rate_limit::InMemoryRateLimiter;
