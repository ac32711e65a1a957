//! Builds the model from the normal form. `builder` creates the types, `message_sets` the unions of all messages of a side,
//! `fingerprint` finds equal schemas, `unions` finds the decision of each union, `exact` proves it, `labels` names values
//! and alternatives, `names` types and variants, `boxes` breaks cycles, `methods` pairs requests with results, `areas` assigns types
//! to files, and `shared` finds the types that an extension shares with a revision.

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
