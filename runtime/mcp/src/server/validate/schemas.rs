//! The compiled schemas of tools.

use std::sync::Arc;

use mcpgen_runtime::jsonrpc::json;
use mcpgen_types::v2026_07_28::{CallToolResult, Tool};
use mcpgen_types::{Json, JsonObject, Value};

use super::schema::{Schema, Verdict};
use crate::server::error::DefinitionError;
use crate::server::tool_error::ToolError;

/// The compiled schemas of a tool.
pub(crate) struct Schemas {
    input: Arc<Schema>,
    output: Option<Arc<Schema>>,
}

impl Schemas {
    pub(crate) fn of(tool: &Tool) -> Result<Self, DefinitionError> {
        let compile = |schema: &'static str, value: Value| match Schema::new(&value) {
            Ok(compiled) => Ok(Arc::new(compiled)),
            Err(error) => Err(DefinitionError::Schema { name: tool.name.clone(), schema, source: Arc::new(error) }),
        };
        let output = tool.output_schema.as_ref().map(|schema| mcpgen_types::to_value(schema).unwrap_or_default());
        Ok(Self {
            input: compile("inputSchema", mcpgen_types::to_value(&tool.input_schema).unwrap_or_default())?,
            output: output.map(|schema| compile("outputSchema", schema)).transpose()?,
        })
    }

    /// Validates the arguments of a call and returns them.
    ///
    /// # Errors
    ///
    /// Fails if the arguments are invalid, or if the check takes too long. The message is written for the model.
    pub(crate) async fn check_input(&self, tool: &str, arguments: JsonObject) -> Result<JsonObject, ToolError> {
        match self.input.check(&arguments).await {
            Verdict::Valid => Ok(arguments),
            Verdict::Invalid(errors) => {
                let why = format!("invalid arguments for {tool}: {errors}. Correct them and call the tool again.");
                Err(ToolError::failed(why))
            }
            Verdict::Unfinished => {
                Err(ToolError::failed(format!("{tool}: checking the arguments against inputSchema took too long")))
            }
            Verdict::TooLarge => {
                Err(ToolError::failed(format!("{tool}: the arguments are too large to check them against inputSchema")))
            }
        }
    }

    /// Validates a result and returns it.
    ///
    /// # Errors
    ///
    /// Fails if the result does not match the schema, which is logged and reported as an internal error, or if the
    /// check takes too long.
    pub(crate) async fn check_output(&self, tool: &str, result: CallToolResult) -> Result<CallToolResult, ToolError> {
        let Some(schema) = &self.output else { return Ok(result) };
        match check_content(schema, &result).await {
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
                tracing::error!(tool, "structured content is too large to check it against the tool's outputSchema");
                Err(ToolError::failed(format!("{tool}: the result is too large to check it against outputSchema")))
            }
        }
    }
}

async fn check_content(schema: &Arc<Schema>, result: &CallToolResult) -> Verdict {
    if result.is_error == Some(true) {
        return Verdict::Valid;
    }
    let Some(content) = &result.structured_content else {
        return Verdict::Invalid("missing; the tool has an outputSchema".to_owned());
    };
    schema.check(content).await
}

/// The compiled output schema of a tool that a server lists.
pub(crate) struct OutputSchema(Arc<Schema>);

impl OutputSchema {
    /// Compiles the output schema of a tool. Returns `None` if the tool has no output schema, or if the schema is
    /// rejected, which is logged.
    pub(crate) async fn of(tool: &Tool) -> Option<Self> {
        let Some(value) = json::tree(&Json::from(tool.output_schema.as_ref()?)) else {
            tracing::warn!(tool = tool.name, "outputSchema is too large; results are not validated");
            return None;
        };
        // Compiling a large schema takes long.
        let compiled = tokio::task::spawn_blocking(move || Schema::new(&value)).await.ok()?;
        match compiled {
            Ok(schema) => Some(Self(Arc::new(schema))),
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
        match check_content(&self.0, &result).await {
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
