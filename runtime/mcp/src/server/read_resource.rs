//! Handles `resources/read`, `resources/subscribe` and `resources/unsubscribe`.

use futures_util::future::BoxFuture;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::router::AnyRequest;
use mcpgen_types::v2026_07_28::{CacheScope, ReadResourceRequestParams, ReadResourceResult};
use mcpgen_types::{ErrorObject, Json};
use serde_json::json;

use super::into_contents::Contents;
use super::listeners::listener;
use super::state::{RequestContext, Server};
use super::tool_error::ResultOrInput;
use crate::protocol;
use crate::protocol::ContextExt;
use crate::protocol::change::Change;

pub(super) async fn read_resource(
    server: Server,
    context: Context,
    params: ReadResourceRequestParams,
) -> Result<ResultOrInput<ReadResourceResult>, ErrorObject> {
    let (uri, revision) = (params.uri, context.revision());
    let context = RequestContext::new(server.clone(), context);
    let not_found = || protocol::errors::resource_not_found(revision, &uri);
    match start_reading(&server, &uri, context).ok_or_else(not_found)?.await {
        Ok(Some(contents)) => Ok(ResultOrInput::Result(ReadResourceResult::new(contents, 0, CacheScope::Private))),
        Ok(None) => Err(not_found()),
        Err(error) => error.into_response(),
    }
}

/// Finds the resource or the template that a URI matches, and calls its function.
fn start_reading(server: &Server, uri: &str, context: RequestContext) -> Option<BoxFuture<'static, Contents>> {
    if let Some(entry) = server.0.resources.get(uri) {
        return Some(entry.read(context));
    }
    start_reading_template(server, uri, context)
}

fn start_reading_template(server: &Server, uri: &str, context: RequestContext) -> Option<BoxFuture<'static, Contents>> {
    let mut templates = server.0.templates.all();
    templates.sort_unstable_by_key(|entry| entry.number);
    let (entry, variables) = templates.iter().find_map(|entry| Some((entry, entry.uri_template.variables(uri)?)))?;
    Some(entry.read(context, variables, uri))
}

/// Handles `resources/subscribe` and `resources/unsubscribe`, which only legacy revisions have.
pub(super) fn subscribe(server: &Server, request: &AnyRequest, subscribes: bool) -> Result<Json, ErrorObject> {
    if !request.context.revision().is_legacy() || !server.has_resources() {
        return Err(errors::method_not_found(&request.method));
    }
    let Some(uri) = request.params.as_ref().and_then(|params| params.get("uri")?.as_str()) else {
        return Err(errors::invalid_params_in_words("params.uri: expected a string"));
    };
    let uri = &*uri;
    if uri.len() > LONGEST_URI {
        return Err(errors::invalid_params_in_words("params.uri: expected at most 8 KiB"));
    }
    let filter = server.caller_filter(&request.context);
    if subscribes && !filter.allows(&Change::Resource(uri.to_owned())) {
        return Err(protocol::errors::resource_not_found(request.context.revision(), uri));
    }
    let mut listeners = server.0.listeners.lock();
    let listener = listener(&mut listeners, &request.context.peer(), filter);
    match subscribes {
        true => listener.subscribe(uri).map_err(|_| errors::limit_exceeded(TOO_MANY_SUBSCRIPTIONS))?,
        false => listener.unsubscribe(uri),
    }
    Ok(Json::from(&json!({})))
}

const TOO_MANY_SUBSCRIPTIONS: &str =
    "too many resource subscriptions on this connection; unsubscribe from others first";

/// The maximum length of a subscribed URI, in bytes. The error message in [`subscribe`] repeats it.
const LONGEST_URI: usize = 8 << 10;
