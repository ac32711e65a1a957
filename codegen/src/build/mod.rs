//! Builds the model from the normal form. `builder` creates the types, `unions` finds the decision of each union,
//! `names` names types and variants, `boxes` breaks cycles, `methods` pairs requests with results, and `areas` assigns
//! types to files.

pub(crate) mod areas;
mod boxes;
mod builder;
mod methods;
mod names;
mod unions;

pub use builder::{build, model};
