//! Tests a module that extends a revision: which types it shares with the revision, and a server and clients that use it.

use std::any::TypeId;

use mcpgen_extended_schema::acme;
use mcpgen_sdk::prelude::*;
use mcpgen_sdk::transport;
use mcpgen_types::{MethodSet, Notification, Request, v2026_07_28 as official};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Takes the module's `Tool`, so passing the revision's `Tool` compiles only if both are the same type.
fn search_result(tools: Vec<acme::Tool>) -> acme::SearchToolsResult {
    acme::SearchToolsResult::new(tools)
}

#[test]
fn equal_definitions_are_the_types_of_the_revision() {
    let tool = official::Tool::new("echo", official::ToolInputSchema::new());
    assert_eq!(search_result(vec![tool.clone()]).tools, [tool]);
    macro_rules! same {
        ($($name:ident)*) => {
            $(assert_eq!(TypeId::of::<acme::$name>(), TypeId::of::<official::$name>(), stringify!($name));)*
        };
    }
    same! {
        CallToolRequest CallToolResult ContentBlock Tool ToolInputSchema ListToolsRequest ListToolsResult ResourceLink
        ReadResourceRequest InputRequest CancelledNotification
    }
    assert_eq!(acme::INVALID_PARAMS_ERROR, official::INVALID_PARAMS_ERROR);
}

#[test]
fn the_page_shows_the_protocol() {
    let page = include_str!("../../../codegen/docs/own-schemas.md");
    assert!(page.contains(&format!("```json\n{}```", include_str!("../jobs.json"))));
}

#[test]
fn the_page_shows_the_definitions_of_the_request() {
    let page = include_str!("../../../codegen/docs/own-schemas.md");
    let (_, section) = page.split_once("## Write the schema\n").expect("the section");
    let shown = section.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block of JSON");
    let shown: Value = serde_json::from_str(shown).expect("JSON");
    let schema: Value = serde_json::from_str(include_str!("../modern.json")).expect("JSON");
    let definitions = shown.as_object().expect("definitions");
    assert_eq!(definitions.len(), 3);
    for (name, definition) in definitions {
        assert_eq!(definition, &schema["$defs"][name], "{name}");
    }
}

#[test]
fn changed_definitions_and_their_users_are_new_types() {
    macro_rules! differ {
        ($($name:ident)*) => {
            $(assert_ne!(TypeId::of::<acme::$name>(), TypeId::of::<official::$name>(), stringify!($name));)*
        };
    }
    // The definition of `ListResourcesRequest` is equal, but its result is not.
    differ! {
        Resource ListResourcesResult ListResourcesResultResponse ListResourcesRequest
        ClientRequest ClientRequestMethod ClientNotification ServerNotification ServerNotificationMethod
    }
    let resource = acme::Resource::new("catalogue").uri("file:///catalogue.txt").with_owner("library");
    let list = acme::ListResourcesResult::new(acme::CacheScope::Public, vec![resource], 0);
    let result: <acme::ListResourcesRequest as Request>::Result = list;
    assert_eq!(result.resources[0].owner.as_deref(), Some("library"));
}

#[test]
fn message_sets_are_complete() {
    let requests = <acme::ClientRequest as MethodSet>::METHODS;
    let mut known = <official::ClientRequest as MethodSet>::METHODS.to_vec();
    known.push("tools/search");
    known.sort_unstable();
    let mut sorted = requests.to_vec();
    sorted.sort_unstable();
    assert_eq!(sorted, known);
    for method in requests {
        assert_eq!(method.parse::<acme::ClientRequestMethod>().expect("a method").to_string(), *method);
    }
    for (message, is_search) in [
        (json!({ "method": "tools/search", "params": { "query": "x" } }), true),
        (json!({ "method": "tools/call", "params": { "name": "x" } }), false),
    ] {
        let mut message = message;
        message["jsonrpc"] = json!("2.0");
        message["id"] = json!(1);
        message["params"]["_meta"] = json!({
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "c", "version": "1" },
            "io.modelcontextprotocol/protocolVersion": "2026-07-28"
        });
        let request: acme::ClientRequest = mcpgen_types::from_value(message.clone()).expect("a request");
        assert_eq!(matches!(request, acme::ClientRequest::SearchTools(_)), is_search);
        assert_eq!(mcpgen_types::to_value(&request).expect("JSON"), message);
    }
}

