//! Validates the arguments and results of tools against their schemas.
//!
//! ```
//! use mcpgen_sdk::prelude::*;
//! use mcpgen_validate::JsonSchema;
//! use serde_json::json;
//!
//! let age = ToolInfo::new("age").required_property("years", json!({ "type": "integer", "minimum": 0 }));
//! let server = Server::builder("ages", "1.0.0")
//!     .tool(age, |arguments: JsonObject| async move { format!("{:?}", arguments.get("years")) })
//!     .validate(JsonSchema)
//!     .build();
//! # let _ = server;
//! ```
//!
//! Schemas that refer to other documents are rejected, so nothing is ever fetched. A check may take a few milliseconds
//! on the caller's thread. If it needs longer, it starts again on a thread for blocking work, for up to two seconds.
//!
//! # Files
//!
//! `schema` compiles a schema. First, `rewrite` adds keywords that count a check's work, so that `budget` can stop it.
//! `graph`, `size` and `pattern` measure the schema.

mod budget;
mod error;
mod graph;
mod pattern;
mod rewrite;
mod schema;
mod size;

use std::sync::Arc;

use mcpgen_mcp::validation::{CompiledSchema, Validator};
use mcpgen_types::Value;
use tower::BoxError;

/// A validator for JSON Schema from draft 4 to 2020-12. Never uses the network.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonSchema;

impl Validator for JsonSchema {
    fn compile(&self, schema: &Value) -> Result<Arc<dyn CompiledSchema>, BoxError> {
        Ok(Arc::new(schema::Compiled::new(schema)?))
    }
}
