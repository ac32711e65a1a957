//! OAuth authorization for `mcpgen-sdk`: clients that obtain access tokens, and servers that verify them.
//!
//! * `client` (default feature) gets access tokens and sends them: [`client::OAuthClient`].
//! * `server` (feature `server`) verifies access tokens in a tower layer: [`server::ProtectedResource`].
//!
//! [`_authorization`] describes the flow, the settings and the security of clients and servers.
//!
//! # Modules
//!
//! Each module imports only from those above it:
//!
//! * [`jose`] signs and verifies JSON Web Tokens.
//! * `util` has time, random text and hashes.
//! * [`fetch`] requests metadata and tokens, and rejects URLs that could lead to internal machines.
//! * [`challenge`] reads and writes `WWW-Authenticate`. [`metadata`] describes resources and authorization servers.
//! * [`dpop`] creates proofs of possession.
//! * [`store`] stores credentials.
//! * [`client`] and [`server`] are what applications use.

#![cfg_attr(docsrs, feature(doc_cfg))]

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
