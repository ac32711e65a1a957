//! Changes to the configuration while clients are connected.

use std::path::Path;

use mcpgen_sdk::protocol::change::Change;
use mcpgen_types::Revision;
use mcpgen_types::v2026_07_28::SubscriptionFilter;
use serde_json::json;

use crate::support::{call, client, connect, for_all_eras, gateway, in_time, process, text, tool_names, two_servers};

#[tokio::test]
async fn reloading_keeps_calls_and_unchanged_servers() {
    for_all_eras(|front, behind| async move {
        let with_more = || {
            let mut config = two_servers(behind);
            config.servers.insert("a".to_owned(), process("a", behind, &["all", "more"]));
            config.servers.insert("b".to_owned(), process("b", behind, &["small", "more"]));
            config
        };
        let gateway = gateway(with_more());
        let client = connect(&gateway, client(front)).await;
        assert_eq!(tool_names(&client).await.len(), 18);
        let shared = "b+file:///shared".to_owned();
        let filter =
            SubscriptionFilter::new().with_tools_list_changed(true).with_resource_subscriptions([shared.clone()]);
        let mut changes = in_time(client.changes(filter)).await.expect("a subscription");
        let [kept, replaced] = [text(&client, "a__pid").await, text(&client, "b__pid").await];
        // A call to a server that is replaced meanwhile.
        let waiting = client.clone();
        let (begun, mut has_begun) = tokio::sync::mpsc::channel(1);
        let slow = tokio::spawn(async move {
            let report = move |_: mcpgen_sdk::protocol::Progress| begun.try_send(()).unwrap_or_default();
            waiting.tool("b__slow").on_progress(report).await
        });
        in_time(has_begun.recv()).await.expect("a report");
        let mut config = with_more();
        config.tools = serde_json::from_value(json!({ "deny": ["crash"] })).expect("rules");
        config.servers.insert("b".to_owned(), process("b", behind, &["small", "more", "again"]));
        config.servers.insert("c".to_owned(), process("c", behind, &["small"]));
        gateway.reload(config, Path::new("")).expect("a valid configuration");
        let (mut has_tools, mut has_resource) = (false, false);
        while !has_tools || !has_resource {
            match in_time(changes.try_next()).await.expect("a subscription").expect("a change") {
                Change::Tools => has_tools = tool_names(&client).await.contains(&"only_c".to_owned()),
                change => has_resource |= change == Change::Resource(shared.clone()),
            }
        }
        assert!(!tool_names(&client).await.contains(&"crash".to_owned()));
        assert!(call(&client, "crash").await.is_err());
        assert_eq!(text(&client, "c__greet").await, "hello from c");
        assert_eq!(text(&client, "a__pid").await, kept, "an unchanged server stays connected");
        assert_ne!(text(&client, "b__pid").await, replaced, "a changed server is started again");
        let slow = in_time(slow).await.expect("no panic").expect("a call in flight completes");
        assert_ne!(slow.is_error, Some(true));
    })
    .await;
}

#[tokio::test]
async fn refuses_what_cannot_be_changed() {
    let gateway = gateway(two_servers(Revision::LATEST));
    let mut config = two_servers(Revision::LATEST);
    config.memory = Some(1);
    let refused = gateway.reload(config, Path::new("")).expect_err("another budget").to_string();
    assert!(refused.contains("need a restart"), "{refused}");
    let mut config = two_servers(Revision::LATEST);
    config.servers.clear();
    assert!(gateway.reload(config, Path::new("")).is_err());
    let client = connect(&gateway, client(Revision::LATEST)).await;
    assert_eq!(text(&client, "b__greet").await, "hello from b");
}

/// Clients with equal lists share them, and lists beyond the budget are not available.
#[tokio::test]
async fn lists_have_a_budget() {
    let gateway = gateway(two_servers(Revision::LATEST));
    let first = connect(&gateway, client(Revision::V2025_11_25)).await;
    tool_names(&first).await;
    let of_one = gateway.memory();
    assert!(of_one > 1000, "{of_one}");
    let second = connect(&gateway, client(Revision::V2025_11_25)).await;
    assert_eq!(tool_names(&second).await, tool_names(&first).await);
    assert!(gateway.memory() < 2 * of_one, "{} of {of_one}", gateway.memory());
    let mut config = two_servers(Revision::LATEST);
    config.memory = Some(100);
    let small = crate::support::gateway(config);
    let client = connect(&small, client(Revision::LATEST)).await;
    assert!(tool_names(&client).await.is_empty());
    let checked = in_time(small.check()).await;
    assert!(checked[0].outcome.as_ref().is_err_and(|why| why.contains("exceed `memory`")), "{checked:?}");
}
