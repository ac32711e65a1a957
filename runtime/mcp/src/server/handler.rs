//! Handlers that use the newest types in every revision.

use std::future::{Future, ready};

use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::router::Router;
use mcpgen_types::codec::Encode;
use mcpgen_types::{ErrorObject, Request};

use super::conversion::{encode, params};
use super::state::Server;

/// Handles `R` in every revision. While `is_declared` returns false, the method is unknown.
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
