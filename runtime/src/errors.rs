//! The errors that a dispatcher answers with.

use mcpgen_types::{Error, ErrorCode, ErrorObject};
use serde_json::json;

/// There is no such method here.
#[must_use]
pub fn method_not_found(method: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method {method:?}"))
}

/// The params are not those of the method. `data` has the place as a JSON pointer, and what is wrong there.
#[must_use]
pub fn invalid_params(error: &Error) -> ErrorObject {
    let data = json!({ "path": error.path(), "message": error.to_string() });
    ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("invalid params: {error}")).with_data(data)
}

/// As [`invalid_params`], where no place is known.
#[must_use]
pub fn invalid_params_in_words(why: &str) -> ErrorObject {
    let data = json!({ "message": why });
    ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("invalid params: {why}")).with_data(data)
}

/// A message that is no request, or not at this time.
#[must_use]
pub fn invalid_request(why: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_REQUEST, why)
}

/// A failure of our own, of which the other side learns nothing more.
#[must_use]
pub fn internal() -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, "internal error")
}

/// What a service failed with: an [`ErrorObject`] as it is, anything else without telling the other side more.
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

/// A handler took too long.
#[must_use]
pub fn timed_out(after: std::time::Duration) -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, format!("no result within {after:?}"))
}

/// The connection ended before there was a result.
#[must_use]
pub fn ended() -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, "the connection ended before there was a result")
}

/// More requests than are taken on at a time. The code is one that JSON-RPC leaves to implementations.
#[must_use]
pub fn busy() -> ErrorObject {
    ErrorObject::new(-32000, "too many requests at a time")
}
