//! Checks tool arguments and results against their schemas. `mcpgen-validate` implements [`Validator`].

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use mcpgen_types::v2026_07_28::CallToolResult;
use mcpgen_types::{Json, Value};
use tower::BoxError;

/// Compiles JSON schemas.
pub trait Validator: Send + Sync + 'static {
    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// Fails if the value is not a schema, or if checking values against it would cost too much.
    fn compile(&self, schema: &Value) -> Result<Arc<dyn CompiledSchema>, BoxError>;
}

impl fmt::Debug for dyn Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validator").finish_non_exhaustive()
    }
}

/// A compiled JSON schema.
pub trait CompiledSchema: Send + Sync + 'static {
    /// Checks a value.
    fn check<'a>(&'a self, json: &'a Json) -> BoxFuture<'a, Verdict>;
}

/// The outcome of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The value matches the schema.
    Valid,
    /// The value does not match the schema. Lists the first few errors.
    Invalid(String),
    /// The check took too long, so the value may or may not be valid.
    Unfinished,
    /// The value is too large to check.
    TooLarge,
}

/// Checks a result's structured content against the tool's output schema. The result of a failed call is not checked.
pub(crate) async fn check_content(schema: &dyn CompiledSchema, result: &CallToolResult) -> Verdict {
    if result.is_error == Some(true) {
        return Verdict::Valid;
    }
    let Some(content) = &result.structured_content else {
        return Verdict::Invalid("missing; the tool has an outputSchema".to_owned());
    };
    schema.check(content).await
}
