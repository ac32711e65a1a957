//! Input requests: a server's requests to the client in a result (2026-07-28).

use mcpgen_runtime::CallError;
use mcpgen_types::v2026_07_28::InputRequest;
use mcpgen_types::{ErrorObject, Json, JsonObject, Map};

/// The server requests input that this client does not provide. An error of calls, see
/// [`CallError::downcast_ref`](mcpgen_runtime::CallError::downcast_ref).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("cannot provide the input that the server requests with {method}")]
#[non_exhaustive]
pub struct InputNotProvided {
    /// The method of the server's input request.
    pub method: String,
    /// The reason why the client does not provide it.
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

/// Returns the method and the params of an input request.
#[must_use]
pub fn method_and_params(request: &InputRequest) -> (String, Option<JsonObject>) {
    let request = Json::from(request);
    let method = request.get("method").and_then(|method| method.as_str()).unwrap_or_default().into_owned();
    (method, request.get("params").and_then(|params| JsonObject::try_from(params).ok()))
}
