//! Errors that MCP defines on top of those of JSON-RPC.

use mcpgen_types::{ErrorCode, ErrorObject, Revision};
use serde_json::json;

/// Returns the error for a batch in a revision without batches.
#[must_use]
pub fn not_in_batches() -> ErrorObject {
    ErrorObject::new(
        ErrorCode::INVALID_REQUEST,
        "only revision 2025-03-26 supports batches; send one message at a time",
    )
}

/// Returns the error for a request of an unsupported revision. `data` lists the supported revisions.
#[must_use]
pub fn unsupported_version(supported: impl Iterator<Item = Revision>, requested: &str) -> ErrorObject {
    let supported: Vec<_> = supported.map(Revision::as_str).collect();
    let message = format!("unsupported protocol version; supported: {}", supported.join(", "));
    let data = json!({ "supported": supported, "requested": requested });
    ErrorObject::new(UNSUPPORTED_VERSION, message).with_data(data)
}

/// The code of [`unsupported_version`], defined since revision 2026-07-28.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// Returns the error for an HTTP request whose headers contradict its body, since revision 2026-07-28.
#[must_use]
pub fn header_mismatch(why: &str) -> ErrorObject {
    ErrorObject::new(HEADER_MISMATCH, format!("header mismatch: {why}"))
}

/// The code of [`header_mismatch`].
pub const HEADER_MISMATCH: i64 = -32020;

/// Returns the error for a request that needs capabilities that the client has not declared. Each path names one
/// capability, such as `["elicitation", "url"]`.
#[must_use]
pub fn missing_capabilities(paths: &[&[&str]]) -> ErrorObject {
    let mut required = json!({});
    for path in paths {
        let mut at = &mut required;
        for name in *path {
            at = &mut at[*name];
        }
        if at.is_null() {
            *at = json!({});
        }
    }
    let names: Vec<String> = paths.iter().map(|path| path.join(".")).collect();
    let message = format!("the client has not declared the capabilities {}", names.join(", "));
    ErrorObject::new(MISSING_CAPABILITY, message).with_data(json!({ "requiredCapabilities": required }))
}

/// The code of [`missing_capabilities`], defined since revision 2026-07-28.
pub const MISSING_CAPABILITY: i64 = -32021;

/// Returns the error for an unknown resource, with the revision's code.
#[must_use]
pub fn resource_not_found(revision: Revision, uri: &str) -> ErrorObject {
    let code = match revision.has_resource_not_found_code() {
        true => ErrorCode::RESOURCE_NOT_FOUND,
        false => ErrorCode::INVALID_PARAMS,
    };
    ErrorObject::new(code, "resource not found").with_data(json!({ "uri": uri }))
}

/// Returns whether an error says that a resource is unknown, in any revision.
#[must_use]
pub fn is_resource_not_found(error: &ErrorObject) -> bool {
    let names_it = || error.data.as_ref().and_then(|data| data.get("uri")?.as_str()).is_some();
    error.code == ErrorCode::RESOURCE_NOT_FOUND || (error.code == ErrorCode::INVALID_PARAMS && names_it())
}
