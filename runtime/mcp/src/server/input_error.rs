//! Errors of requests for input.

use mcpgen_runtime::CallError;
use mcpgen_types::ErrorObject;
use mcpgen_types::v2026_07_28::InputRequiredResult;
use tower::BoxError;

use crate::protocol::conversion::ConversionError;

/// Why a handler did not get input from the client.
///
/// Return it with `?`, or as the source of another error: [`Required`](Self::Required) is what asks the client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The client has not sent the input yet (2026-07-28). Returning this error from the handler asks the client, which
    /// then sends the request again.
    #[error("the client has not sent the input yet")]
    Required(#[from] InputRequired),
    /// The client does not support the request, or sent an invalid answer or request state. If the handler returns this
    /// error, it becomes the response.
    #[error("{0}")]
    Rejected(#[from] InputRejected),
    /// The request to the client failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The connection's revision lacks the request or some of its params.
    #[error(transparent)]
    Revision(#[from] ConversionError),
    /// The client's answer does not match the request.
    #[error("the client's answer to {key:?} is not valid")]
    Answer {
        /// The key of the question.
        key: String,
        /// The reason.
        source: BoxError,
    },
    /// The answer's type cannot be turned into a form.
    #[error("{type_name} cannot be a form, whose fields are text, numbers, booleans or options")]
    Form {
        /// The name of the type.
        type_name: &'static str,
        /// The reason.
        source: mcpgen_types::Error,
    },
    /// The handler already asked a question with this key.
    #[error("the key {0:?} is used for two questions; give each question of the function its own key")]
    DuplicateKey(String),
}

/// The response to a client that does not support the question, or sent an invalid answer or request state.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct InputRejected(pub ErrorObject);

impl From<ErrorObject> for InputError {
    fn from(response: ErrorObject) -> Self {
        InputRejected(response).into()
    }
}

/// When a handler returns this error, the client is asked for input (2026-07-28) and sends the request again together
/// with the input.
///
/// [`RequestContext::elicit`](super::RequestContext::elicit) and similar methods return it. Create one yourself if you
/// manage the request state:
///
/// ```
/// use mcpgen_sdk::prelude::*;
/// use mcpgen_sdk::server::InputRequired;
/// use mcpgen_sdk::types::InputRequiredResult;
///
/// async fn wait(context: Context) -> ToolResult<&'static str> {
///     match context.request_state() {
///         Some(_) => Ok("done"),
///         None => Err(InputRequired::new(InputRequiredResult::new().with_request_state("waiting")))?,
///     }
/// }
///
/// let server = Server::builder("patience", "1.0.0").tool("wait", wait).build();
/// # let _ = server;
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[error("the client is asked for input")]
pub struct InputRequired(pub(super) Box<InputRequiredResult>);

impl InputRequired {
    /// Creates an error that sends this result.
    #[must_use]
    pub fn new(result: InputRequiredResult) -> Self {
        Self(Box::new(result))
    }
}
