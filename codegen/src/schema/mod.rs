//! Schemas: `document` reads a file, `fixups` corrects known defects, `lower` reads keywords into the normal form
//! (`normal`), `algebra` reasons about what schemas accept, and `normalise` does all of it.

pub(crate) mod algebra;
pub(crate) mod document;
pub(crate) mod fixups;
pub(crate) mod json_types;
pub(crate) mod lower;
pub(crate) mod normal;
pub(crate) mod normalise;

pub use document::{Dialect, Document};
pub use normalise::facts_only;
