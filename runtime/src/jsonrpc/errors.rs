//! Error objects of responses.

use mcpgen_types::{Error, ErrorCode, ErrorObject, Revision, Value};
use serde_json::json;

/// No handler for the method.
#[must_use]
pub fn method_not_found(method: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method {method:?}"))
}

/// Params that are not valid for the method. `data` has a JSON pointer to the invalid value, and a message.
#[must_use]
pub fn invalid_params(error: &Error) -> ErrorObject {
    let data = json!({ "path": error.path(), "message": error.to_string() });
    ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("invalid params: {error}")).with_data(data)
}

/// Like [`invalid_params`], without a pointer.
#[must_use]
pub fn invalid_params_in_words(why: &str) -> ErrorObject {
    let data = json!({ "message": why });
    ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("invalid params: {why}")).with_data(data)
}

/// A message that is not a valid request, or not at this time.
#[must_use]
pub fn invalid_request(why: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_REQUEST, why)
}

/// A batch in a revision without batches.
#[must_use]
pub fn not_in_batches() -> ErrorObject {
    invalid_request("only revision 2025-03-26 supports batches; send one message at a time")
}

/// A failure of the receiver. It has no details, which are logged instead.
#[must_use]
pub fn internal() -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, "internal error")
}

/// The error of a service: an [`ErrorObject`] as it is. Any other error is logged, and becomes [`internal`].
#[must_use]
pub fn of(error: tower::BoxError) -> ErrorObject {
    match error.downcast::<ErrorObject>() {
        Ok(error) => *error,
        Err(error) => {
            tracing::error!(%error, "a service failed");
            internal()
        }
    }
}

/// A handler exceeded its time limit.
#[must_use]
pub fn timed_out(after: std::time::Duration) -> ErrorObject {
    ErrorObject::new(TIMED_OUT, format!("no result within {after:?}"))
}

/// The code of [`timed_out`], which the official TypeScript SDK uses for timeouts, too.
pub const TIMED_OUT: i64 = -32001;

/// The connection ended before the handler returned.
#[must_use]
pub fn ended() -> ErrorObject {
    ErrorObject::new(CONNECTION_CLOSED, "the connection ended before there was a result")
}

/// The code of [`ended`], which the official SDKs use for closed connections, too.
pub const CONNECTION_CLOSED: i64 = -32000;

/// The receiver has reached a limit. The request may succeed later.
#[must_use]
pub fn busy() -> ErrorObject {
    ErrorObject::new(BUSY, "too many requests at a time; try again later")
}

/// The code of [`busy`]: "limit exceeded" in several protocols on JSON-RPC.
pub const BUSY: i64 = -32005;

/// A request of an unsupported revision.
#[must_use]
pub fn unsupported_version(supported: impl Iterator<Item = Revision>, requested: &str) -> ErrorObject {
    let supported: Vec<_> = supported.map(Revision::as_str).collect();
    let message = format!("unsupported protocol version; supported: {}", supported.join(", "));
    let data = json!({ "supported": supported, "requested": requested });
    ErrorObject::new(UNSUPPORTED_VERSION, message).with_data(data)
}

/// The code of [`unsupported_version`], since 2026-07-28.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// A request over HTTP whose headers contradict its body, since 2026-07-28.
#[must_use]
pub fn header_mismatch(why: &str) -> ErrorObject {
    ErrorObject::new(HEADER_MISMATCH, format!("header mismatch: {why}"))
}

/// The code of [`header_mismatch`].
pub const HEADER_MISMATCH: i64 = -32020;

/// The response needs capabilities that the client has not declared, such as `["elicitation", "url"]`.
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

/// The code of [`missing_capabilities`], since 2026-07-28.
pub const MISSING_CAPABILITY: i64 = -32021;

/// An unknown resource, with the code that the revision has for it.
#[must_use]
pub fn resource_not_found(revision: Revision, uri: &str) -> ErrorObject {
    let code = match revision.is_legacy() {
        true => ErrorCode::RESOURCE_NOT_FOUND,
        false => ErrorCode::INVALID_PARAMS,
    };
    ErrorObject::new(code, "resource not found").with_data(json!({ "uri": uri }))
}

/// Whether an error of any revision means that a resource is unknown.
#[must_use]
pub fn is_resource_not_found(error: &ErrorObject) -> bool {
    let names_it = || error.data.as_ref().and_then(|data| data.get("uri")).is_some_and(Value::is_string);
    error.code == ErrorCode::RESOURCE_NOT_FOUND || (error.code == ErrorCode::INVALID_PARAMS && names_it())
}
