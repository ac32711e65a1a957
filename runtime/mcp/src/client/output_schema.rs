//! The output schemas of tools.

use std::sync::Arc;

use mcpgen_types::Json;
use mcpgen_types::v2026_07_28::{CallToolResult, Tool};

use crate::tree::tree;
use crate::validation::{CompiledSchema, Validator, Verdict, check_content};

/// The compiled output schema of a tool that a server lists.
pub(crate) struct OutputSchema(Arc<dyn CompiledSchema>);

impl OutputSchema {
    /// Compiles the output schema of a tool. Returns `None` if the tool has no output schema, or if the schema is
    /// rejected, which is logged.
    pub(crate) async fn of(tool: &Tool, validator: Arc<dyn Validator>) -> Option<Self> {
        let Some(value) = tree(&Json::from(tool.output_schema.as_ref()?)) else {
            tracing::warn!(tool = tool.name, "outputSchema is too large; results are not validated");
            return None;
        };
        // Compiling a large schema takes long.
        let compiled = tokio::task::spawn_blocking(move || validator.compile(&value)).await.ok()?;
        match compiled {
            Ok(schema) => Some(Self(schema)),
            Err(error) => {
                tracing::warn!(tool = tool.name, %error, "outputSchema is rejected; results are not validated");
                None
            }
        }
    }

    /// Validates the structured content of a result and returns the result.
    ///
    /// # Errors
    ///
    /// Fails if the content does not match the schema, or if the check takes too long. The message is written for
    /// people.
    pub(crate) async fn check(&self, result: CallToolResult) -> Result<CallToolResult, String> {
        match check_content(&*self.0, &result).await {
            Verdict::Valid => Ok(result),
            Verdict::Invalid(errors) => Err(errors),
            Verdict::Unfinished => Err("checking it against the tool's outputSchema took too long".to_owned()),
            Verdict::TooLarge => Err("it is too large to check it against the tool's outputSchema".to_owned()),
        }
    }
}

impl std::fmt::Debug for OutputSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutputSchema").finish_non_exhaustive()
    }
}
