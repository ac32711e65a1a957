//! Tool calls with typed arguments and results. The functions that `mcpgen bindings` writes use them.

use mcpgen_runtime::peer::CallError;
use mcpgen_runtime::router::RequestService;
use mcpgen_types::codec::{Decode, Encode};
use mcpgen_types::v2026_07_28::{CallToolResult, ContentBlock};
use mcpgen_types::{Error, Json, JsonObject};

use super::handle::Client;

/// A result of a tool with an output schema.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StructuredResult<T> {
    /// The structured content.
    pub structured: T,
    /// The whole result, which includes the content for models.
    pub result: CallToolResult,
}

/// The reason why a typed tool call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TypedCallError {
    /// The call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The arguments are not a JSON object.
    #[error("the arguments of the tool `{tool}` are not a JSON object; use a type that is encoded as one")]
    Arguments {
        /// The name of the tool.
        tool: String,
    },
    /// The tool failed.
    #[error("the tool `{tool}` failed: {}", text(result))]
    Tool {
        /// The name of the tool.
        tool: String,
        /// The result, whose content describes the failure.
        result: Box<CallToolResult>,
    },
    /// The result has no structured content.
    #[error("the result of the tool `{tool}` has no structured content; read its content instead")]
    NoStructuredContent {
        /// The name of the tool.
        tool: String,
        /// The result.
        result: Box<CallToolResult>,
    },
    /// The structured content does not have the expected type. The server may have changed the tool's output schema.
    #[error("the structured content of the tool `{tool}` is invalid: {source}")]
    StructuredContent {
        /// The name of the tool.
        tool: String,
        /// The result.
        result: Box<CallToolResult>,
        /// The problem.
        source: Error,
    },
}

impl<S: RequestService> Client<S> {
    /// Calls a tool with typed arguments, like [`call_tool`](Self::call_tool).
    ///
    /// # Errors
    ///
    /// Returns an error if the call or the tool fails.
    pub async fn call_tool_with<A: Encode + ?Sized>(
        &self,
        name: &str,
        arguments: &A,
    ) -> Result<CallToolResult, TypedCallError> {
        let tool = || name.to_owned();
        let Ok(arguments) = JsonObject::try_from(Json::from(arguments)) else {
            return Err(TypedCallError::Arguments { tool: tool() });
        };
        let result = self.call_tool(name, arguments).await?;
        match result.is_error {
            Some(true) => Err(TypedCallError::Tool { tool: tool(), result: Box::new(result) }),
            _ => Ok(result),
        }
    }

    /// Calls a tool with typed arguments, and decodes the structured content of its result.
    ///
    /// # Errors
    ///
    /// Returns an error if the call or the tool fails, or if the structured content is absent or invalid.
    pub async fn call_tool_structured<A: Encode + ?Sized, T: Decode>(
        &self,
        name: &str,
        arguments: &A,
    ) -> Result<StructuredResult<T>, TypedCallError> {
        let result = self.call_tool_with(name, arguments).await?;
        let tool = name.to_owned();
        let Some(content) = &result.structured_content else {
            return Err(TypedCallError::NoStructuredContent { tool, result: Box::new(result) });
        };
        match content.decode() {
            Ok(structured) => Ok(StructuredResult { structured, result }),
            Err(source) => Err(TypedCallError::StructuredContent { tool, result: Box::new(result), source }),
        }
    }
}

/// Returns the text of a result.
fn text(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::TextContent(text) => Some(text.text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    if text.is_empty() { "its result has no text".to_owned() } else { text }
}