#[test]
fn new_messages_belong_to_the_revision() {
    assert_eq!(acme::SearchToolsRequest::VERSION, Revision::V2026_07_28.version());
    assert_eq!(acme::ListResourcesRequest::VERSION, Revision::V2026_07_28.version());
    assert_eq!(acme::ToolsSearchedNotification::VERSION, Revision::V2026_07_28.version());
    assert_eq!(acme::CallToolRequest::VERSION, Revision::V2026_07_28.version());
}

/// Connects a client to a server that has only a router with the module's types. The server sends ratings to `ratings`.
async fn connect(ratings: mpsc::UnboundedSender<u64>) -> Client {
    let router = Router::new()
        .request::<acme::SearchToolsRequest>(|_, params| async move {
            let tool = official::Tool::new(params.query, official::ToolInputSchema::new());
            Ok::<_, ErrorObject>(search_result(vec![tool]))
        })
        .request::<acme::ListResourcesRequest>(|_, _| async {
            let resource = acme::Resource::new("catalogue").uri("file:///catalogue.txt").with_owner("library");
            Ok::<_, ErrorObject>(acme::ListResourcesResult::new(acme::CacheScope::Public, vec![resource], 0))
        })
        .request::<acme::CallToolRequest>(|_, params| async move {
            Ok::<_, ErrorObject>(acme::CallToolResult::new(vec![acme::TextContent::new(params.name).into()]).into())
        })
        .notification::<acme::ToolRatedNotification>(move |_, params| {
            ratings.send(params.stars.get()).expect("the test receives ratings");
            async {}
        });
    assert_eq!(router.revisions(), [Revision::V2026_07_28]);
    let server = LocalInfo::new("acme", "1").capability("tools", json!({})).capability("resources", json!({}));
    let (here, there) = transport::duplex();
    tokio::spawn(serve((server, router), there));
    Client::builder("client", "1").connect(here.0, here.1).await.expect("connected")
}

#[tokio::test]
async fn a_router_serves_shared_changed_and_new_messages() {
    let (ratings, mut rated) = mpsc::unbounded_channel();
    let client = connect(ratings).await;
    assert_eq!(client.revision(), Revision::V2026_07_28);
    let search = acme::SearchToolsRequestParams::new(client.meta(), "echo");
    let found = client.peer().call::<acme::SearchToolsRequest>(search).await.expect("a result");
    assert_eq!(found.tools[0].name, "echo");
    let page = acme::PaginatedRequestParams::new(client.meta());
    let list = client.peer().call::<acme::ListResourcesRequest>(page).await.expect("a list");
    assert_eq!(list.resources[0].owner.as_deref(), Some("library"));
    client.tool("echo").await.expect("called");
    let stars = acme::ToolRatedNotificationParamsStars::try_from(5).expect("at most 5");
    let rating = acme::ToolRatedNotificationParams::new("echo", stars);
    client.peer().notify::<acme::ToolRatedNotification>(rating).await.expect("sent");
    assert_eq!(rated.recv().await, Some(5));
    let missing = client.peer().custom_request::<Value, Value>("tools/serach", &json!({})).expect("params");
    assert!(
        matches!(missing.send().await, Err(CallError::ErrorResponse(error)) if error.message.contains("tools/search"))
    );
}

#[tokio::test]
async fn clients_of_the_revision_are_served() {
    let client = connect(mpsc::unbounded_channel().0).await;
    let page = official::PaginatedRequestParams::new(client.meta());
    let list = client.peer().call::<official::ListResourcesRequest>(page).await.expect("a list");
    assert_eq!(list.resources[0].extra.get("owner").expect("an owner"), "library");
    assert_eq!(client.resources().await.expect("a list").len(), 1);
}
