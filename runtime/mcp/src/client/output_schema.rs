//! Checks tool results against their output schemas.

use std::sync::Arc;

use mcpgen_types::Json;
use mcpgen_types::v2026_07_28::{CallToolResult, Tool};

use crate::tree::tree;
use crate::validation::{CompiledSchema, Validator, Verdict, check_content};

pub(crate) struct OutputSchema(Arc<dyn CompiledSchema>);

impl OutputSchema {
    /// Compiles a tool's output schema. `None` if the tool has none, or if the schema is rejected, which is logged.
    pub(crate) async fn of(tool: &Tool, validator: Arc<dyn Validator>) -> Option<Self> {
        let Some(value) = tree(&Json::from(tool.output_schema.as_ref()?)) else {
            tracing::warn!(tool = tool.name, "outputSchema is too large; results are not validated");
            return None;
        };
        // Compiling a large schema would block the thread.
        let compiled = tokio::task::spawn_blocking(move || validator.compile(&value)).await.ok()?;
        match compiled {
            Ok(schema) => Some(Self(schema)),
            Err(error) => {
                tracing::warn!(tool = tool.name, %error, "outputSchema is rejected; results are not validated");
                None
            }
        }
    }

    /// Validates a result's structured content and returns the result.
    ///
    /// # Errors
    ///
    /// Fails, with a message for people, if the content does not match the schema or cannot be checked within limits.
    pub(crate) async fn check(&self, result: CallToolResult) -> Result<CallToolResult, String> {
        match check_content(&*self.0, &result).await {
            Verdict::Valid => Ok(result),
            Verdict::Invalid(errors) => Err(errors),
            Verdict::Unfinished => Err("checking it against the tool's outputSchema took too long".to_owned()),
            Verdict::TooLarge => Err("it is too large to be checked against the tool's outputSchema".to_owned()),
        }
    }
}

impl std::fmt::Debug for OutputSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutputSchema").finish_non_exhaustive()
    }
}
