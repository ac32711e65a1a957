//! Validates the arguments and results of tools against their schemas. Schemas that refer to other documents are
//! rejected, so nothing is fetched.
//!
//! `schemas` has the schemas of a tool, and `schema` compiles one. Before that, `rewrite` adds keywords that count the
//! work of a check, and `budget` ends a check with too much work. `graph`, `size` and `pattern` measure a schema.

mod budget;
mod error;
mod graph;
mod pattern;
mod rewrite;
mod schema;
mod schemas;
mod size;

pub(crate) use schemas::OutputSchema;
pub(super) use schemas::Schemas;
