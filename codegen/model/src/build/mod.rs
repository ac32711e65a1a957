//! Builds the model from the normal form. `builder` creates the types with help from `fingerprint` (equal schemas),
//! `unions` (decisions), `exact` (their proofs) and `message_sets`. `labels` and `names` name everything, `boxes`
//! breaks cycles, `methods` pairs requests with results, `areas` distributes types over files, and `shared` finds types
//! that an extension has in common with a revision.

pub mod areas;
mod boxes;
mod builder;
mod exact;
mod fingerprint;
mod labels;
mod message_sets;
mod methods;
mod names;
mod shared;
mod unions;

pub use builder::{build, model};
pub use shared::extend;
