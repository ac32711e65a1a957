//! The Streamable HTTP transport: the client POSTs each message, and the HTTP response carries the server's response.
//!
//! In revisions up to 2025-11-25, a client opens a session with `initialize` and can resume interrupted streams. Since
//! 2026-07-28 there are no sessions: every request is self-contained, and its headers repeat parts of the body so that
//! intermediaries can route it without parsing. [`server`] serves all revisions on one endpoint. [`client`] detects
//! which of them a server supports.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
pub mod client;
pub mod headers;
#[cfg(feature = "server")]
pub mod server;
