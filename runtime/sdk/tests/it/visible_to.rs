//! Tools, resources, resource templates and prompts that only some users can see.
#![cfg(all(feature = "http-server", feature = "http-client"))]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcpgen_cluster::MemoryHub;
use mcpgen_sdk::client::Changes;
use mcpgen_sdk::http::server::{EndpointOptions, ServeHttp};
use mcpgen_sdk::peer::CallError;
use mcpgen_sdk::protocol::ContextExt;
use mcpgen_sdk::protocol::cache_hints::CacheHint;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::server::{Item, ToolInfo, decode_cursor};
use mcpgen_sdk::{Client, Context, Server, ServerBuilder};
use mcpgen_types::v2026_07_28::{
    ListResourcesRequest, ListToolsRequest, Prompt, PromptArgument, ReadResourceRequest, Resource, ResourceTemplate,
};
use mcpgen_types::{JsonObject, Revision};
use serde_json::{Value, json};

use crate::change_filter::{connect, receive, resource, serve, subscribe};
use crate::support::requests::{read, request, send_as};

/// Only Ann sees items whose names contain `secret`.
fn is_visible(context: &Context, item: Item<'_>) -> bool {
    let name = match item {
        Item::Tool(tool) => &tool.name,
        Item::Resource(resource) => &resource.uri,
        Item::ResourceTemplate(template) => &template.uri_template,
        Item::Prompt(prompt) => &prompt.name,
        _ => return false,
    };
    !name.contains("secret") || context.principal().is_some_and(|user| user.name() == "ann")
}

fn tool(name: &str) -> ToolInfo {
    ToolInfo::new(name).property("region", json!({ "type": "string", "x-mcp-header": "Region" }))
}

fn prompt(name: &str) -> Prompt {
    Prompt::new(name).with_arguments([PromptArgument::new("a")])
}

fn server() -> ServerBuilder {
    Server::builder("s", "1")
        .tool(tool("a_secret"), || async { "done" })
        .tool(tool("b"), || async { "done" })
        .tool(tool("c_secret"), || async { "done" })
        .tool(tool("d"), || async { "done" })
        .tool(tool("e_secret"), || async { "done" })
        .resource(Resource::new("note:///a_secret", "a"), || async { "text" })
        .resource(Resource::new("note:///b", "b"), || async { "text" })
        .resource(Resource::new("note:///last", "last"), || async { "text" })
        .resource(Resource::new("note:///z_secret", "z"), || async { "text" })
        .resource_template(ResourceTemplate::new("item:///secret/{id}", "i"), || async { "text" })
        .resource_template(ResourceTemplate::new("item:///known/{id}", "i"), || async { "text" })
        .prompt(prompt("a_secret"), || async { "text" })
        .prompt(prompt("b"), || async { "text" })
        .prompt(prompt("c_secret"), || async { "text" })
        .prompt_completion("a_secret", "a", || async { vec!["value".to_owned()] })
        .completion(|| async { vec!["value".to_owned()] })
        .visible_to(is_visible)
}

fn object(value: &Value) -> JsonObject {
    mcpgen_types::Json::from(value).decode().expect("an object")
}

/// Sends a request. Returns its result or its error as JSON.
pub(crate) async fn answer(client: &Client, method: &str, params: &Value) -> Value {
    match client.raw_call(method, object(params)).await {
        Ok(result) => json!({ "result": mcpgen_types::to_value(&result).expect("JSON") }),
        Err(CallError::ErrorResponse(error)) => json!({ "error": mcpgen_types::to_value(&error).expect("JSON") }),
        Err(error) => json!({ "failed": error.to_string() }),
    }
}

