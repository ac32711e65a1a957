//! Compares methods and directions with the unions in the schemas, which are read with serde_json alone. Compares the
//! params and the result of each request with a table that was written by hand from the rule in the specification.

#![allow(deprecated, reason = "the tests include deprecated requests")]

use std::any::TypeId;
use std::collections::BTreeSet;
use std::fmt::{Debug, Display};
use std::str::FromStr;

use mcpgen_proof::schema;
use mcpgen_types::{Request, TaskRequest};
use serde_json::Value;

/// Returns the methods in the schema's union for a direction. The union may be an `anyOf`, a `$ref`, a single inline
/// message, or absent.
fn methods(revision: &str, union: &str) -> Vec<String> {
    let schema = schema(revision);
    let definitions = if schema["$defs"].is_object() { &schema["$defs"] } else { &schema["definitions"] };
    let mut found = Vec::new();
    if let Some(union) = definitions.get(union) {
        collect(definitions, union, &mut found);
    }
    found
}

fn collect(definitions: &Value, schema: &Value, found: &mut Vec<String>) {
    if let Some(target) = schema["$ref"].as_str() {
        let name = target.rsplit('/').next().unwrap_or_default();
        return collect(definitions, &definitions[name], found);
    }
    if let Some(members) = schema["anyOf"].as_array() {
        return members.iter().for_each(|member| collect(definitions, member, found));
    }
    let method = schema["properties"]["method"]["const"].as_str();
    found.push(method.unwrap_or_else(|| panic!("a message without a method: {schema}")).to_owned());
}

