//! Modules generated from the groups of the JSON-Schema-Test-Suite and from the schemas of MCP's extensions.

#![deny(warnings, missing_docs)]
#![allow(missing_debug_implementations, reason = "no test prints these types")]
#![allow(clippy::module_inception, reason = "an area may have the name of its schema")]

use mcpgen_types::codec::{Decode, Encode};

include!(concat!(env!("OUT_DIR"), "/modules.rs"));
include!(concat!(env!("OUT_DIR"), "/registry.rs"));

/// A group of tests, and the generated type of its schema.
pub struct Group {
    /// The path of the file.
    pub file: &'static str,
    /// The index of the group in the file.
    pub index: usize,
    /// The dialect of the groups in this folder. A schema may declare another one.
    pub dialect: &'static str,
    /// Decodes a document and encodes it again.
    pub decode: fn(&str) -> Result<String, String>,
}

/// A definition of an extension, and its generated type.
pub struct Definition {
    /// The path of the file.
    pub file: &'static str,
    /// The name of the definition.
    pub name: &'static str,
    /// The JSON pointer of the definition.
    pub pointer: &'static str,
    /// The index of the type in the model.
    pub id: usize,
    /// Whether the type contains a union whose decision can reject what `anyOf` accepts.
    pub overlapping: bool,
    /// Decodes a document and encodes it again.
    pub decode: fn(&str) -> Result<String, String>,
}

fn decode<T: Decode + Encode>(text: &str) -> Result<String, String> {
    mcpgen_types::from_str::<T>(text).map(|value| mcpgen_types::to_string(&value)).map_err(|error| error.to_string())
}
