//! Servers that claim what belongs to others, and clients that look for what is hidden from them.

use mcpgen_gateway::{Config, Prefix, Rules, ServerConfig};
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::{CallError, Client};
use mcpgen_types::v2026_07_28::{SubscriptionFilter, TextOrBlobResourceContents};
use mcpgen_types::{Json, Revision};
use serde_json::json;

use crate::support::{
    client, connect, example, for_all_eras, gateway, in_time, process, text, tool_names, two_servers,
};

/// The server `b`, and a server `a` that lists what belongs to `b`.
fn with_raw_server(behind: Revision, arguments: &[&str]) -> Config {
    let mut config = two_servers(behind);
    let path = example("raw_server");
    let raw = ServerConfig::of_command(path.to_str().expect("UTF-8"), arguments.iter().copied());
    config.servers.insert("a".to_owned(), raw);
    config
}

async fn read(client: &Client, uri: &str) -> Result<(String, String), CallError> {
    let read = in_time(client.read_resource(uri)).await?;
    match &read.contents[..] {
        [TextOrBlobResourceContents::TextResourceContents(contents)] => {
            Ok((contents.uri.clone(), contents.text.clone()))
        }
        contents => panic!("{uri}: {contents:?}"),
    }
}

async fn call_raw(client: &Client, params: serde_json::Value) -> Result<String, CallError> {
    let result = in_time(client.peer().raw_request("tools/call", Some(Json::from(&params)))).await?;
    Ok(result.text().to_owned())
}

#[tokio::test]
async fn a_server_cannot_take_the_names_of_another() {
    for_all_eras(|front, behind| async move {
        for prefix in [Prefix::Clash, Prefix::Always] {
            let mut config = with_raw_server(behind, &[]);
            config.prefix = prefix;
            let client = connect(&gateway(config), client(front)).await;
            let names = tool_names(&client).await;
            assert!(names.contains(&"a__b__greet".to_owned()), "{names:?}");
            assert_eq!(text(&client, "b__greet").await, "hello from b");
            let taken = read(&client, "b+file:///shared").await.expect("a resource");
            let seen = if prefix == Prefix::Always { "b+file:///shared" } else { "file:///shared" };
            assert_eq!(taken, (seen.to_owned(), "b".to_owned()));
            let own = read(&client, "a+b+file:///shared").await.expect("a resource");
            assert_eq!(own, ("a+b+file:///shared".to_owned(), "from raw".to_owned()));
            let resources = in_time(client.resources()).await.expect("resources");
            let uris: Vec<_> = resources.iter().map(|it| &*it.uri).collect();
            match prefix {
                // The URIs and templates of each server begin with its name, and other URIs belong to no server.
                Prefix::Always => {
                    assert!(uris.iter().all(|uri| uri.starts_with("a+") || uri.starts_with("b+")), "{uris:?}");
                    let templates = in_time(client.resource_templates()).await.expect("templates");
                    assert_eq!(templates.iter().map(|it| &*it.uri_template).collect::<Vec<_>>(), ["a+file:///{+path}"]);
                    assert!(read(&client, "file:///public/a").await.is_err());
                }
                Prefix::Clash => assert!(uris.contains(&"file:///public/a"), "{uris:?}"),
            }
            assert_eq!(uris.iter().filter(|uri| **uri == seen).count(), 1, "{uris:?}");
        }
    })
    .await;
}

/// A rule that allows the tools of one server does not allow a tool of another that imitates their names.
#[tokio::test]
async fn a_server_cannot_take_what_is_allowed_to_another() {
    let mut config = with_raw_server(Revision::LATEST, &[]);
    config.tools = serde_json::from_value(json!({ "allow": ["b__*"] })).expect("rules");
    config.resources = serde_json::from_value(json!({ "allow": ["b+*:*"] })).expect("rules");
    let client = connect(&gateway(config), client(Revision::LATEST)).await;
    assert_eq!(tool_names(&client).await, ["greet", "link", "only_b"]);
    let resources = in_time(client.resources()).await.expect("resources");
    assert_eq!(resources.iter().map(|it| &*it.uri).collect::<Vec<_>>(), ["b:///note", "file:///shared"]);
    assert!(read(&client, "a+b+file:///shared").await.is_err());
}

