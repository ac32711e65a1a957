//! From the official JSON schema of a Model Context Protocol revision to Rust types and method enums.
//!
//! The pipeline, one stage a line; each stage has one type, in one file:
//!
//! ```text
//! schema.json -> Document -> Normalised -> Protocol -> Items -> Files
//! ```
//!
//! From a build script, [`Generator`] runs all of it:
//!
//! ```no_run
//! # fn main() -> Result<(), mcpgen::Error> {
//! mcpgen::Generator::new("schema.json", "my-revision").build_script("protocol")?;
//! # Ok(())
//! # }
//! // in the crate: include!(concat!(env!("OUT_DIR"), "/protocol.include.rs"));
//! ```

#![warn(clippy::print_stdout)]

pub mod algebra;
pub mod area;
pub mod build;
pub mod conservation;
pub mod decision;
pub mod diff;
pub mod document;
pub mod error;
pub mod files;
pub mod fixups;
pub mod generate;
pub mod graph;
pub mod import;
pub mod inspect;
pub mod items;
pub mod json;
mod layout;
pub mod lower;
pub mod manifest;
pub mod method_facts;
pub mod methods;
pub mod naming;
pub mod normalise;
pub mod prose;
pub mod protocol;
pub mod schema;
mod share;
mod titles;
pub mod typify;
pub mod workspace;
pub mod write;

use std::collections::BTreeMap;

pub use document::Document;
pub use error::{Error, Problem};
pub use generate::Generator;
pub use items::Options;
pub use protocol::Protocol;

/// The model of a revision: stages 1 to 3. `released` revisions must give every fixup its place.
///
/// # Errors
/// [`Error::Schema`] with everything that is not understood.
pub fn model(document: Document, revision: &str, released: bool) -> Result<Protocol, Error> {
    let normalised = normalise::normalise(document, revision, released)?;
    build::build(normalised, revision)
}

/// The code of a revision: stages 4 and 5. File name to text.
///
/// # Errors
/// [`Error::Emit`], which is a defect of mcpgen, or [`Error::Usage`] if `options.support` is no path.
pub fn emit(protocol: &Protocol, options: &Options) -> Result<BTreeMap<String, String>, Error> {
    share::emit(protocol, options, share::threads())
}
