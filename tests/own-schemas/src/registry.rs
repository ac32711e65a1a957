//! The definitions of all schemas, with functions that decode, encode and build values of their types.

use mcpgen_proof::registry::{Entry, argument, insert_extra, optional};
use mcpgen_types::Error;
use serde_json::Value;

include!(concat!(env!("OUT_DIR"), "/registry.rs"));
