//! Input requests: a server's requests to the client in a result (2026-07-28).

use mcpgen_types::v2026_07_28::InputRequest;
use mcpgen_types::{JsonObject, Value};

/// Returns the method and the params of an input request.
pub(crate) fn method_and_params(request: &InputRequest) -> (String, Option<JsonObject>) {
    let request = mcpgen_types::to_value(request).unwrap_or_default();
    let method = request.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
    (method, request.get("params").and_then(Value::as_object).cloned())
}
