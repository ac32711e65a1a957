//! The error type of tools, prompts and resources.

use mcpgen_runtime::util::error_chain;
use mcpgen_types::codec::{Encode, Node};
use mcpgen_types::v2026_07_28::InputRequiredResult;
use mcpgen_types::{ErrorCode, ErrorObject};
use tower::BoxError;

/// The error type of tools, prompts and resources.
///
/// Every error type converts into it, and so do text, boxed errors and `anyhow::Error`. A tool reports the messages of the error and its sources in its result, with
/// `is_error` set, so that the model can correct its call. A prompt or resource responds with an error instead. An
/// [`ErrorObject`] always becomes the error response to the request.
#[derive(Debug)]
pub struct ToolError(pub(super) Failure);

/// The result of a tool's function. It names the error type, which the operator `?` needs.
///
/// ```
/// use mcpgen_sdk::prelude::*;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Parse {
///     number: String,
/// }
///
/// async fn parse(Args(Parse { number }): Args<Parse>) -> ToolResult<i64> {
///     Ok(number.parse()?)
/// }
///
/// let server = Server::builder("numbers", "1.0.0").tool("parse", parse).build();
/// # let _ = server;
/// ```
pub type ToolResult<T> = Result<T, ToolError>;

#[derive(Debug)]
pub(super) enum Failure {
    /// A failed result, for the model.
    Message(String),
    /// An error response, for the client.
    Response(ErrorObject),
    /// A request for input from the client.
    InputRequired(Box<InputRequiredResult>),
}

impl ToolError {
    /// Creates a failure that is reported to the model, with this message.
    pub fn failed(message: impl Into<String>) -> Self {
        Self(Failure::Message(message.into()))
    }

    /// Asks the client for input. The client then sends the request again (2026-07-28).
    #[must_use]
    pub fn input_required(result: InputRequiredResult) -> Self {
        Self(Failure::InputRequired(Box::new(result)))
    }

    /// Converts the error of a handler other than a tool. Its result cannot report a failure, so that a failure becomes
    /// an error response.
    pub(super) fn into_response<T>(self) -> Result<ResultOrInput<T>, ErrorObject> {
        match self.0 {
            Failure::Message(message) => Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, message)),
            Failure::Response(error) => Err(error),
            Failure::InputRequired(result) => Ok(ResultOrInput::Input(result)),
        }
    }
}

impl<E: Into<BoxError>> From<E> for ToolError {
    fn from(error: E) -> Self {
        match error.into().downcast::<ErrorObject>() {
            Ok(error) => Self(Failure::Response(*error)),
            Err(error) => Self(Failure::Message(error_chain(&*error))),
        }
    }
}

/// A result, or a request for input that is required first.
pub(super) enum ResultOrInput<T> {
    Result(T),
    Input(Box<InputRequiredResult>),
}

impl<T: Encode> Encode for ResultOrInput<T> {
    fn encode(&self) -> Node<'_> {
        match self {
            Self::Result(result) => result.encode(),
            Self::Input(input) => input.encode(),
        }
    }
}
