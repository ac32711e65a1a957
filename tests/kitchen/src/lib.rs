//! Schemas of our own that use everything the generator's grammar accepts, each as the module generated from it.
//!
//! The official revisions use a part of that grammar only. What stands here is nobody's protocol: it is whatever a
//! schema can say, so that the generator is proved on what may come.

#![deny(warnings, missing_docs)]

include!(concat!(env!("OUT_DIR"), "/modules.rs"));

pub mod decisions;
pub mod registry;
