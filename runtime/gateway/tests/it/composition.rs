//! Several servers as one.

use std::sync::{Arc, Mutex};

use mcpgen_gateway::{Config, Prefix};
use mcpgen_sdk::CallError;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::protocol::{Level, Progress};
use mcpgen_types::v2026_07_28::{
    ContentBlock, ListToolsRequest, PromptReference, ResourceTemplateReference, SubscriptionFilter,
    TextOrBlobResourceContents,
};
use mcpgen_types::{Json, Revision};
use serde_json::json;

use crate::support::{call, client, connect, for_all_eras, gateway, in_time, process, text, tool_names, two_servers};

const TOOLS: [&str; 13] = [
    "a__greet",
    "a__link",
    "cancelled",
    "change",
    "count",
    "crash",
    "echo",
    "elicit",
    "only_a",
    "sample",
    "wait",
    "b__greet",
    "b__link",
];

#[tokio::test]
async fn lists_calls_and_reads() {
    for_all_eras(|front, behind| async move {
        let client = connect(&gateway(two_servers(behind)), client(front)).await;
        let mut names = tool_names(&client).await;
        assert_eq!(names.pop().as_deref(), Some("only_b"));
        names.sort();
        let mut expected = TOOLS.map(str::to_owned);
        expected.sort();
        assert_eq!(names, expected);
        for (tool, expected) in [
            ("a__greet", "hello from a"),
            ("b__greet", "hello from b"),
            ("only_a", "only"),
            // A name with a prefix always works.
            ("b__only_b", "only"),
            ("count", "counted"),
        ] {
            assert_eq!(text(&client, tool).await, expected, "{tool}");
        }
        let resources = in_time(client.resources()).await.expect("resources");
        let uris: Vec<_> = resources.iter().map(|resource| &*resource.uri).collect();
        assert_eq!(uris, ["a:///note", "a+file:///shared", "b:///note", "b+file:///shared"]);
        for (uri, expected) in [
            ("a:///note", Ok(("a:///note", "a"))),
            ("b:///note", Ok(("b:///note", "b"))),
            ("b+file:///shared", Ok(("b+file:///shared", "b"))),
            ("row://1", Ok(("row://1", "a row"))),
            // Ambiguous, because both servers have it.
            ("file:///shared", Err(())),
            ("file:///other", Err(())),
        ] {
            let read = in_time(client.read_resource(uri)).await;
            match (read, expected) {
                (Ok(read), Ok((uri, text))) => {
                    let [TextOrBlobResourceContents::TextResourceContents(contents)] = &read.contents[..] else {
                        panic!("{uri}: {read:?}")
                    };
                    assert_eq!((&*contents.uri, &*contents.text), (uri, text));
                }
                (Err(CallError::ErrorResponse(error)), Err(())) => {
                    let code = if front.has_resource_not_found_code() { -32002 } else { -32602 };
                    assert_eq!(error.code.0, code, "{uri}: {error}");
                }
                (read, expected) => panic!("{uri}: {read:?}, expected {expected:?}"),
            }
        }
        let templates = in_time(client.resource_templates()).await.expect("templates");
        assert_eq!(templates.iter().map(|it| &*it.uri_template).collect::<Vec<_>>(), ["row://{id}"]);
        let prompts = in_time(client.prompts()).await.expect("prompts");
        assert_eq!(prompts.iter().map(|prompt| &*prompt.name).collect::<Vec<_>>(), ["review"]);
        for name in ["review", "a__review"] {
            let prompt = in_time(client.prompt(name, [].into())).await.expect("a prompt");
            assert_eq!(prompt.messages.len(), 1);
            let completed = in_time(client.complete_argument(PromptReference::new(name), "language", "r")).await;
            assert_eq!(completed.expect("completions").total, Some(1), "{name}");
        }
        let reference = ResourceTemplateReference::new("row://{id}");
        let completed = in_time(client.complete_argument(reference, "id", "")).await.expect("completions");
        assert_eq!(completed.total, Some(0));
        let unknown = call(&client, "only_c").await.expect_err("an unknown tool").to_string();
        assert!(unknown.contains(r#"unknown tool "only_c"; did you mean "only_"#), "{unknown}");
        // Revision 2024-11-05 has no resource links, so the result is an error there.
        if front >= Revision::V2025_06_18 && behind >= Revision::V2025_06_18 {
            let linked = call(&client, "b__link").await.expect("a link");
            let [ContentBlock::ResourceLink(link)] = &linked.content[..] else { panic!("{linked:?}") };
            assert_eq!(link.uri, "b+file:///shared");
        }
    })
    .await;
}

#[tokio::test]
async fn relays_requests_of_the_server() {
    for_all_eras(|front, behind| async move {
        let client = connect(&gateway(two_servers(behind)), client(front)).await;
        assert_eq!(text(&client, "sample").await, "model with 0 roots");
        let (first, second) = tokio::join!(text(&client, "sample"), text(&client, "sample"));
        assert_eq!(first, second);
        let can_elicit = |revision: Revision| revision.method("elicitation/create").is_some();
        match can_elicit(front) && can_elicit(behind) {
            true => assert_eq!(text(&client, "elicit").await, "Accept"),
            false => {
                let elicited = call(&client, "elicit").await;
                assert!(elicited.as_ref().map_or(true, |result| result.is_error == Some(true)), "{elicited:?}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn relays_progress_logs_and_cancellation() {
    for_all_eras(|front, behind| async move {
        let (sender, mut logged) = tokio::sync::mpsc::unbounded_channel();
        let client = client(front).on_log(Level::Info, move |message| {
            let _ = sender.send((message.logger, message.data));
            async {}
        });
        let client = connect(&gateway(two_servers(behind)), client).await;
        let reports = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&reports);
        let count = client.tool("count").on_progress(move |report: Progress| {
            seen.lock().expect("no panic").push(report.progress);
        });
        in_time(count).await.expect("a result");
        assert_eq!(*reports.lock().expect("no panic"), [1.0, 2.0]);
        assert_eq!(text(&client, "b__greet").await, "hello from b");
        let (logger, data) = in_time(logged.recv()).await.expect("a message");
        assert_eq!((logger.as_deref(), data), (Some("b"), Json::from("greeting")));
        let (begun, mut has_begun) = tokio::sync::mpsc::channel(1);
        let waiting = client.clone();
        let call = tokio::spawn(async move {
            let report = move |_: Progress| begun.try_send(()).unwrap_or_default();
            waiting.tool("wait").on_progress(report).await
        });
        in_time(has_begun.recv()).await.expect("a report");
        call.abort();
        assert_eq!(text(&client, "cancelled").await, "cancelled");
    })
    .await;
}

#[tokio::test]
async fn relays_changes() {
    for_all_eras(|front, behind| async move {
        let client = connect(&gateway(two_servers(behind)), client(front)).await;
        tool_names(&client).await;
        let filter = SubscriptionFilter::new()
            .with_tools_list_changed(true)
            .with_resource_subscriptions(["a+file:///shared".to_owned()]);
        let mut changes = in_time(client.changes(filter)).await.expect("a subscription");
        assert_eq!(text(&client, "change").await, "changed");
        let mut expected = vec![Change::Tools, Change::Resource("a+file:///shared".to_owned())];
        while !expected.is_empty() {
            let change = in_time(changes.try_next()).await.expect("a subscription").expect("a change");
            expected.retain(|expected| *expected != change);
        }
    })
    .await;
}

#[tokio::test]
async fn pages_have_a_stable_order() {
    let mut config = two_servers(Revision::LATEST);
    config.page_size = Some(5);
    let client = connect(&gateway(config), client(Revision::LATEST)).await;
    let (mut pages, mut sizes, mut names) = (client.pages::<ListToolsRequest>(), Vec::new(), Vec::new());
    while let Some(page) = in_time(pages.try_next()).await.expect("a page") {
        sizes.push(page.tools.len());
        names.extend(page.tools.into_iter().map(|tool| tool.name));
    }
    assert_eq!(sizes, [5, 5, 4]);
    assert_eq!(names, tool_names(&client).await);
    let params = Json::from(&json!({ "cursor": "elsewhere" }));
    let refused = client.peer().raw_request("tools/list", Some(params)).await.expect_err("an unknown cursor");
    assert!(refused.to_string().contains("not a cursor of this list"), "{refused}");
}

#[tokio::test]
async fn a_prefix_for_all_names() {
    let mut config = two_servers(Revision::LATEST);
    config.prefix = Prefix::Always;
    let client = connect(&gateway(config), client(Revision::LATEST)).await;
    let names = tool_names(&client).await;
    assert!(names.iter().all(|name| name.starts_with("a__") || name.starts_with("b__")), "{names:?}");
    assert_eq!(text(&client, "a__only_a").await, "only");
}

/// One server keeps its names and URIs.
#[tokio::test]
async fn one_server_is_not_changed() {
    for_all_eras(|front, behind| async move {
        let mut config = Config::default();
        config.servers.insert("a".to_owned(), process("a", behind, &[]));
        let client = connect(&gateway(config), client(front)).await;
        let names = tool_names(&client).await;
        assert!(names.contains(&"greet".to_owned()), "{names:?}");
        let read = in_time(client.read_resource("file:///shared")).await.expect("a resource");
        assert_eq!(read.contents.len(), 1);
    })
    .await;
}

/// The servers have different revisions.
#[tokio::test]
async fn servers_of_all_eras_at_once() {
    let mut config = Config::default();
    for (name, revision) in
        [("a", crate::support::ERAS[0]), ("b", crate::support::ERAS[1]), ("c", crate::support::ERAS[2])]
    {
        config.servers.insert(name.to_owned(), process(name, revision, &[]));
    }
    let gateway = gateway(config);
    for front in crate::support::ERAS {
        let client = connect(&gateway, client(front)).await;
        for name in ["a", "b", "c"] {
            assert_eq!(text(&client, &format!("{name}__greet")).await, format!("hello from {name}"));
            assert_eq!(text(&client, &format!("{name}__sample")).await, "model with 0 roots");
        }
    }
}
