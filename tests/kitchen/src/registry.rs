//! Every definition of every schema, with the functions of its Rust type.

use mcpgen_tests::registry::{Entry, argument, insert_extra, optional};
use mcpgen_types::Error;
use serde_json::Value;

include!(concat!(env!("OUT_DIR"), "/registry.rs"));
