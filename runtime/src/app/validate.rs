//! Arguments and results of tools against their schemas. Nothing is fetched: a schema that refers to something elsewhere is
//! none.

use jsonschema::Validator;
use mcpgen_types::v2026_07_28::{CallToolResult, Tool};
use mcpgen_types::{JsonObject, Value};

use super::{DefinitionError, ToolError};

/// The schemas of a tool.
pub(super) struct Schemas {
    input: Validator,
    output: Option<Validator>,
}

/// How many faults are told.
const MOST_FAULTS: usize = 5;

impl Schemas {
    pub(super) fn of(tool: &Tool) -> Result<Self, DefinitionError> {
        let compile = |schema: &'static str, value: Value| {
            jsonschema::validator_for(&value).map_err(|error| DefinitionError::Schema {
                name: tool.name.clone(),
                schema,
                why: error.to_string(),
            })
        };
        let output = tool.output_schema.as_ref().map(|schema| mcpgen_types::to_value(schema).unwrap_or_default());
        Ok(Self {
            input: compile("inputSchema", mcpgen_types::to_value(&tool.input_schema).unwrap_or_default())?,
            output: output.map(|schema| compile("outputSchema", schema)).transpose()?,
        })
    }

    /// What the model is told of arguments that do not fit.
    pub(super) fn check_input(&self, tool: &str, arguments: &JsonObject) -> Result<(), ToolError> {
        match faults(&self.input, &Value::Object(arguments.clone())) {
            None => Ok(()),
            Some(faults) => {
                let why = format!("{tool} takes other arguments: {faults}. Correct them and call it again.");
                Err(ToolError::failed(why))
            }
        }
    }

    /// A result that is not what was promised is not sent.
    pub(super) fn check_output(&self, tool: &str, result: &CallToolResult) -> Result<(), ToolError> {
        match self.output.as_ref().and_then(|schema| fault(schema, result)) {
            None => Ok(()),
            Some(fault) => {
                tracing::error!(tool, fault, "structured content that is not of the tool's outputSchema");
                Err(crate::errors::internal().into())
            }
        }
    }
}

/// What is wrong with the structured content of a result of a tool's.
pub(crate) fn output_fault(tool: &Tool, result: &CallToolResult) -> Option<String> {
    let schema = mcpgen_types::to_value(tool.output_schema.as_ref()?).unwrap_or_default();
    match jsonschema::validator_for(&schema) {
        Ok(schema) => fault(&schema, result),
        // A schema that is none says nothing.
        Err(error) => {
            tracing::warn!(tool = tool.name, %error, "an outputSchema that is no schema");
            None
        }
    }
}

fn fault(schema: &Validator, result: &CallToolResult) -> Option<String> {
    if result.is_error == Some(true) {
        return None;
    }
    let content = result.structured_content.as_ref();
    content.map_or_else(|| Some("there is none".to_owned()), |content| faults(schema, content))
}

fn faults(schema: &Validator, value: &Value) -> Option<String> {
    let faults: Vec<String> = schema
        .iter_errors(value)
        .take(MOST_FAULTS)
        .map(|error| match error.instance_path().as_str() {
            "" => error.to_string(),
            path => format!("{path}: {error}"),
        })
        .collect();
    (!faults.is_empty()).then(|| faults.join("; "))
}
