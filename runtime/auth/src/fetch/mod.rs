//! HTTP requests for metadata and tokens.
//!
//! The URLs come from servers that may be malicious. `policy` decides which URLs and addresses may be requested,
//! `resolver` applies it to the addresses of host names, and `fetcher` sends requests within limits of size and time.

mod fetcher;
mod policy;
mod resolver;

#[cfg(any(feature = "client", feature = "server"))]
pub(crate) use fetcher::json;
#[cfg(feature = "client")]
pub(crate) use fetcher::shown;
pub use fetcher::{FetchError, Fetcher, Reply};
#[cfg(feature = "client")]
pub(crate) use policy::is_local;
pub use policy::{NetworkPolicy, PolicyError};
