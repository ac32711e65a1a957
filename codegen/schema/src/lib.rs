//! Reads JSON Schema, brings it into one normal form, and evaluates it.
//!
//! ```
//! # fn main() -> Result<(), mcpgen_schema::Error> {
//! use mcpgen_schema::{Document, normalise};
//!
//! let schema = br#"{"$defs": {"Port": {"type": "integer", "maximum": 65535}}}"#;
//! let normalised = normalise(Document::parse("ports.json", schema)?)?;
//! assert_eq!(normalised.definitions.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! The stages, each in its file:
//!
//! ```text
//! file -> read -> Document -> References -> lower -> Schema, Check -> algebra -> Normalised
//! ```
//!
//! `read` reads a [`Document`] in a [`Dialect`], with the files that its references lead to. `references` finds its
//! definitions and the targets of references, which `uri` resolves; those to the standard's own schemas lead to
//! `metaschemas`. `lower` reads the keywords, which `keywords` lists: one walk yields the normal form of a schema
//! ([`normal`], with `limits`) and its check ([`check`]). [`algebra`] compares the values that schemas accept.
//! [`normalise()`] runs all of these, and [`checks()`] only reads the checks.
//!
//! The check of a schema contains all its assertions, its normal form only those checks that types do not express.
//! [`evaluate`] evaluates checks on a document, and [`failure`] describes a violation. [`guard`] defines the guards
//! that select the variant of a union. [`containment`] compares checks, and gives a proof or a witness.

#![warn(clippy::print_stdout)]

pub mod text;

mod error;
pub mod graph;

pub mod json;

pub mod algebra;
pub mod check;
pub mod containment;
mod dialect;
mod document;
pub mod evaluate;
pub mod failure;
pub mod guard;
mod json_types;
mod keywords;
mod limits;
mod lower;
mod metaschemas;
pub mod normal;
mod normalise;
mod read;
mod references;
mod uri;

pub use dialect::Dialect;
pub use document::{Document, MAX_BYTES, ReadOptions, pointers_exceed};
pub use error::{Error, Problem};
pub use json::Json;
pub use json_types::JsonTypes;
pub use keywords::is_keyword;
pub use normalise::{Checks, Normalised, checks, facts_only, normalise};
