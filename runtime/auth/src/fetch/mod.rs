//! HTTP requests to authorization servers and for metadata.
//!
//! The URLs come from servers that may be malicious. `policy` decides which URLs and addresses may be requested,
//! `resolver` applies it to the addresses of host names, and `fetcher` sends requests within limits of size and time.

mod fetcher;
mod policy;
mod resolver;

pub use fetcher::{FetchError, Fetcher, Reply};
pub(crate) use fetcher::{json, shown};
pub(crate) use policy::is_local;
pub use policy::{NetworkPolicy, PolicyError};
