//! Reads JSON Schema in any dialect, normalises it, evaluates it, and compares two schemas.
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
//! Each stage has its own file:
//!
//! ```text
//! file -> read -> Document -> References -> lower -> Schema, Check -> algebra -> Normalised
//! ```
//!
//! `read` loads a [`Document`] in its [`Dialect`], along with the files it references. `references` finds definitions
//! and the targets of references, resolving URIs with `uri`; `metaschemas` holds the standard's own schemas. `lower`
//! walks the `keywords` once and yields two forms of each schema: the normal form ([`normal`], with `limits`) and the
//! check ([`check`]). [`algebra`] intersects and compares normal forms. [`normalise()`] runs all stages; [`checks()`]
//! stops at the checks.
//!
//! A check contains every assertion of its schema. The normal form is shaped like a Rust type, and keeps only those
//! checks that such a type cannot express. [`evaluate`] runs checks on a document, and [`failure`] words the
//! violations. [`guard`] selects a union's variant. [`containment`] compares two checks, returning a proof or witness.

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
