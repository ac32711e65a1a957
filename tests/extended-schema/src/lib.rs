//! Types of a schema that extends revision 2026-07-28. Only what the schema adds or changes is generated.

#![deny(warnings, missing_docs)]

include!(concat!(env!("OUT_DIR"), "/acme.include.rs"));
include!(concat!(env!("OUT_DIR"), "/jobs.include.rs"));

/// Runs the programs in own-schemas.md.
#[cfg(doctest)]
#[doc = include_str!("../../../codegen/docs/own-schemas.md")]
struct OwnSchemas;
