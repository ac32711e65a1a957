//! From the official JSON schema of a Model Context Protocol revision to Rust types and method enums.
//!
//! From a build script, [`Generator`] does everything:
//!
//! ```no_run
//! # fn main() -> Result<(), mcpgen::Error> {
//! mcpgen::Generator::new("schema.json", "my-revision").build_script("protocol")?;
//! # Ok(())
//! # }
//! // in the crate: include!(concat!(env!("OUT_DIR"), "/protocol.include.rs"));
//! ```
//!
//! A tool can use the stages. [`model`](fn@model) reads the [`Protocol`] from a [`Document`], [`emit`] writes the Rust
//! files, [`diff::diff`] compares two models, and [`inspect::inspect`] describes one. A [`Workspace`] is a project with
//! vendored revisions.

#![warn(clippy::print_stdout)]

// The stages in order. A module imports only from those above it.
mod build;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod diff;
mod docs;
mod emit;
mod error;
mod graph;
pub mod inspect;
mod json;
pub mod model;
mod project;
#[cfg(feature = "cli")]
mod report;
mod schema;
mod text;

#[doc(hidden)]
pub mod internals;

pub use build::model;
pub use docs::DocBook;
pub use emit::{Options, emit};
pub use error::{Error, Problem};
pub use model::Protocol;
pub use project::{Change, Changes, Generated, Generator, Summary, Workspace};
pub use schema::{Dialect, Document};