#[tokio::test]
async fn rules_hold_for_every_spelling_of_a_uri() {
    let rules = |rules: serde_json::Value| serde_json::from_value::<Rules>(rules).expect("rules");
    let mut denied = with_raw_server(Revision::LATEST, &[]);
    denied.resources = rules(json!({ "deny": ["file:///secret/*"] }));
    let mut allowed = with_raw_server(Revision::LATEST, &[]);
    allowed.resources = rules(json!({ "allow": ["file:///public/*"] }));
    let denied = connect(&gateway(denied), client(Revision::LATEST)).await;
    let allowed = connect(&gateway(allowed), client(Revision::LATEST)).await;
    for (uri, is_denied) in [
        ("file:///public/b", false),
        ("file:///public/./b", false),
        ("file:///public/b%20c", false),
        ("file:///public/../secret/key", true),
        ("file:///public/%2e%2e/secret/key", true),
        ("file:///public/%252e%252e/secret/key", true),
        ("file:///public/..%2fsecret/key", true),
        ("file:///public/..\\secret\\key", true),
        ("file:///public/a?/../../secret/key", true),
        ("file:///public/../secret/key?/../../public/b", true),
        ("file:///public/../secret/key#/../../public/b", true),
    ] {
        assert_eq!(read(&denied, uri).await.is_err(), is_denied, "{uri}");
        assert_eq!(read(&allowed, uri).await.is_err(), is_denied, "{uri}");
    }
    for uri in ["file:///%73ecret/key", "FILE:///secret/key", "file:////secret/key", "file:///%2573ecret/key"] {
        assert!(read(&denied, uri).await.is_err(), "{uri}");
    }
}

