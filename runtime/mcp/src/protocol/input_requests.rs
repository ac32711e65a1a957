//! Input requests: a server's requests to the client in a result (2026-07-28).

use mcpgen_types::v2026_07_28::InputRequest;
use mcpgen_types::{Json, JsonObject, Map};

/// The client's responses to input requests, by key.
pub type InputByKey = Map<String, Json>;

/// Returns the method and the params of an input request.
#[must_use]
pub fn method_and_params(request: &InputRequest) -> (String, Option<JsonObject>) {
    let request = Json::from(request);
    let method = request.get("method").and_then(|method| method.as_str()).unwrap_or_default().into_owned();
    (method, request.get("params").and_then(|params| JsonObject::try_from(params).ok()))
}
