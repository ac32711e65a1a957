//! Handler errors.

use std::error::Error;
use std::iter::successors;

use mcpgen_runtime::CallError;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::util::error_chain;
use mcpgen_types::codec::{Encode, Node};
use mcpgen_types::v2026_07_28::InputRequiredResult;
use mcpgen_types::{ErrorCode, ErrorObject};
use tower::BoxError;

use super::input_error::{InputError, InputRejected, InputRequired};
use crate::protocol::ContextExt;

/// A tool's error.
///
/// Every error type converts into it, and so do text, boxed errors and `anyhow::Error`. The messages of the error and
/// its sources become the tool's result, with `is_error` set, so that the model can correct its call. An
/// [`ErrorObject`] becomes the error response instead.
///
/// Only tools can report failures to a model. Other handlers return any error that converts into [`BoxError`]: an
/// [`ErrorObject`] becomes the response; anything else is logged, and the client only learns that there was an internal
/// error.
#[derive(Debug)]
pub struct ToolError(pub(super) Failure);

/// What a tool's function returns. It names the error type that the `?` operator needs.
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

/// What a handler's error becomes.
#[derive(Debug)]
pub(super) enum Failure {
    /// A failed tool result, or an internal error.
    Failed(BoxError),
    /// An error response.
    Response(ErrorObject),
    /// A request for input from the client.
    InputRequired(Box<InputRequiredResult>),
}

impl ToolError {
    /// Creates a failure whose message the model sees.
    pub fn failed(message: impl Into<String>) -> Self {
        Self(Failure::Failed(message.into().into()))
    }
}

impl<E: Into<BoxError>> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self(error.into().into())
    }
}

impl From<BoxError> for Failure {
    fn from(error: BoxError) -> Self {
        // An `InputRequired` or `InputRejected` may be wrapped in another error, for example by `anyhow`.
        let first: &(dyn Error + 'static) = &*error;
        for cause in successors(Some(first), |&error| error.source()) {
            if let Some(InputRequired(result)) = cause.downcast_ref() {
                return Self::InputRequired(result.clone());
            }
            if let Some(InputRejected(response)) = cause.downcast_ref() {
                return Self::Response(response.clone());
            }
        }
        match error.downcast::<ErrorObject>() {
            Ok(response) => Self::Response(*response),
            Err(error) => Self::Failed(error),
        }
    }
}

/// Converts the error of a handler other than a tool.
pub(super) fn respond<T>(error: BoxError, context: &Context) -> Result<ResultOrInput<T>, ErrorObject> {
    match error.into() {
        Failure::Failed(error) => {
            if let Some(response) = fault_of_client(&*error) {
                return Err(response);
            }
            let (method, subject) = (context.method(), context.subject());
            tracing::error!(method, subject, error = error_chain(&*error), "a handler failed");
            Err(errors::internal())
        }
        Failure::Response(error) => Err(error),
        Failure::InputRequired(result) => Ok(ResultOrInput::Input(result)),
    }
}

/// If the client is to blame for a failed request for input, returns the error response.
fn fault_of_client(error: &(dyn Error + 'static)) -> Option<ErrorObject> {
    let why = || error_chain(error);
    match error.downcast_ref()? {
        InputError::Answer { .. } => Some(errors::invalid_params_in_words(&why())),
        InputError::Call(CallError::NotAllowed(_)) => Some(ErrorObject::new(ErrorCode::INVALID_REQUEST, why())),
        _ => None,
    }
}

/// Converts the error of a handler whose response cannot ask for input.
pub(super) fn error_response(error: BoxError, context: &Context) -> ErrorObject {
    match respond(error, context) {
        Err(error) => error,
        Ok(ResultOrInput::Result(()) | ResultOrInput::Input(_)) => errors::internal(),
    }
}

/// A result, or a request for the input that it depends on.
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