/// Checks that a method enum has the methods of the schema in the same order, and converts to and from strings.
fn check_methods<M>(revision: &str, union: &str, count: usize, all: &[M], as_str: impl Fn(M) -> &'static str)
where
    M: Copy + PartialEq + Debug + Display + FromStr,
    M::Err: Display,
{
    let generated: Vec<&str> = all.iter().map(|method| as_str(*method)).collect();
    assert_eq!(generated, methods(revision, union), "{revision} {union}");
    assert_eq!(all.len(), count, "{revision} {union}");
    assert_eq!(generated.iter().collect::<BTreeSet<_>>().len(), count, "{revision} {union}: duplicate methods");
    for (method, text) in all.iter().zip(&generated) {
        assert_eq!(method.to_string(), *text, "{revision} {union}: Display");
        assert_eq!(format!("{method:>40}"), format!("{text:>40}"), "{revision} {union}: Display pads");
        match text.parse::<M>() {
            Ok(parsed) => assert_eq!(parsed, *method, "{revision} {union}: FromStr"),
            Err(error) => panic!("{revision} {union}: {text:?}: {error}"),
        }
    }
    for odd in ["", " ", "tools", "Tools/call", "tools/call ", "unknown/method"] {
        assert!(odd.parse::<M>().is_err(), "{revision} {union}: {odd:?} is not a method");
    }
}

macro_rules! directions {
    ($($test:ident: $module:ident, $revision:literal, $client_requests:literal/$server_requests:literal/$client_notifications:literal/$server_notifications:literal;)*) => {$(
        #[test]
        fn $test() {
            use mcpgen_types::$module::{ClientNotificationMethod, ClientRequestMethod, ServerNotificationMethod, ServerRequestMethod};
            check_methods($revision, "ClientRequest", $client_requests, ClientRequestMethod::ALL, ClientRequestMethod::as_str);
            check_methods($revision, "ServerRequest", $server_requests, ServerRequestMethod::ALL, ServerRequestMethod::as_str);
            check_methods($revision, "ClientNotification", $client_notifications, ClientNotificationMethod::ALL, ClientNotificationMethod::as_str);
            check_methods($revision, "ServerNotification", $server_notifications, ServerNotificationMethod::ALL, ServerNotificationMethod::as_str);
        }
    )*};
}

directions! {
    methods_of_2024_11_05_match_the_schema: v2024_11_05, "2024-11-05", 13/3/4/7;
    methods_of_2025_03_26_match_the_schema: v2025_03_26, "2025-03-26", 13/3/4/7;
    methods_of_2025_06_18_match_the_schema: v2025_06_18, "2025-06-18", 13/4/4/7;
    methods_of_2025_11_25_match_the_schema: v2025_11_25, "2025-11-25", 17/8/5/9;
    methods_of_2026_07_28_match_the_schema: v2026_07_28, "2026-07-28", 10/0/1/8;
}

struct Row {
    method: &'static str,
    sent: bool,
    check: fn(),
}

fn pairing<R, P, A>(revision: &str, method: &str)
where
    R: Request + 'static,
    P: 'static,
    A: 'static,
    R::Params: 'static,
    R::Result: 'static,
{
    let name = std::any::type_name::<R>();
    assert_eq!(R::METHOD, method, "{name}");
    assert_eq!(R::VERSION.as_str(), revision, "{name}");
    assert_eq!(
        TypeId::of::<R::Params>(),
        TypeId::of::<P>(),
        "{name}: params are {}",
        std::any::type_name::<R::Params>()
    );
    assert_eq!(
        TypeId::of::<R::Result>(),
        TypeId::of::<A>(),
        "{name}: the result is {}",
        std::any::type_name::<R::Result>()
    );
}

fn task<R, T>()
where
    R: TaskRequest + 'static,
    R::TaskResult: 'static,
    T: 'static,
{
    assert_eq!(TypeId::of::<R::TaskResult>(), TypeId::of::<T>(), "{}", std::any::type_name::<R>());
}

macro_rules! requests {
    ($module:ident, $revision:literal, $rows:ident: $($request:ident, $method:literal $($embedded:ident)?: $params:ty => $result:ident $(or $task:ident)?;)*) => {
        const $rows: &[Row] = &[$(Row {
            method: $method,
            sent: !requests!(@embedded $($embedded)?),
            check: {
                // The table uses the names that users of the module write.
                #[allow(unused_imports)]
                fn check() {
                    use mcpgen_types::$module::*;
                    pairing::<mcpgen_types::$module::$request, $params, mcpgen_types::$module::$result>($revision, $method);
                    $(task::<mcpgen_types::$module::$request, mcpgen_types::$module::$task>();)?
                }
                check
            },
        }),*];
    };
    (@embedded embedded) => { true };
    (@embedded) => { false };
}

// Request, method: params => result. Written by hand, independently of the generator, from the rule: the result of
// `XResultResponse`, or else `XResult`, or else `EmptyResult`. `or` is the result of a request that runs as a task.
// Requests marked `embedded` are sent inside other messages.

requests! { v2024_11_05, "2024-11-05", REQUESTS_2024_11_05:
    InitializeRequest, "initialize": InitializeRequestParams => InitializeResult;
    PingRequest, "ping": Option<PingRequestParams> => EmptyResult;
    ListResourcesRequest, "resources/list": Option<ListResourcesRequestParams> => ListResourcesResult;
    ListResourceTemplatesRequest, "resources/templates/list": Option<ListResourceTemplatesRequestParams> => ListResourceTemplatesResult;
    ReadResourceRequest, "resources/read": ReadResourceRequestParams => ReadResourceResult;
    SubscribeRequest, "resources/subscribe": SubscribeRequestParams => EmptyResult;
    UnsubscribeRequest, "resources/unsubscribe": UnsubscribeRequestParams => EmptyResult;
    ListPromptsRequest, "prompts/list": Option<ListPromptsRequestParams> => ListPromptsResult;
    GetPromptRequest, "prompts/get": GetPromptRequestParams => GetPromptResult;
    ListToolsRequest, "tools/list": Option<ListToolsRequestParams> => ListToolsResult;
    CallToolRequest, "tools/call": CallToolRequestParams => CallToolResult;
    SetLevelRequest, "logging/setLevel": SetLevelRequestParams => EmptyResult;
    CompleteRequest, "completion/complete": CompleteRequestParams => CompleteResult;
    CreateMessageRequest, "sampling/createMessage": CreateMessageRequestParams => CreateMessageResult;
    ListRootsRequest, "roots/list": Option<ListRootsRequestParams> => ListRootsResult;
}

requests! { v2025_03_26, "2025-03-26", REQUESTS_2025_03_26:
    InitializeRequest, "initialize": InitializeRequestParams => InitializeResult;
    PingRequest, "ping": Option<PingRequestParams> => EmptyResult;
    ListResourcesRequest, "resources/list": Option<ListResourcesRequestParams> => ListResourcesResult;
    ListResourceTemplatesRequest, "resources/templates/list": Option<ListResourceTemplatesRequestParams> => ListResourceTemplatesResult;
    ReadResourceRequest, "resources/read": ReadResourceRequestParams => ReadResourceResult;
    SubscribeRequest, "resources/subscribe": SubscribeRequestParams => EmptyResult;
    UnsubscribeRequest, "resources/unsubscribe": UnsubscribeRequestParams => EmptyResult;
    ListPromptsRequest, "prompts/list": Option<ListPromptsRequestParams> => ListPromptsResult;
    GetPromptRequest, "prompts/get": GetPromptRequestParams => GetPromptResult;
    ListToolsRequest, "tools/list": Option<ListToolsRequestParams> => ListToolsResult;
    CallToolRequest, "tools/call": CallToolRequestParams => CallToolResult;
    SetLevelRequest, "logging/setLevel": SetLevelRequestParams => EmptyResult;
    CompleteRequest, "completion/complete": CompleteRequestParams => CompleteResult;
    CreateMessageRequest, "sampling/createMessage": CreateMessageRequestParams => CreateMessageResult;
    ListRootsRequest, "roots/list": Option<ListRootsRequestParams> => ListRootsResult;
}

requests! { v2025_06_18, "2025-06-18", REQUESTS_2025_06_18:
    InitializeRequest, "initialize": InitializeRequestParams => InitializeResult;
    PingRequest, "ping": Option<PingRequestParams> => EmptyResult;
    ListResourcesRequest, "resources/list": Option<ListResourcesRequestParams> => ListResourcesResult;
    ListResourceTemplatesRequest, "resources/templates/list": Option<ListResourceTemplatesRequestParams> => ListResourceTemplatesResult;
    ReadResourceRequest, "resources/read": ReadResourceRequestParams => ReadResourceResult;
    SubscribeRequest, "resources/subscribe": SubscribeRequestParams => EmptyResult;
    UnsubscribeRequest, "resources/unsubscribe": UnsubscribeRequestParams => EmptyResult;
    ListPromptsRequest, "prompts/list": Option<ListPromptsRequestParams> => ListPromptsResult;
    GetPromptRequest, "prompts/get": GetPromptRequestParams => GetPromptResult;
    ListToolsRequest, "tools/list": Option<ListToolsRequestParams> => ListToolsResult;
    CallToolRequest, "tools/call": CallToolRequestParams => CallToolResult;
    SetLevelRequest, "logging/setLevel": SetLevelRequestParams => EmptyResult;
    CompleteRequest, "completion/complete": CompleteRequestParams => CompleteResult;
    CreateMessageRequest, "sampling/createMessage": CreateMessageRequestParams => CreateMessageResult;
    ListRootsRequest, "roots/list": Option<ListRootsRequestParams> => ListRootsResult;
    ElicitRequest, "elicitation/create": ElicitRequestParams => ElicitResult;
}

requests! { v2025_11_25, "2025-11-25", REQUESTS_2025_11_25:
    InitializeRequest, "initialize": InitializeRequestParams => InitializeResult;
    PingRequest, "ping": Option<RequestParams> => EmptyResult;
    ListResourcesRequest, "resources/list": Option<PaginatedRequestParams> => ListResourcesResult;
    ListResourceTemplatesRequest, "resources/templates/list": Option<PaginatedRequestParams> => ListResourceTemplatesResult;
    ReadResourceRequest, "resources/read": ReadResourceRequestParams => ReadResourceResult;
    SubscribeRequest, "resources/subscribe": SubscribeRequestParams => EmptyResult;
    UnsubscribeRequest, "resources/unsubscribe": UnsubscribeRequestParams => EmptyResult;
    ListPromptsRequest, "prompts/list": Option<PaginatedRequestParams> => ListPromptsResult;
    GetPromptRequest, "prompts/get": GetPromptRequestParams => GetPromptResult;
    ListToolsRequest, "tools/list": Option<PaginatedRequestParams> => ListToolsResult;
    CallToolRequest, "tools/call": CallToolRequestParams => CallToolResult or CreateTaskResult;
    GetTaskRequest, "tasks/get": GetTaskRequestParams => GetTaskResult;
    GetTaskPayloadRequest, "tasks/result": GetTaskPayloadRequestParams => GetTaskPayloadResult;
    CancelTaskRequest, "tasks/cancel": CancelTaskRequestParams => CancelTaskResult;
    ListTasksRequest, "tasks/list": Option<PaginatedRequestParams> => ListTasksResult;
    SetLevelRequest, "logging/setLevel": SetLevelRequestParams => EmptyResult;
    CompleteRequest, "completion/complete": CompleteRequestParams => CompleteResult;
    CreateMessageRequest, "sampling/createMessage": CreateMessageRequestParams => CreateMessageResult or CreateTaskResult;
    ListRootsRequest, "roots/list": Option<RequestParams> => ListRootsResult;
    ElicitRequest, "elicitation/create": ElicitRequestParams => ElicitResult or CreateTaskResult;
}

requests! { v2026_07_28, "2026-07-28", REQUESTS_2026_07_28:
    DiscoverRequest, "server/discover": RequestParams => DiscoverResult;
    ListResourcesRequest, "resources/list": PaginatedRequestParams => ListResourcesResult;
    ListResourceTemplatesRequest, "resources/templates/list": PaginatedRequestParams => ListResourceTemplatesResult;
    ReadResourceRequest, "resources/read": ReadResourceRequestParams => InputRequiredOrReadResourceResult;
    SubscriptionsListenRequest, "subscriptions/listen": SubscriptionsListenRequestParams => SubscriptionsListenResult;
    ListPromptsRequest, "prompts/list": PaginatedRequestParams => ListPromptsResult;
    GetPromptRequest, "prompts/get": GetPromptRequestParams => InputRequiredOrGetPromptResult;
    ListToolsRequest, "tools/list": PaginatedRequestParams => ListToolsResult;
    CallToolRequest, "tools/call": CallToolRequestParams => InputRequiredOrCallToolResult;
    CompleteRequest, "completion/complete": CompleteRequestParams => CompleteResult;
    CreateMessageRequest, "sampling/createMessage" embedded: CreateMessageRequestParams => CreateMessageResult;
    ElicitRequest, "elicitation/create" embedded: ElicitRequestParams => ElicitResult;
    ListRootsRequest, "roots/list" embedded: Option<ListRootsRequestParams> => ListRootsResult;
}

#[test]
fn requests_have_their_params_and_results() {
    for (revision, rows) in [
        ("2024-11-05", REQUESTS_2024_11_05),
        ("2025-03-26", REQUESTS_2025_03_26),
        ("2025-06-18", REQUESTS_2025_06_18),
        ("2025-11-25", REQUESTS_2025_11_25),
        ("2026-07-28", REQUESTS_2026_07_28),
    ] {
        rows.iter().for_each(|row| (row.check)());
        // The table is complete.
        let sent = rows.iter().filter(|row| row.sent).map(|row| row.method.to_owned());
        let in_schema = methods(revision, "ClientRequest").into_iter().chain(methods(revision, "ServerRequest"));
        assert_eq!(sent.collect::<BTreeSet<_>>(), in_schema.collect::<BTreeSet<_>>(), "{revision}");
    }
}

/// Only requests with a `task` member in their params implement [`TaskRequest`]. The test counts the declarations in
/// the sources, because it cannot check that an impl is missing.
#[test]
fn only_these_requests_implement_task_request() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../generated/src");
    for (module, requests, with_task) in [
        ("v2024_11_05", 15, 0),
        ("v2025_03_26", 15, 0),
        ("v2025_06_18", 16, 0),
        ("v2025_11_25", 20, 3),
        ("v2026_07_28", 13, 0),
    ] {
        let entries = std::fs::read_dir(folder.join(module)).unwrap_or_else(|error| panic!("{module}: {error}"));
        let texts: String = entries.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok()).collect();
        let declared: Vec<&str> =
            texts.split("codec::request! {").skip(1).filter_map(|it| it.split('}').next()).collect();
        let found = declared.iter().filter(|declaration| declaration.contains(", task ")).count();
        assert_eq!((declared.len(), found), (requests, with_task), "{module}");
    }
}
