//! Generates Rust types and method enums from the official JSON schema of a Model Context Protocol revision, and
//! compares schemas.
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
//! Tools can use the stages: [`model`](fn@model) reads the [`Protocol`] from a [`Document`], [`emit`] writes the Rust
//! files, [`diff::diff`] compares two models, and [`inspect::inspect`] describes one. A [`Workspace`] is a project with
//! vendored revisions.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::print_stdout)]

// The stages in order. A module imports only from modules above it, which a test checks.

// Names, escapes and similar names.
mod text;

// Errors, cycles in graphs.
mod error;
mod graph;

// Pages in one file.
#[cfg(feature = "cli")]
mod html;

// JSON values, pointers and lines.
mod json;

// Schema file -> Document -> Normalised.
mod schema;

// Protocol: the model as plain data.
pub mod model;

// Normalised -> Protocol.
mod build;

// Our documentation of the protocol.
mod docs;

// Protocols of all revisions -> their types in one graph, for conversions.
mod conversions;

// Protocol -> Rust files.
mod emit;

// Two models -> findings.
pub mod diff;

// The lists of a server -> findings.
#[cfg(feature = "lists")]
pub mod lists;

// Protocol -> text or JSON.
pub mod inspect;

// All revisions -> a page.
#[cfg(feature = "cli")]
mod site;

// Protocol and documents -> failures.
pub mod validate;

// The workspace with its revisions: import and generate.
mod project;

// The tools of a server -> Rust files.
#[cfg(feature = "lists")]
mod bindings;

// Findings -> reports.
#[cfg(feature = "cli")]
mod report;

// The commands.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;

// For the tests of this workspace.
#[doc(hidden)]
pub mod internals;

#[cfg(feature = "lists")]
pub use bindings::{Bindings, BindingsWritten};
pub use build::model;
pub use docs::DocBook;
pub use emit::{Options, emit};
pub use error::{Error, Problem};
pub use model::Protocol;
pub use project::{Change, Changes, Generated, Generator, Summary, Workspace};
pub use schema::{Dialect, Document, Mapping, ReadOptions};
