//! Schemas: `document` reads a file and its `dialect`, `fixups` corrects known defects, `references` finds definitions
//! and the targets of references by their `uri`, `lower` reads keywords into the normal form (`normal`, with `limits`),
//! and `lower_types` those on values of one type. `algebra` reasons about what schemas accept, and `normalise` does all
//! of it.
//!
//! `check` has the assertions that do not shape a type, as data, and evaluates them. `lower_checks` finds their
//! problems, and `compile` reads them from a schema.
//! `failure` is a violation with its place. `mapping` reads the messages of a protocol whose schema does not list them.

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
