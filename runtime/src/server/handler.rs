//! Handlers that work in every revision, with the types of the newest revision.

use std::future::{Future, ready};
use std::sync::LazyLock;

use mcpgen_types::codec::Encode;
use mcpgen_types::{ErrorObject, JsonObject, RawJson, Request, Revision};
use serde_json::json;

use super::older_revisions;
use super::state::Server;
use crate::jsonrpc::errors;
use crate::jsonrpc::json::with_meta;
use crate::protocol::modern::{CLIENT_CAPABILITIES, PROTOCOL_VERSION};
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
        Box::pin(async move { older_revisions::encode(&context, &result?.await?) })
    })
}

/// Decodes the params of a request of any revision as params of the newest revision.
pub(super) fn params<R: Request>(mut request: AnyRequest) -> Result<R::Params, ErrorObject> {
    if request.context.revision().is_legacy() {
        request.params = Some(with_newest_meta(request.params.take())?);
    }
    router::params::<R>(&request).map_err(|error| errors::invalid_params(&error))
}

/// Adds the `_meta` members that the newest revision requires to the params of a legacy request.
fn with_newest_meta(params: Option<RawJson>) -> Result<RawJson, ErrorObject> {
    static META: LazyLock<RawJson> = LazyLock::new(|| {
        RawJson::from(&json!({ PROTOCOL_VERSION: Revision::V2026_07_28.as_str(), CLIENT_CAPABILITIES: {} }))
    });
    let params = params.unwrap_or_else(|| RawJson::from(&JsonObject::new()));
    // If `_meta` cannot occur, not even with escapes, it is added without decoding the params.
    let text = params.text();
    let added = if text.contains("_meta") || text.contains("\\u") { None } else { params.with_member("_meta", &*META) };
    if let Some(added) = added {
        return Ok(added);
    }
    let members =
        [(PROTOCOL_VERSION, format!("\"{}\"", Revision::V2026_07_28)), (CLIENT_CAPABILITIES, "{}".to_owned())];
    let added = with_meta(Some(params), &members, false).map_err(|reason| errors::invalid_params_in_words(&reason))?;
    added.ok_or_else(errors::internal)
}
