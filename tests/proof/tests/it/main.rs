//! Tests across crates. They are one binary because linking takes long.

mod api;
mod convert;
mod corpus;
mod diff;
mod docs;
mod envelope;
mod errors;
mod generate;
mod hostile;
mod judge;
mod layers;
mod lists;
mod methods;
mod mutation;
mod proof;
mod requirements;
mod serde_json_features;
mod tables;
mod tomorrow;
