//! Lists that are computed for each request, and calls to items that are not registered.
#![cfg(all(feature = "http-server", feature = "http-client"))]

use std::collections::BTreeMap;

use mcpgen_sdk::protocol::cache_hints::CacheHint;
use mcpgen_sdk::server::{Item, Page, ToolInfo};
use mcpgen_sdk::{BoxError, Client, Context, Server, ServerBuilder};
use mcpgen_types::v2026_07_28::{
    ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest, Prompt, Resource,
    ResourceTemplate, Tool, ToolInputSchema,
};
use mcpgen_types::{ErrorCode, ErrorObject, Revision};
use serde_json::{Value, json};

use crate::change_filter::{connect, serve};
use crate::visible_to::answer;

fn user(context: &Context) -> String {
    context.principal().map_or_else(String::new, |user| user.name().to_owned())
}

/// Returns a page of a user's items. The first page has three items, of which one is also registered and one is hidden.
/// The second page has one item.
fn items<T>(context: &Context, cursor: Option<&str>, item: impl Fn(&str) -> T) -> Result<Page<T>, BoxError> {
    let user = user(context);
    match cursor {
        None => Ok(Page {
            items: [&*format!("{user}1"), "both", "secret2"].map(item).into(),
            next_cursor: Some("second".to_owned()),
        }),
        Some("second") => Ok(vec![item(&format!("{user}3"))].into()),
        Some(_) => Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, "unknown cursor").into()),
    }
}

fn uri(name: &str) -> String {
    format!("x:{name}")
}

/// Items with `secret` in their names are hidden from all users.
fn server(page_size: usize) -> ServerBuilder {
    let hint = CacheHint { fresh_for: std::time::Duration::from_secs(1), public: true };
    let tool = |name: &str| Tool::new(name, ToolInputSchema::new());
    let builder = ["both", "registered", "secret"].into_iter().fold(Server::builder("s", "1"), |builder, name| {
        builder
            .tool(ToolInfo::new(name), || async { "registered" })
            .resource(Resource::new(uri(name), name), || async { "registered" })
            .resource_template(ResourceTemplate::new(uri(name), name), || async { "registered" })
            .prompt(Prompt::new(name), || async { "registered" })
    });
    builder
        .page_size(page_size)
        .cache_hint::<ListToolsRequest>(hint)
        .cache_hint::<ListResourcesRequest>(hint)
        .cache_hint::<ListResourceTemplatesRequest>(hint)
        .cache_hint::<ListPromptsRequest>(hint)
        .tool_list(move |context, cursor| async move { items(&context, cursor.as_deref(), tool) })
        .resource_list(|context, cursor| async move {
            items(&context, cursor.as_deref(), |name| Resource::new(uri(name), name))
        })
        .resource_template_list(|context, cursor| async move {
            items(&context, cursor.as_deref(), |name| ResourceTemplate::new(uri(name), name))
        })
        .prompt_list(|context, cursor| async move { items(&context, cursor.as_deref(), |name| Prompt::new(name)) })
        .tool_fallback(|context, name, arguments| async move {
            let is_known = name == format!("{}1", user(context.context())) || name == "secret";
            is_known.then(|| format!("computed {name} {}", mcpgen_types::to_string(&arguments)))
        })
        .prompt_fallback(|context, name, arguments| async move {
            let is_known = name == format!("{}1", user(context.context())) || name == "secret";
            is_known.then(|| format!("computed {name} {}", arguments.len()))
        })
        .resource_template(
            ResourceTemplate::new("x:{name}", "computed"),
            |context: Context, variables: BTreeMap<String, String>| async move {
                let is_known = variables["name"] == format!("{}1", user(&context)) || variables["name"] == "secret";
                is_known.then(|| format!("computed {}", variables["name"]))
            },
        )
        .completion(|| async { vec!["value".to_owned()] })
        .visible_to(|_, item| !item.key().contains("secret"))
}

/// The method, the result's member with the items, the items' member with their names, and the prefix of the names.
const LISTS: [(&str, &str, &str, &str); 4] = [
    ("tools/list", "tools", "name", ""),
    ("resources/list", "resources", "uri", "x:"),
    ("resources/templates/list", "resourceTemplates", "uriTemplate", "x:"),
    ("prompts/list", "prompts", "name", ""),
];

#[tokio::test]
async fn computed_items_follow_the_registered_ones() {
    for page_size in [1, 2, 100] {
        let url = serve(&server(page_size).build()).await;
        for (revision, user) in Revision::ALL.iter().flat_map(|revision| ["ann", "bob"].map(|user| (*revision, user))) {
            let client = connect(&url, user, revision).await;
            for (method, list, key, prefix) in LISTS {
                let (mut pages, mut params) = (Vec::new(), json!({}));
                loop {
                    let page = answer(&client, method, &params).await["result"].take();
                    let at = format!("{method} for {user} in {revision}, pages of {page_size}: {page}");
                    let names = page[list].as_array().expect(&at).iter().map(|item| item[key].as_str().expect(&at));
                    pages.push(names.map(|name| name.strip_prefix(prefix).expect(&at).to_owned()).collect::<Vec<_>>());
                    assert!(revision.is_legacy() || page["cacheScope"] == "private", "{at}");
                    let Some(cursor) = page["nextCursor"].as_str() else { break };
                    params = json!({ "cursor": cursor });
                }
                let mut registered = vec!["both", "registered"];
                registered.extend((list == "resourceTemplates").then_some("{name}"));
                let mut expected: Vec<Vec<String>> =
                    registered.chunks(page_size).map(|page| page.iter().map(ToString::to_string).collect()).collect();
                expected.last_mut().expect("a page").push(format!("{user}1"));
                expected.push(vec![format!("{user}3")]);
                assert_eq!(pages, expected, "{method} for {user} in {revision}, pages of {page_size}");
            }
        }
    }
}

