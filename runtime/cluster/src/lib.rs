//! State in memory that several replicas of a server share, rate limits, and contract tests for stores.
//!
//! [`MemoryHub`] has the stores of [`mcpgen_mcp::replicas`] for replicas in one process, for tests and as an example. Replicas in
//! several processes use the crate `mcpgen-redis`. [`testing`] has contract tests for stores on other engines.

mod memory;
mod rate_limit;
pub mod testing;

pub use memory::{MemoryHub, MemoryStores};
pub use rate_limit::InMemoryRateLimiter;
