//! HTTP requests for metadata and tokens.
//!
//! The URLs come from servers that may be malicious. `policy` decides which URLs and addresses may be requested,
//! `resolver` applies that to host names, and `fetcher` sends requests within limits on size and time. `decode` reads
//! responses, and `error` says what went wrong.

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
