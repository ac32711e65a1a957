//! Error objects for error responses.

use mcpgen_types::{Error, ErrorCode, ErrorObject};
use serde_json::json;

use crate::util::did_you_mean;

/// Returns the error for a method that has no handler.
#[must_use]
pub fn method_not_found(method: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method {method:?}"))
}

/// Like [`method_not_found`], and suggests the most similar known method.
pub(crate) fn unknown_method<'m>(method: &str, known: impl IntoIterator<Item = &'m str>) -> ErrorObject {
    let shown: String = method.chars().take(128).collect();
    let hint = did_you_mean(method, known);
    ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method {shown:?}{hint}"))
}

/// Returns the error for params that are not valid for the method. `data` holds a `message` and the JSON pointer
/// (`path`) of the invalid value.
#[must_use]
pub fn invalid_params(error: &Error) -> ErrorObject {
    let data = json!({ "path": error.path(), "message": error.to_string() });
    ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("invalid params: {error}")).with_data(data)
}

/// Like [`invalid_params`], but takes a message instead of a decoding error, so `data` has no JSON pointer.
#[must_use]
pub fn invalid_params_in_words(why: &str) -> ErrorObject {
    let data = json!({ "message": why });
    ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("invalid params: {why}")).with_data(data)
}

/// Returns the error for a message that is not a valid request, or not allowed at this time.
#[must_use]
pub fn invalid_request(why: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_REQUEST, why)
}

/// Returns the error for a failure on this side. It tells the peer no details; log them instead.
#[must_use]
pub fn internal() -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, "internal error")
}

/// Converts a service's error to an error object. An [`ErrorObject`] is returned unchanged. Any other error is logged
/// and replaced with [`internal`].
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

/// Returns the error for a handler that ran into its timeout.
#[must_use]
pub fn timed_out(after: std::time::Duration) -> ErrorObject {
    ErrorObject::new(TIMED_OUT, format!("no result within {after:?}"))
}

/// The code of [`timed_out`], as in the official TypeScript SDK.
pub const TIMED_OUT: i64 = -32001;

/// Returns the error for a request whose connection ended before its handler did.
#[must_use]
pub fn ended() -> ErrorObject {
    ErrorObject::new(CONNECTION_CLOSED, "the connection ended before the request completed")
}

/// The code of [`ended`], as in the official SDKs.
pub const CONNECTION_CLOSED: i64 = -32000;

/// Returns the error for a request that would exceed a limit on this side. The same request may succeed later.
#[must_use]
pub fn busy() -> ErrorObject {
    limit_exceeded("too many requests; try again later")
}

/// Like [`busy`], with a message that should name the limit and the remedy.
#[must_use]
pub fn limit_exceeded(message: &str) -> ErrorObject {
    ErrorObject::new(BUSY, message)
}

/// The code of [`busy`] and [`limit_exceeded`]. Several protocols on top of JSON-RPC use it for "limit exceeded".
pub const BUSY: i64 = -32005;