#[tokio::test]
async fn unknown_cursors_are_errors() {
    let url = serve(&server(1).build()).await;
    for revision in Revision::ALL.iter().copied() {
        let client = connect(&url, "ann", revision).await;
        for (method, _, _, _) in LISTS {
            for (kind, cursor) in [("", "x"), ("computed tool", "third"), ("computed prompt", "third"), ("tool", "")] {
                let of_list = method.starts_with(&format!("{}s", kind.rsplit(' ').next().unwrap_or_default()));
                if kind == "tool" && of_list {
                    continue;
                }
                let cursor = mcpgen_sdk::server::encode_cursor(kind, cursor);
                let answer = answer(&client, method, &json!({ "cursor": cursor })).await;
                assert_eq!(answer["error"]["code"], -32602, "{method} {kind} in {revision}: {answer}");
                let is_computed = answer["error"]["message"] == "unknown cursor";
                assert_eq!(is_computed, kind.starts_with("computed") && of_list, "{method} {kind}: {answer}");
            }
        }
    }
}

/// Sends a request, and returns the text of the result or the message of the error.
async fn text_of(client: &Client, method: &str, params: &Value) -> String {
    let answer = answer(client, method, params).await;
    let places = ["/result/content/0/text", "/result/messages/0/content/text", "/result/contents/0/text"];
    let text = places.into_iter().chain(["/error/message"]).find_map(|place| answer.pointer(place)?.as_str());
    text.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[tokio::test]
async fn fallbacks_handle_what_is_not_registered() {
    let url = serve(&server(100).build()).await;
    for (revision, user) in Revision::ALL.iter().flat_map(|revision| ["ann", "bob"].map(|user| (*revision, user))) {
        let client = connect(&url, user, revision).await;
        for (name, registered, computed) in [
            ("both", true, false),
            ("ann1", false, user == "ann"),
            ("bob1", false, user == "bob"),
            // A hidden tool is like one that is not registered.
            ("secret", false, true),
            ("unknown", false, false),
        ] {
            let expected = |computed_text: String, unknown: String| match (registered, computed) {
                (true, _) => "registered".to_owned(),
                (_, true) => computed_text,
                _ => unknown,
            };
            for (method, params, of_computed, unknown) in [
                (
                    "tools/call",
                    json!({ "name": name, "arguments": { "a": 1 } }),
                    format!("computed {name} {{\"a\":1}}"),
                    format!("unknown tool {name:?}"),
                ),
                (
                    "prompts/get",
                    json!({ "name": name, "arguments": { "a": "1" } }),
                    format!("computed {name} 1"),
                    format!("unknown prompt {name:?}"),
                ),
                (
                    "resources/read",
                    json!({ "uri": uri(name) }),
                    format!("computed {name}"),
                    "resource not found".to_owned(),
                ),
            ] {
                let found = text_of(&client, method, &params).await;
                assert_eq!(found, expected(of_computed, unknown), "{method} {name} for {user} in {revision}");
            }
        }
        let params =
            json!({ "ref": { "type": "ref/prompt", "name": "ann1" }, "argument": { "name": "a", "value": "" } });
        let completed = answer(&client, "completion/complete", &params).await;
        assert_eq!(completed["result"]["completion"]["values"], json!(["value"]), "{revision}");
    }
}

/// The capability is declared and the list is served, although nothing is registered.
#[tokio::test]
async fn a_server_may_have_only_computed_items() {
    let server = Server::builder("s", "1")
        .tool_list(|_, _| async { Ok(vec![Tool::new("a", ToolInputSchema::new())].into()) })
        .tool_fallback(|_, name, _| async move { (name == "a").then_some(()) })
        .build();
    for revision in Revision::ALL.iter().copied() {
        let client = connect(&serve(&server).await, "", revision).await;
        let names: Vec<String> = client.tools().await.expect("tools").iter().map(|tool| tool.name.clone()).collect();
        assert_eq!(names, ["a"], "{revision}");
        assert!(client.call_tool("a", Default::default()).await.is_ok(), "{revision}");
        assert!(client.call_tool("b", Default::default()).await.is_err(), "{revision}");
        assert!(client.prompts().await.is_err(), "{revision}");
    }
}

/// `Item::key` is the same text as the name of the item in lists.
#[test]
fn items_have_keys() {
    let (tool, resource) = (Tool::new("t", ToolInputSchema::new()), Resource::new("x:r", "r"));
    let (template, prompt) = (ResourceTemplate::new("x:{v}", "v"), Prompt::new("p"));
    let items =
        [Item::Tool(&tool), Item::Resource(&resource), Item::ResourceTemplate(&template), Item::Prompt(&prompt)];
    assert_eq!(items.map(Item::key), ["t", "x:r", "x:{v}", "p"]);
}
