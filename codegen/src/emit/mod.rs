//! Writes Rust files from the model. `module` emits a revision on several threads, one file per area, such as `tools`.
//! For each area, `emitter` emits items, `scope` resolves names and `file` formats items. `declarations` is for macros.
//! Each shape of a type has its own file.
//!
//! `exports` computes the names that each area exports, `rust_type` resolves type expressions with typify, and
//! `methods`, `revisions`, `extensions` and `conversions` write the files that all modules share.

mod aliases;
mod blanks;
mod bounded;
mod checks;
pub(crate) mod comments;
pub(crate) mod conversions;
mod declarations;
mod docs;
mod emitter;
mod enums;
mod exports;
pub(crate) mod extensions;
pub(crate) mod file;
mod json_schema;
mod messages;
pub(crate) mod methods;
pub(crate) mod module;
mod options;
pub(crate) mod parallel;
pub(crate) mod revisions;
mod rust_type;
mod scope;
mod structs;
mod tokens;
mod tuples;
mod unions;

pub(crate) use emitter::Emitter;
pub use file::MARK;
pub use module::emit;
pub use options::Options;
pub(crate) use tokens::{ident, literal, number_literal};
