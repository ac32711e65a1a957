//! Input requests: a server's requests to the client in a result (2026-07-28).

use mcpgen_types::v2026_07_28::InputRequest;
use mcpgen_types::{JsonObject, Value};

/// Returns the method and the params of an input request.
pub(crate) fn parts(asked: &InputRequest) -> (String, Option<JsonObject>) {
    let asked = mcpgen_types::to_value(asked).unwrap_or_default();
    let method = asked.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
    (method, asked.get("params").and_then(Value::as_object).cloned())
}
