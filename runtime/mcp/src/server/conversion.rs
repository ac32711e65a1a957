//! Converts params from the request's revision, and results to it.

use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::router::{self, AnyRequest};
use mcpgen_types::codec::Encode;
use mcpgen_types::convert::Convertible;
use mcpgen_types::{ErrorObject, Json, JsonObject, Request, Revision};

use crate::protocol::conversion::{ConversionError, Revisions};
use crate::protocol::{ContextExt, TYPES};

/// Decodes the params of a request in any revision as the newest types.
pub(super) fn params<R: Request>(mut request: AnyRequest) -> Result<R::Params, ErrorObject> {
    let revisions = Revisions { from: request.context.revision(), to: Revision::of(R::VERSION) };
    if revisions.from != revisions.to {
        let params = request.params.take().unwrap_or_else(|| Json::from(&JsonObject::new()));
        let converted = revisions.params(R::METHOD, &params).map_err(ConversionError::into_response)?;
        request.params = Some(converted);
    }
    router::params::<R>(&request).map_err(|error| errors::invalid_params(&error))
}

/// Encodes a result of the newest types in the request's revision.
///
/// # Errors
///
/// Fails if the revision cannot express the result.
pub(super) fn encode<T: Encode>(context: &Context, result: &T) -> Result<Json, ErrorObject> {
    let revisions = Revisions { from: TYPES, to: context.revision() };
    revisions.result(context.method(), result).map_err(ConversionError::into_response)
}

/// Like [`encode`], but converts the type `T`, not the method's result type (which may be a union).
pub(super) fn encode_typed<T: Convertible>(context: &Context, result: &T) -> Result<Json, ErrorObject> {
    let revisions = Revisions { from: TYPES, to: context.revision() };
    revisions.typed_result(context.method(), result).map_err(ConversionError::into_response)
}
