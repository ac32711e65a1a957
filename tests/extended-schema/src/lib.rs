//! Types of a schema that extends revision 2026-07-28: only what the schema adds or changes is generated.

#![deny(warnings, missing_docs)]

include!(concat!(env!("OUT_DIR"), "/acme.include.rs"));

/// Runs the program of the chapter on schemas that extend a revision.
#[cfg(doctest)]
#[doc = include_str!("../../../codegen/docs/own-schemas.md")]
struct OwnSchemas;
