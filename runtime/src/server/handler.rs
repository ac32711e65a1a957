//! Handlers that work in every revision, with the types of the newest revision.

use std::future::{Future, ready};

use mcpgen_types::codec::Encode;
use mcpgen_types::{ErrorObject, JsonObject, RawJson, Request};

use super::state::Server;
use crate::jsonrpc::errors;
use crate::protocol::TYPES;
use crate::protocol::conversion::{ConversionError, Revisions};
use crate::service::context::Context;
use crate::service::router::{self, AnyRequest, Router};

/// Adds a handler of `R` for every revision. Before `is_declared` returns true, the method is unknown.
pub(super) fn handle<R, T, F, Fut>(
    router: Router,
    server: &Server,
    is_declared: impl Fn(&Server) -> bool + Send + Sync + 'static,
    handler: F,
) -> Router
where
    R: Request + 'static,
    T: Encode,
    F: Fn(Server, Context, R::Params) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, ErrorObject>> + Send + 'static,
{
    let server = server.clone();
    router.raw_request(None, R::METHOD, move |request| {
        let context = request.context.clone();
        if !is_declared(&server) {
            return Box::pin(ready(Err(errors::method_not_found(R::METHOD))));
        }
        let result = params::<R>(request).map(|params| handler(server.clone(), context.clone(), params));
        Box::pin(async move { encode(&context, &result?.await?) })
    })
}

/// Decodes the params of a request of any revision as params of the newest types.
pub(super) fn params<R: Request>(mut request: AnyRequest) -> Result<R::Params, ErrorObject> {
    let revisions = Revisions { from: request.context.revision(), to: R::REVISION };
    if revisions.from != revisions.to {
        let params = request.params.take().unwrap_or_else(|| RawJson::from(&JsonObject::new()));
        let converted = revisions.params(R::METHOD, &params).map_err(ConversionError::into_response)?;
        request.params = Some(converted);
    }
    router::params::<R>(&request).map_err(|error| errors::invalid_params(&error))
}

/// Encodes a result of the newest types for the revision of the request.
///
/// # Errors
///
/// The revision does not support the result.
pub(super) fn encode<T: Encode>(context: &Context, result: &T) -> Result<RawJson, ErrorObject> {
    let revisions = Revisions { from: TYPES, to: context.revision() };
    revisions.result(context.method(), result).map_err(ConversionError::into_response)
}
