//! Schemas. `document` reads a file, `dialect` describes its dialect, and `fixups` corrects known defects. `references`
//! finds definitions and the targets of references, which `uri` resolves. `lower` translates keywords into the normal
//! form (`normal`, with `limits`), `lower_types` those that apply to one JSON type. `algebra` compares the values that
//! schemas accept. `normalise` runs all steps.
//!
//! `check` defines and evaluates checks: the assertions that Rust types do not express. `lower_checks` reports problems
//! in them, and `compile` creates them from a schema. `failure` describes a violation. `mapping` reads the
//! messages that a schema does not list.

pub(crate) mod algebra;
pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod dialect;
pub(crate) mod document;
pub(crate) mod failure;
pub(crate) mod fixups;
pub(crate) mod json_types;
mod limits;
pub(crate) mod lower;
mod lower_checks;
mod lower_types;
pub(crate) mod mapping;
pub(crate) mod normal;
pub(crate) mod normalise;
pub(crate) mod references;
mod uri;

pub use dialect::Dialect;
pub use document::{Document, ReadOptions};
pub use mapping::Mapping;
pub use normalise::facts_only;
