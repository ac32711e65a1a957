//! From the model to Rust files. `module` emits a revision, its areas on several threads. For each area, the `emitter`
//! emits items with absolute paths, one file for each shape, `imports` shortens the paths, and `file` formats the items,
//! with `declarations` for the macros of the codec and `width` for long lines.
//!
//! `exports` knows what each area exports before anything is emitted, `rust_type` asks typify for the type of an
//! expression, and `methods` and `revisions` are the two files that all revisions share.

mod aliases;
mod blanks;
mod bounded;
mod checks;
mod declarations;
mod docs;
mod emitter;
mod enums;
mod exports;
pub(crate) mod file;
mod imports;
mod json_schema;
mod messages;
pub(crate) mod methods;
pub(crate) mod module;
mod options;
pub(crate) mod revisions;
mod rust_type;
mod structs;
mod tokens;
mod tuples;
mod unions;
mod width;

pub(crate) use emitter::Emitter;
pub use module::emit;
pub use options::Options;
pub(crate) use tokens::{ident, literal, number_literal};
