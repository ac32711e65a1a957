//! Modules generated from schemas that use everything the generator's grammar accepts.
//!
//! The official revisions use only a part of that grammar. These schemas belong to no real protocol. They test what
//! future revisions may contain.

#![deny(warnings, missing_docs)]

include!(concat!(env!("OUT_DIR"), "/modules.rs"));

pub mod decisions;
pub mod registry;
