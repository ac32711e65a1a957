//! Input requests, which a server puts in a result to ask the client for input (2026-07-28).

use mcpgen_runtime::CallError;
use mcpgen_types::v2026_07_28::InputRequest;
use mcpgen_types::{ErrorObject, Json, JsonObject, Map};

/// The server asks for input that this client does not provide. Find it with
/// [`CallError::downcast_ref`](mcpgen_runtime::CallError::downcast_ref).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("cannot provide the input that the server requests with {method}")]
#[non_exhaustive]
pub struct InputNotProvided {
    /// The method of the server's input request.
    pub method: String,
    /// Why the client does not provide it.
    #[source]
    pub error: ErrorObject,
}

impl From<InputNotProvided> for CallError {
    fn from(error: InputNotProvided) -> Self {
        Self::Protocol(Box::new(error))
    }
}

/// The client's responses to input requests, by key.
pub type InputByKey = Map<String, Json>;

/// Returns an input request's method and params.
#[must_use]
pub fn method_and_params(request: &InputRequest) -> (String, Option<JsonObject>) {
    let request = Json::from(request);
    let method = request.get("method").and_then(|method| method.as_str()).unwrap_or_default().into_owned();
    (method, request.get("params").and_then(|params| JsonObject::try_from(params).ok()))
}
