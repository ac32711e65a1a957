//! What a tool can return.

use mcpgen_types::v2026_07_28::{CallToolResult, ContentBlock, TextContent};
use mcpgen_types::{Json, JsonObject};
use serde::Serialize;

use super::schema::schema_of;
use super::tool_error::ToolError;

/// What a tool can return: text, numbers, [`ContentBlock`]s, [`Structured`] content, a [`CallToolResult`], nothing, or
/// a `Result` of any of these with any error.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "the function of this tool returns `{Self}`",
    note = "return text, a number, `Vec<ContentBlock>`, `CallToolResult`, or `Structured(value)` for a type that \
            implements `Serialize` and `JsonSchema`",
    note = "to report failures, return a `Result` of one of these whose error is text, an error, \
            `Box<dyn Error + Send + Sync>` or `ToolError`"
)]
pub trait IntoToolResult {
    /// Converts to the call's result.
    ///
    /// # Errors
    ///
    /// Fails if the tool failed, if it needs input from the client, or if its value cannot be serialized as JSON.
    fn into_tool_result(self) -> Result<CallToolResult, ToolError>;

    /// Returns the JSON Schema of the structured content. `None` if a result may lack structured content.
    #[must_use]
    fn output_schema() -> Option<JsonObject>
    where
        Self: Sized,
    {
        None
    }
}

impl IntoToolResult for CallToolResult {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(self)
    }
}

impl IntoToolResult for Vec<ContentBlock> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::new(self))
    }
}

impl IntoToolResult for ContentBlock {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        vec![self].into_tool_result()
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Vec::<ContentBlock>::new().into_tool_result()
    }
}

pub(super) fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::new(vec![TextContent::new(text).into()])
}

macro_rules! as_text {
    ($($type:ty),*) => {$(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
                Ok(text(self.to_string()))
            }
        }
    )*};
}

as_text!(&str, bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64, char);

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(text(self))
    }
}

impl<T: IntoToolResult, E: Into<ToolError>> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        self.map_err(Into::into)?.into_tool_result()
    }

    fn output_schema() -> Option<JsonObject> {
        T::output_schema()
    }
}

/// Structured content. For clients that do not support it, the result also contains it as JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structured<T>(pub T);

fn structured<T: Serialize>(value: &T) -> Result<CallToolResult, ToolError> {
    let value = Json::serialize(value)?;
    let mut result = text(value.to_string());
    result.structured_content = Some(value);
    Ok(result)
}

impl<T: Serialize + schemars::JsonSchema> IntoToolResult for Structured<T> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        structured(&self.0)
    }

    fn output_schema() -> Option<JsonObject> {
        Some(schema_of::<T>(schemars::generate::SchemaSettings::draft2020_12().for_serialize()).into())
    }
}
