//! Generates Rust types and method enums from the JSON schema of a Model Context Protocol revision.
//!
//! In a build script, use [`Generator`]:
//!
//! ```no_run
//! # fn main() -> Result<(), mcpgen::Error> {
//! mcpgen::Generator::new("schema.json", "my-revision").build_script("protocol")?;
//! # Ok(())
//! # }
//! // in the crate: include!(concat!(env!("OUT_DIR"), "/protocol.include.rs"));
//! ```
//!
//! Tools can use the stages directly, each in its own crate: [`mcpgen_schema`] reads a [`Document`], [`mcpgen_model`]
//! builds the [`Protocol`], [`emit`] writes Rust files, and `mcpgen_diff` compares two models. A [`Workspace`] is a
//! project with vendored revisions.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::print_stdout)]

// A module imports only from those above it, which a test checks.

// Protocol -> Rust files.
mod emit;

// Files -> a folder, or the differences from it.
mod write;

mod build_script;

// One schema -> Rust files.
mod generator;

// The tools of a server -> Rust files.
mod bindings;

// For clones of this repository.
pub mod vendored;

pub use bindings::{Bindings, BindingsWritten};
pub use emit::{MARK, Options, emit};
pub use generator::{Generated, Generator, SUPPORT, Summary};
pub use mcpgen_model::{DocBook, Mapping, Protocol, model};
pub use mcpgen_schema::{Dialect, Document, Error, Problem, ReadOptions};
pub use vendored::Workspace;
pub use write::{Change, Changes};
