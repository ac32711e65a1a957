//! Handles `resources/read`, `resources/subscribe` and `resources/unsubscribe`.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::router::AnyRequest;
use mcpgen_types::v2026_07_28::{CacheScope, ReadResourceRequestParams, ReadResourceResult};
use mcpgen_types::{ErrorObject, Json};
use serde_json::json;

use super::into_contents::Contents;
use super::listeners::listener;
use super::state::{RequestContext, Server, ServerState};
use super::tool_error::{ResultOrInput, respond};
use super::visibility::{Affected, Visible};
use crate::protocol;
use crate::protocol::ContextExt;
use crate::protocol::change::Change;

pub(super) async fn read_resource(
    server: Server,
    context: Context,
    params: ReadResourceRequestParams,
) -> Result<ResultOrInput<ReadResourceResult>, ErrorObject> {
    let (uri, revision) = (params.uri, context.revision());
    let request_context = RequestContext::new(server.clone(), context.clone());
    let not_found = || protocol::errors::resource_not_found(revision, &uri);
    match start_reading(&server, &uri, request_context).ok_or_else(not_found)?.await {
        Ok(Some(contents)) => Ok(ResultOrInput::Result(ReadResourceResult::new(contents, 0, CacheScope::Private))),
        Ok(None) => Err(not_found()),
        Err(error) => respond(error, &context),
    }
}

/// Finds the resource or template for a URI, and calls its function. Skips items that the caller cannot see.
fn start_reading(server: &Server, uri: &str, context: RequestContext) -> Option<BoxFuture<'static, Contents>> {
    let viewer = server.viewer(&context.context);
    if let Some(entry) = server.0.resources.find(uri, viewer) {
        return Some(entry.read(context));
    }
    let mut templates = server.0.templates.all();
    templates.sort_unstable_by_key(|entry| entry.number);
    let mut matching = templates.iter().filter_map(|entry| Some((entry, entry.uri_template.variables(uri)?)));
    let (entry, variables) = matching.find(|(entry, _)| viewer.sees(entry.item()))?;
    Some(entry.read(context, variables, uri))
}

impl ServerState {
    /// Returns everything that reading a URI may find: the resource with this URI, and the templates that match it. If
    /// there are none, tries the parents of the URI, the nearest first.
    pub(super) fn items_at(&self, uri: &str) -> Affected {
        let mut whole = Some(uri);
        while let Some(uri) = whole {
            let resource = self.resources.get(uri).map(|entry| entry as Arc<dyn Visible>);
            let templates = self.templates.all().into_iter();
            let matching = templates.filter(|entry| entry.uri_template.variables(uri).is_some());
            let items: Vec<_> = resource.into_iter().chain(matching.map(|entry| entry as Arc<dyn Visible>)).collect();
            if !items.is_empty() {
                return Affected(items);
            }
            whole = parent(uri);
        }
        Affected::default()
    }
}

/// Returns the URI without its last segment, query or fragment.
fn parent(uri: &str) -> Option<&str> {
    if let Some(folder) = uri.strip_suffix('/') {
        return Some(folder);
    }
    let end = uri.rfind(['/', '#', '?'])?;
    let after_slash = end + usize::from(uri[end..].starts_with('/'));
    Some(&uri[..after_slash])
}

/// Handles `resources/subscribe` and `resources/unsubscribe` (legacy revisions).
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

/// The maximum length of a URI to subscribe to, in bytes. Repeated in an error message of [`subscribe`].
const LONGEST_URI: usize = 8 << 10;
