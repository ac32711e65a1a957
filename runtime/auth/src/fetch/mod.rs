//! HTTP requests for metadata and tokens.
//!
//! The URLs come from servers that may be malicious. `policy` decides which URLs and addresses may be requested,
//! `resolver` applies it to the addresses of host names, and `fetcher` sends requests within limits of size and time.
//! `decode` reads the responses, and `error` says why there is none.

mod decode;
mod error;
mod fetcher;
mod policy;
mod resolver;

#[cfg(any(feature = "client", feature = "server"))]
pub(crate) use decode::json;
pub(crate) use decode::{endpoint, scopes, strings};
#[cfg(feature = "client")]
pub(crate) use decode::{scope, seconds};
pub use error::FetchError;
#[cfg(feature = "client")]
pub(crate) use error::shown;
pub use fetcher::{Fetcher, Reply};
#[cfg(feature = "client")]
pub(crate) use policy::is_local;
pub use policy::{NetworkPolicy, PolicyError};
