//! Streamable HTTP: each message of a client is a POST, each answer a response.
//!
//! In the revisions until 2025-11-25 a client has a session, which begins with `initialize`, and streams that it may come
//! back to. Since 2026-07-28 every request stands for itself, and its headers say what its body says, so that whatever is
//! in between needs to read nothing else. [`server`] has both on one endpoint, [`client`] finds out which of the two it is.

#[cfg(feature = "http-client")]
pub mod client;
pub mod headers;
#[cfg(feature = "http-server")]
pub mod server;
mod sse;
