//! JSON-RPC 2.0: messages, error objects and JSON text.

pub mod envelope;
pub mod errors;
pub mod json;
pub(crate) mod reserved_keys;
