//! A server's routes.

use std::future::ready;

use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::router::Router;
use mcpgen_types::v2026_07_28::{
    CacheScope, CallToolRequest, CompleteRequest, GetPromptRequest, ListPromptsRequest, ListPromptsResult,
    ListResourceTemplatesRequest, ListResourceTemplatesResult, ListResourcesRequest, ListResourcesResult,
    ListToolsRequest, ListToolsResult, ReadResourceRequest, SubscriptionsListenRequest,
};
use mcpgen_types::{Json, Request, Value};

use super::call_tool::call_tool;
use super::get_prompt::{complete, get_prompt};
use super::handler::handle;
use super::read_resource::{read_resource, subscribe};
use super::state::Server;
use super::{computed, conversion, listeners};
use crate::protocol::ContextExt;

pub(super) fn router(server: &Server) -> Router {
    let routes = subscription_routes(server, call_routes(server, list_routes(server, Router::new())));
    let config = &server.0.config;
    let routes = config.routes.iter().fold(routes, |router, add| add(server, router));
    let changes = config.extensions.iter().chain(&config.layers);
    changes.fold(routes, |router, change| change(router)).for_every_version()
}

fn list_routes(server: &Server, router: Router) -> Router {
    macro_rules! list {
        ($router:expr, $request:ty, $result:ident, $is_declared:expr, $registry:ident) => {
            handle::<$request, _, _, _>($router, server, $is_declared, |server, context, params| async move {
                let lists = (&server.0.$registry, server.0.config.computed.$registry.as_ref());
                let page = computed::page(&server, &context, lists, params.cursor).await?;
                let mut result = $result::new(page.items, 0, CacheScope::Private);
                result.next_cursor = page.next_cursor;
                Ok(Json::from(&result))
            })
        };
    }
    let lists_tools = |server: &Server| server.0.config.empty_lists || server.0.tools.is_declared();
    let lists_resources = |server: &Server| server.0.config.empty_lists || server.has_resources();
    let lists_prompts = |server: &Server| server.0.config.empty_lists || server.0.prompts.is_declared();
    let router = list!(router, ListToolsRequest, ListToolsResult, lists_tools, tools);
    let router = list!(router, ListResourcesRequest, ListResourcesResult, lists_resources, resources);
    let router = list!(router, ListResourceTemplatesRequest, ListResourceTemplatesResult, lists_resources, templates);
    list!(router, ListPromptsRequest, ListPromptsResult, lists_prompts, prompts)
}

fn call_routes(server: &Server, router: Router) -> Router {
    let called = server.clone();
    let router = router.raw_request(None, CallToolRequest::METHOD, move |request| {
        call_tool(&called, request).unwrap_or_else(|error| Box::pin(ready(Err(error))))
    });
    let router = handle::<ReadResourceRequest, _, _, _>(router, server, Server::has_resources, read_resource);
    let has_prompts = |server: &Server| server.0.prompts.is_declared();
    let router = handle::<GetPromptRequest, _, _, _>(router, server, has_prompts, get_prompt);
    handle::<CompleteRequest, _, _, _>(router, server, Server::has_completions, complete)
}

fn subscription_routes(server: &Server, router: Router) -> Router {
    let listened = server.clone();
    let router = router.raw_request(None, SubscriptionsListenRequest::METHOD, move |request| {
        if request.context.revision().is_legacy() {
            return Box::pin(ready(Err(errors::method_not_found(&request.method))));
        }
        let context = request.context.clone();
        match conversion::params::<SubscriptionsListenRequest>(request) {
            Ok(params) => {
                let filter = listened.caller_filter(&context);
                let listening = listened.0.subscriptions.clone().listen(context.clone(), params.notifications, filter);
                Box::pin(async move { conversion::encode(&context, &listening.await?) })
            }
            Err(error) => Box::pin(ready(Err(error))),
        }
    });
    let methods = [("resources/subscribe", true), ("resources/unsubscribe", false)];
    let router = methods.into_iter().fold(router, |router, (method, subscribes)| {
        let server = server.clone();
        router.raw_request(None, method, move |request| Box::pin(ready(subscribe(&server, &request, subscribes))))
    });
    let server = server.clone();
    router.custom_notification("notifications/initialized", move |context: Context, _: Value| {
        let filter = server.caller_filter(&context);
        listeners::listener(&mut server.0.listeners.lock(), &context.peer(), filter);
        async {}
    })
}
