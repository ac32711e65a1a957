//! Modules generated from contracts of other protocols.

#![deny(warnings, missing_docs)]

include!(concat!(env!("OUT_DIR"), "/modules.rs"));
