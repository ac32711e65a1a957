//! OAuth authorization for `mcpgen-runtime`: clients that log in, and servers that verify access tokens.
//!
//! * `client` (default feature) gets access tokens and sends them: [`client::OAuthClient`].
//! * `server` (feature `server`) verifies access tokens in a tower layer: [`server::ProtectedResource`].
//!
//! [`_authorization`] describes the flow, the settings and the security of both sides.
//!
//! # Modules
//!
//! Each imports only from those above it in this list:
//!
//! * [`jose`] signs and verifies JSON Web Tokens.
//! * `util` has time and random text.
//! * [`challenge`] reads and writes `WWW-Authenticate`, and [`metadata`] describes resources and authorization servers.
//! * [`fetch`] requests metadata and tokens, and refuses URLs that could reach internal machines.
//! * [`dpop`] creates proofs of possession.
//! * [`store`] keeps credentials.
//! * [`client`] and [`server`] are the entry points for applications.

#[doc = include_str!("../docs/authorization.md")]
pub mod _authorization {}
pub mod challenge;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "client")]
pub mod dpop;
pub mod fetch;
pub mod jose;
pub mod metadata;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "client")]
pub mod store;
#[cfg(any(feature = "client", feature = "server"))]
mod util;
