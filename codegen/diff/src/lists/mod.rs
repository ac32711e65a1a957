//! Compares the lists of a server: tools, resources, resource templates and prompts.
//!
//! ```text
//! Snapshot (old) ─┐
//!                 ├─ compare ─ findings, each by one rule of `rules/lists.toml`, `trust.toml` or `schemas.toml`
//! Snapshot (new) ─┘
//! ```
//!
//! Clients send arguments and servers send results, so the same change to both has opposite effects. The verdicts are
//! for those who use the old lists with the new server: a model or a client that remembers them, and a program with
//! recorded calls.
//!
//! `hints` compares what tools promise, `schemas` compares two schemas, and `annotations` compares what models read.
//! `trust` finds changes that affect whether to trust a tool, with `permissions` and `secrets`, and `renames`
//! recognises renamed tools. `compare` combines all of these.

mod annotations;
mod compare;
mod found;
mod hints;
mod permissions;
mod renames;
mod schemas;
mod secrets;
mod trust;

pub use compare::compare as diff;
#[cfg(feature = "report")]
pub(crate) use found::excerpt;
