//! The Model Context Protocol on top of `mcpgen-runtime`: its rules, servers and clients.
//!
//! Applications depend on `mcpgen-sdk`, which re-exports this crate.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![allow(deprecated, reason = "the runtime still supports what the newest revision deprecates")]

pub mod client;
pub mod expiring_map;
pub mod protocol;
mod random;
pub mod replicas;
pub mod server;
pub mod telemetry;
pub mod tree;
pub mod validation;

/// The newest revision's types, which servers and clients use on connections of any revision.
#[doc(no_inline)]
pub use mcpgen_types::v2026_07_28 as types;

pub use client::{Client, ClientBuilder, connect};
pub use protocol::extension::Extension;
pub use protocol::info::LocalInfo;
pub use server::{Server, ServerBuilder, serve};
pub use tower::BoxError;
