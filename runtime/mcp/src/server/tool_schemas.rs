//! Checks calls against the compiled schemas of tools.

use std::sync::Arc;

use mcpgen_types::v2026_07_28::{CallToolResult, Tool};
use mcpgen_types::{JsonObject, Value};

use super::{DefinitionError, ToolError};
use crate::validation::{CompiledSchema, Validator, Verdict, check_content};

pub(crate) struct Schemas {
    input: Arc<dyn CompiledSchema>,
    output: Option<Arc<dyn CompiledSchema>>,
}

impl Schemas {
    pub(crate) fn of(tool: &Tool, validator: &dyn Validator) -> Result<Self, DefinitionError> {
        let compile = |schema: &'static str, value: Value| {
            let invalid = |error| DefinitionError::Schema { name: tool.name.clone(), schema, source: Arc::from(error) };
            validator.compile(&value).map_err(invalid)
        };
        let output = tool.output_schema.as_ref().map(|schema| mcpgen_types::to_value(schema).unwrap_or_default());
        Ok(Self {
            input: compile("inputSchema", mcpgen_types::to_value(&tool.input_schema).unwrap_or_default())?,
            output: output.map(|schema| compile("outputSchema", schema)).transpose()?,
        })
    }

    /// Validates a call's arguments.
    ///
    /// # Errors
    ///
    /// Returns the error of `invalid` if the arguments are invalid, and another one if they are too large or the check
    /// takes too long. All are for the model.
    pub(crate) async fn check_input(
        &self,
        tool: &str,
        arguments: &JsonObject,
        invalid: impl Fn(&str) -> ToolError,
    ) -> Result<(), ToolError> {
        match self.input.check(arguments).await {
            Verdict::Valid => Ok(()),
            Verdict::Invalid(errors) => Err(invalid(&errors)),
            Verdict::Unfinished => {
                Err(ToolError::failed(format!("{tool}: checking the arguments against inputSchema took too long")))
            }
            Verdict::TooLarge => {
                Err(ToolError::failed(format!("{tool}: the arguments are too large to be checked against inputSchema")))
            }
        }
    }

    /// Validates a result and returns it.
    ///
    /// # Errors
    ///
    /// Fails if the result does not match the schema (logged, and reported as an internal error), if it is too large,
    /// or if the check takes too long.
    pub(crate) async fn check_output(&self, tool: &str, result: CallToolResult) -> Result<CallToolResult, ToolError> {
        let Some(schema) = &self.output else { return Ok(result) };
        match check_content(&**schema, &result).await {
            Verdict::Valid => Ok(result),
            Verdict::Invalid(errors) => {
                tracing::error!(tool, errors, "structured content does not match the tool's outputSchema");
                Err(mcpgen_runtime::jsonrpc::errors::internal().into())
            }
            Verdict::Unfinished => {
                tracing::error!(tool, "checking structured content against the tool's outputSchema took too long");
                Err(ToolError::failed(format!("{tool}: checking the result against outputSchema took too long")))
            }
            Verdict::TooLarge => {
                tracing::error!(tool, "structured content is too large to be checked against the tool's outputSchema");
                Err(ToolError::failed(format!("{tool}: the result is too large to be checked against outputSchema")))
            }
        }
    }
}
