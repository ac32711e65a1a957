//! The errors that a dispatcher answers with.

use mcpgen_types::{Error, ErrorCode, ErrorObject, Revision, Value};
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

/// Several messages at once, in a revision that does not have that.
#[must_use]
pub fn not_in_batches() -> ErrorObject {
    invalid_request("several messages at once are a thing of revision 2025-03-26 only")
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

/// More requests than are taken on at a time.
#[must_use]
pub fn busy() -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, "too many requests at a time")
}

/// The revision of a request is not spoken here.
#[must_use]
pub fn unsupported_version(supported: impl Iterator<Item = Revision>, requested: &str) -> ErrorObject {
    let supported: Vec<_> = supported.map(Revision::as_str).collect();
    let message = format!("unsupported protocol version; supported: {}", supported.join(", "));
    let data = json!({ "supported": supported, "requested": requested });
    ErrorObject::new(UNSUPPORTED_VERSION, message).with_data(data)
}

/// What [`unsupported_version`] is known by, since 2026-07-28.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// A request over HTTP whose headers do not say what its body says, since 2026-07-28.
#[must_use]
pub fn header_mismatch(why: &str) -> ErrorObject {
    ErrorObject::new(HEADER_MISMATCH, format!("header mismatch: {why}"))
}

/// What [`header_mismatch`] is known by.
pub const HEADER_MISMATCH: i64 = -32020;

/// Answering takes capabilities that whoever asks has not declared, such as `["elicitation", "url"]`.
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
    let message = format!("answering takes what the client has not declared: {}", names.join(", "));
    ErrorObject::new(MISSING_CAPABILITY, message).with_data(json!({ "requiredCapabilities": required }))
}

/// What [`missing_capabilities`] is known by, since 2026-07-28.
pub const MISSING_CAPABILITY: i64 = -32021;

/// There is no such resource, as the revision says it.
#[must_use]
pub fn resource_not_found(revision: Revision, uri: &str) -> ErrorObject {
    let code = match revision.is_legacy() {
        true => ErrorCode::RESOURCE_NOT_FOUND,
        false => ErrorCode::INVALID_PARAMS,
    };
    ErrorObject::new(code, "resource not found").with_data(json!({ "uri": uri }))
}

/// Whether an error says that there is no such resource, in whichever revision.
#[must_use]
pub fn is_resource_not_found(error: &ErrorObject) -> bool {
    let names_it = || error.data.as_ref().and_then(|data| data.get("uri")).is_some_and(Value::is_string);
    error.code == ErrorCode::RESOURCE_NOT_FOUND || (error.code == ErrorCode::INVALID_PARAMS && names_it())
}