/// The method, the params, and two names to put in place of `{}`: that of a hidden item, and one that no item has.
const REQUESTS: [(&str, &str, &str, &str); 8] = [
    ("tools/call", r#"{"name":"{}"}"#, "a_secret", "a_secrex"),
    ("tools/call", r#"{"name":"{}","arguments":{"other":"x"},"unknown":1}"#, "a_secret", "a_secrex"),
    ("prompts/get", r#"{"name":"{}"}"#, "a_secret", "a_secrex"),
    ("resources/read", r#"{"uri":"{}"}"#, "note:///a_secret", "note:///a_secrex"),
    ("resources/read", r#"{"uri":"{}"}"#, "item:///secret/1", "item:///secrex/1"),
    (
        "completion/complete",
        r#"{"ref":{"type":"ref/prompt","name":"{}"},"argument":{"name":"a","value":""}}"#,
        "a_secret",
        "a_secrex",
    ),
    (
        "completion/complete",
        r#"{"ref":{"type":"ref/prompt","name":"{}"},"argument":{"name":"a","value":""}}"#,
        "c_secret",
        "c_secrex",
    ),
    (
        "completion/complete",
        r#"{"ref":{"type":"ref/resource","uri":"{}"},"argument":{"name":"id","value":""}}"#,
        "item:///secret/{id}",
        "item:///secrex/{id}",
    ),
];

#[tokio::test]
async fn hidden_items_are_answered_like_items_that_do_not_exist() {
    let url = serve(&server().build()).await;
    for revision in Revision::ALL.iter().copied() {
        for (user, sees) in [("ann", true), ("bob", false), ("", false)] {
            let client = connect(&url, user, revision).await;
            for (method, params, hidden, unknown) in REQUESTS {
                let ask = async |name: &str| {
                    let params = serde_json::from_str(&params.replace("{}", name)).expect("JSON");
                    answer(&client, method, &params).await.to_string().replace(name, "…")
                };
                let (of_hidden, of_unknown) = (ask(hidden).await, ask(unknown).await);
                assert_eq!(of_hidden != of_unknown, sees, "{user:?} {method} {hidden} in {revision}: {of_hidden}");
                assert!(sees || !of_unknown.contains("secret"), "{user:?} {method} in {revision}: {of_unknown}");
                assert!(!sees || of_hidden.contains("result"), "{user:?} {method} in {revision}: {of_hidden}");
            }
            for uri in ["note:///a_secret", "note:///a_secrex", "note:///b"] {
                let subscribed = subscribe(&client, &[uri]).await;
                assert!(subscribed.is_ok(), "{user:?} {uri} in {revision}: {:?}", subscribed.err());
            }
        }
    }
}

#[tokio::test]
async fn headers_of_a_hidden_tool_are_not_checked() {
    let endpoint = server().build().http(EndpointOptions::default()).expect("a sound server");
    for (user, name, expected) in [
        ("ann", "a_secret", (400, -32020)),
        ("bob", "a_secret", (200, -32602)),
        ("bob", "a_secrex", (200, -32602)),
        ("bob", "b", (400, -32020)),
    ] {
        let params = json!({
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
            "name": name,
            "arguments": { "region": "north" },
        });
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", name)];
        let body = request(1, "tools/call", params);
        let (status, _, events) = read(send_as(Some(user), &endpoint, "POST", &headers, &body).await).await;
        let code = events[0].json()["error"]["code"].as_i64().expect("an error");
        assert_eq!((status, code), expected, "{user} {name}");
    }
}

/// The method, the result's member with the items, the items' member with their names, and the kind of cursor.
const LISTS: [(&str, &str, &str, &str); 4] = [
    ("tools/list", "tools", "name", "tool"),
    ("resources/list", "resources", "uri", "resource"),
    ("resources/templates/list", "resourceTemplates", "uriTemplate", "resource template"),
    ("prompts/list", "prompts", "name", "prompt"),
];

#[tokio::test]
async fn lists_have_full_pages_of_what_a_user_sees() {
    for size in [1, 2, 100] {
        let hint = CacheHint { fresh_for: std::time::Duration::from_secs(1), public: true };
        let server = server().page_size(size).cache_hint::<ListToolsRequest>(hint);
        let url = serve(&server.build()).await;
        for (revision, user) in
            Revision::ALL.iter().flat_map(|revision| ["ann", "bob", ""].map(|user| (*revision, user)))
        {
            let client = connect(&url, user, revision).await;
            for (method, list, key, kind) in LISTS {
                let expected: Vec<&str> = match list {
                    "tools" => vec!["a_secret", "b", "c_secret", "d", "e_secret"],
                    "resources" => vec!["note:///a_secret", "note:///b", "note:///last", "note:///z_secret"],
                    "resourceTemplates" => vec!["item:///known/{id}", "item:///secret/{id}"],
                    _ => vec!["a_secret", "b", "c_secret"],
                };
                let mut expected = expected;
                expected.retain(|name| user == "ann" || !name.contains("secret"));
                let (mut found, mut params) = (Vec::new(), json!({}));
                loop {
                    let page = answer(&client, method, &params).await["result"].take();
                    let at = format!("{method} for {user:?} in {revision}, pages of {size}: {page}");
                    let items = page[list].as_array().expect(&at);
                    assert_eq!(items.len(), size.min(expected.len() - found.len()), "{at}");
                    found.extend(items.iter().map(|item| item[key].as_str().expect(&at).to_owned()));
                    assert!(revision.is_legacy() || page["cacheScope"] == "private", "{at}");
                    let Some(cursor) = page["nextCursor"].as_str() else { break };
                    let named = decode_cursor(kind, cursor).expect(&at);
                    assert!(expected.contains(&named.as_str()), "{at}");
                    params = json!({ "cursor": cursor });
                }
                assert_eq!(found, expected, "{method} for {user:?} in {revision}, pages of {size}");
            }
        }
    }
}

/// A hint for shared caches would let a cache answer users who cannot see the item.
#[tokio::test]
async fn results_that_depend_on_the_caller_are_private() {
    let hint = CacheHint { fresh_for: std::time::Duration::from_secs(1), public: true };
    for (depends, expected) in [(true, "private"), (false, "public")] {
        let hinted = |builder: ServerBuilder| {
            let hinted = builder.cache_hint::<ReadResourceRequest>(hint).cache_hint::<ListResourcesRequest>(hint);
            hinted.resource(Resource::new("a:b", "b"), || async { "" })
        };
        let builder = hinted(Server::builder("s", "1"));
        let server = if depends { builder.visible_to(is_visible) } else { builder }.build();
        let client = connect(&serve(&server).await, "ann", Revision::V2026_07_28).await;
        for (method, params) in [("resources/list", json!({})), ("resources/read", json!({ "uri": "a:b" }))] {
            let answer = answer(&client, method, &params).await;
            assert_eq!(answer["result"]["cacheScope"], expected, "{method}, depends: {depends}");
        }
    }
}

const REVISIONS: [Revision; 3] = [Revision::V2025_03_26, Revision::V2025_11_25, Revision::V2026_07_28];

/// A change of the server, and the notification that it causes.
type Changing = (fn(&Server), Change);

#[tokio::test]
async fn only_those_who_see_an_item_are_notified_of_it() {
    let hidden: [Changing; 9] = [
        (|server| add_tool(server, "f_secret"), Change::Tools),
        (|server| assert!(server.remove_tool("a_secret")), Change::Tools),
        (|server| add_resource(server, "note:///f_secret"), Change::Resources),
        (|server| assert!(server.remove_resource("note:///z_secret")), Change::Resources),
        (|server| assert!(server.remove_resource_template("item:///secret/{id}")), Change::Resources),
        (|server| assert!(server.remove_prompt("c_secret")), Change::Prompts),
        (|server| server.changed(&resource("note:///a_secret")), resource("note:///a_secret")),
        (|server| server.changed(&resource("note:///a_secret/part")), resource("note:///a_secret/part")),
        (|server| server.changed(&resource("item:///secret/1")), resource("item:///secret/1")),
    ];
    let visible: [Changing; 6] = [
        (|server| add_tool(server, "f"), Change::Tools),
        (|server| add_resource(server, "note:///f"), Change::Resources),
        (|server| assert!(server.remove_prompt("b")), Change::Prompts),
        (|server| server.changed(&resource("note:///b")), resource("note:///b")),
        (|server| server.changed(&resource("item:///known/1")), resource("item:///known/1")),
        (|server| server.changed(&resource("note:///unknown")), resource("note:///unknown")),
    ];
    let changes = hidden.iter().map(|change| (change, false)).chain(visible.iter().map(|change| (change, true)));
    for ((change, expected), for_all) in changes {
        for revision in REVISIONS {
            let server = server().build();
            let url = serve(&server).await;
            let mut subscriptions: Vec<(Client, Changes, bool)> = Vec::new();
            for (user, sees) in [("ann", true), ("bob", for_all)] {
                let client = connect(&url, user, revision).await;
                let changes = subscribe(&client, &["note:///", "item:///", LAST]).await.expect("allowed");
                subscriptions.push((client, changes, sees));
            }
            change(&server);
            server.changed(&resource(LAST));
            for (_, changes, sees) in &mut subscriptions {
                let expected = Vec::from_iter(sees.then(|| expected.clone()));
                assert_eq!(receive(changes).await, expected, "{expected:?} in {revision:?}");
            }
        }
    }
}

/// The change that ends each test, sorted after all others.
const LAST: &str = "note:///~all";

fn add_tool(server: &Server, name: &str) {
    server.add_tool(tool(name), || async {}).expect("a new tool");
}

fn add_resource(server: &Server, uri: &str) {
    server.add_resource(Resource::new(uri, "r"), || async { "" }).expect("a new resource");
}

#[tokio::test]
async fn other_replicas_do_not_notify_of_resources_that_a_user_cannot_see() {
    for revision in REVISIONS {
        let hub = MemoryHub::new(100, 64 << 10);
        let [serving, other] = [(); 2].map(|()| server().change_bus(hub.replica()).build());
        let url = serve(&serving).await;
        let _other = other.http(EndpointOptions::default()).expect("a sound server");
        let client = connect(&url, "bob", revision).await;
        let mut changes = subscribe(&client, &["note:///", LAST]).await.expect("allowed");
        for uri in ["note:///a_secret", "note:///b", LAST] {
            other.changed(&resource(uri));
        }
        assert_eq!(receive(&mut changes).await, [resource("note:///b")], "{revision:?}");
    }
}

/// The contexts that a legacy session keeps for notifications must not hold the memory of their messages.
#[tokio::test]
async fn kept_contexts_hold_no_memory_of_messages() {
    let server = server().build();
    // A message takes at least about 16 KiB, so this is enough for only a few at a time.
    let options = EndpointOptions::default().with_message_memory(256 << 10);
    let endpoint = server.http(options).expect("a sound server");
    for number in 0..64 {
        let id = crate::support::requests::session_of(Some("ann"), &endpoint, "2025-11-25").await;
        let headers = [("mcp-session-id", id.as_str())];
        let body = request(number, "resources/subscribe", json!({ "uri": "note:///b" }));
        let (status, _, events) = read(send_as(Some("ann"), &endpoint, "POST", &headers, &body).await).await;
        assert_eq!(status, 200, "session {number}: {events:?}");
    }
}

/// The client and the principal are known when a change occurs, in every revision.
#[tokio::test]
async fn notifications_know_who_has_subscribed() {
    for revision in REVISIONS {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let server = Server::builder("s", "1")
            .resource(Resource::new("note:///b", "b"), || async { "" })
            .visible_to(move |context, _| {
                counted.fetch_add(1, Ordering::SeqCst);
                assert_eq!(context.revision(), revision);
                assert!(context.extensions().get::<http::request::Parts>().is_some());
                context.peer_info().is_some_and(|client| client.implementation.get("name").is_some())
            })
            .visible_to(|context, _| context.principal().is_some_and(|user| user.name() == "ann"))
            .build();
        let client = connect(&serve(&server).await, "ann", revision).await;
        let mut changes = subscribe(&client, &["note:///b", LAST]).await.expect("allowed");
        server.changed(&resource("note:///b"));
        server.changed(&resource(LAST));
        assert_eq!(receive(&mut changes).await, [resource("note:///b")], "{revision:?}");
        assert!(calls.load(Ordering::SeqCst) > 0);
        // In legacy revisions, changes to lists need no subscription request, only `notifications/initialized`.
        let client = connect(&serve(&server).await, "ann", revision).await;
        let mut changes = subscribe(&client, &[]).await.expect("allowed");
        // The server may handle the notification after the first changes.
        let notified = async {
            for number in 0.. {
                add_resource(&server, &format!("note:///{number}"));
                let next = tokio::time::timeout(std::time::Duration::from_millis(100), changes.try_next());
                if let Ok(change) = next.await {
                    return change.expect("open").expect("open");
                }
            }
            unreachable!("the numbers do not end")
        };
        let change = tokio::time::timeout(std::time::Duration::from_secs(20), notified).await;
        assert_eq!(change, Ok(Change::Resources), "{revision:?}");
    }
}

#[tokio::test]
async fn a_function_that_panics_hides_items() {
    let server = Server::builder("s", "1")
        .tool(ToolInfo::new("a"), || async {})
        .tool(ToolInfo::new("b"), || async {})
        .visible_to(|_, item| match item {
            Item::Tool(tool) if tool.name == "a" => panic!("a defect"),
            _ => true,
        })
        .build();
    let client = connect(&serve(&server).await, "ann", Revision::V2025_11_25).await;
    let names: Vec<String> = client.tools().await.expect("tools").iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["b"]);
    assert!(client.call_tool("a", JsonObject::new()).await.is_err());
}