#[tokio::test]
async fn a_member_with_another_case_is_refused() {
    for revision in crate::support::ERAS {
        let client = connect(&gateway(with_raw_server(Revision::LATEST, &[])), client(revision)).await;
        tool_names(&client).await;
        let meta = match revision.is_legacy() {
            true => json!({}),
            false => json!({ "io.modelcontextprotocol/protocolVersion": revision.as_str(),
                "io.modelcontextprotocol/clientCapabilities": {} }),
        };
        let fine = json!({ "name": "params", "arguments": { "Name": "x" }, "_meta": meta });
        let sent = call_raw(&client, fine.clone()).await.expect("a result");
        assert!(sent.contains("params"), "{sent}");
        // Of duplicate members, the gateway checks the last, so the server must get only that one.
        let twice = format!(r#"{{"name":"hidden",{}"#, &fine.to_string()[1..]);
        let twice = Json::parse(twice).expect("JSON");
        let sent = in_time(client.peer().raw_request("tools/call", Some(twice))).await.expect("a result");
        assert!(!sent.text().contains("hidden"), "{sent}");
        for member in ["Name", "NAME", "Arguments"] {
            let mut params = fine.clone();
            params[member] = json!("no schema");
            let refused = call_raw(&client, params).await.expect_err(member).to_string();
            assert!(refused.contains(member), "{refused}");
        }
    }
}

/// A client and a server behind the gateway belong to one trace.
#[tokio::test]
async fn the_trace_context_is_passed_on() {
    for_all_eras(|front, behind| async move {
        let client = connect(&gateway(with_raw_server(behind, &[])), client(front)).await;
        tool_names(&client).await;
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let mut meta = json!({ "traceparent": trace });
        if !front.is_legacy() {
            meta["io.modelcontextprotocol/protocolVersion"] = json!(front.as_str());
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        let sent = call_raw(&client, json!({ "name": "params", "arguments": {}, "_meta": meta })).await;
        assert!(sent.expect("a result").contains(trace));
    })
    .await;
}

/// Pages reveal nothing about what is hidden from a client.
#[tokio::test]
async fn cursors_do_not_reveal_hidden_names() {
    let mut config = two_servers(Revision::LATEST);
    config.page_size = Some(3);
    config.tools = serde_json::from_value(json!({ "deny": ["crash", "echo"] })).expect("rules");
    let client = connect(&gateway(config), client(Revision::LATEST)).await;
    tool_names(&client).await;
    let mut pages = Vec::new();
    for name in ["crash", "nothing"] {
        let cursor = mcpgen_sdk::server::encode_cursor("tools", &format!("1 {name}"));
        let params = Json::from(&json!({ "cursor": cursor }));
        let page = in_time(client.peer().raw_request("tools/list", Some(params))).await.expect("a page");
        pages.push(page.text().to_owned());
    }
    assert_eq!(pages[0], pages[1]);
}

/// An invalid item hides only itself, and a list that fails hides no other list.
#[tokio::test]
async fn an_invalid_item_hides_no_other() {
    for_all_eras(|front, behind| async move {
        let valid = connect(&gateway(with_raw_server(behind, &[])), client(front)).await;
        let names = tool_names(&valid).await;
        assert!(names.contains(&"params".to_owned()) && names.contains(&"ask".to_owned()), "{names:?}");
        let client = connect(&gateway(with_raw_server(behind, &["fail-tools"])), client(front)).await;
        assert_eq!(tool_names(&client).await.len(), 3);
        assert!(in_time(client.resources()).await.expect("resources").iter().any(|it| it.uri == "a:///folder"));
    })
    .await;
}

#[tokio::test]
async fn pinning_fails_if_a_list_fails() {
    let gateway = gateway(with_raw_server(Revision::LATEST, &["fail-tools"]));
    let failed = in_time(gateway.pin()).await.expect_err("a list has failed").join("\n");
    assert!(failed.contains("server `a`") && failed.contains("tools/list") && failed.contains("no list"), "{failed}");
    let checked = in_time(gateway.check()).await;
    let outcomes: Vec<_> = checked.iter().map(|it| (&*it.name, it.outcome.is_ok())).collect();
    assert_eq!(outcomes, [("a", false), ("b", true)]);
}

/// A subscription covers the parts of a resource, under the URI that the client subscribed to.
#[tokio::test]
async fn changes_of_parts_reach_their_subscribers() {
    for_all_eras(|front, behind| async move {
        for (subscribed, expected) in [("a:///folder", "a:///folder/part"), ("a+a:///folder", "a+a:///folder/part")] {
            let client = connect(&gateway(with_raw_server(behind, &[])), client(front)).await;
            tool_names(&client).await;
            let filter = SubscriptionFilter::new().with_resource_subscriptions([subscribed.to_owned()]);
            let mut changes = in_time(client.changes(filter)).await.expect("a subscription");
            text(&client, "params").await;
            let change = async {
                loop {
                    let change = changes.try_next().await.expect("a subscription").expect("a change");
                    if let Change::Resource(uri) = change {
                        return uri;
                    }
                }
            };
            assert_eq!(in_time(change).await, expected);
        }
    })
    .await;
}

/// The user must see which server asks.
#[tokio::test]
async fn requests_of_servers_name_the_server() {
    use mcpgen_types::v2026_07_28::{ElicitRequestParams, ElicitResult, ElicitResultAction};

    for_all_eras(|front, behind| async move {
        let can_elicit = |revision: Revision| revision.method("elicitation/create").is_some();
        if !can_elicit(front) || !can_elicit(behind) {
            return;
        }
        for (servers, expected) in [(2, "[server `a`] name?"), (1, "name?")] {
            let (sender, mut asked) = tokio::sync::mpsc::unbounded_channel();
            let client = client(front).on_elicitation(move |_, params| {
                let message = match params {
                    ElicitRequestParams::ElicitRequestFormParams(form) => form.message,
                    other => format!("{other:?}"),
                };
                let _ = sender.send(message);
                async { Ok(ElicitResult::new(ElicitResultAction::Accept)) }
            });
            let mut config = two_servers(behind);
            if servers == 1 {
                config.servers = [("a".to_owned(), process("a", behind, &[]))].into();
            }
            let client = connect(&gateway(config), client).await;
            text(&client, "elicit").await;
            assert_eq!(in_time(asked.recv()).await.as_deref(), Some(expected));
        }
    })
    .await;
}
