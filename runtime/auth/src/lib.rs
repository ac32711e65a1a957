//! OAuth authorization for `mcpgen-runtime`: clients that log in, and servers that verify access tokens.
//!
//! * `client` (default feature) gets access tokens and sends them: [`client::OAuthClient`].
//!
//! # Modules
//!
//! Each imports only from those above it in this list:
//!
//! * `util` has time and random text.
//! * [`jose`] signs and verifies JSON Web Tokens.
//! * [`challenge`] reads and writes `WWW-Authenticate`, and [`metadata`] describes resources and authorization servers.
//! * [`fetch`] requests metadata and tokens, and refuses URLs that could reach internal machines.
//! * [`dpop`] creates proofs of possession.
//! * [`store`] keeps credentials.
//! * [`client`] is the entry point for applications.

pub mod challenge;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "client")]
pub mod dpop;
pub mod fetch;
pub mod jose;
pub mod metadata;
#[cfg(feature = "client")]
pub mod store;
mod util;
