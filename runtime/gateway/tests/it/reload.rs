//! Changes to the configuration while clients are connected.

use std::path::Path;

use mcpgen_gateway::Config;
use mcpgen_sdk::Client;
use mcpgen_sdk::client::Changes;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_types::Revision;
use mcpgen_types::v2026_07_28::{ElicitResult, ElicitResultAction, SubscriptionFilter};
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

/// Changes a resource of `a`, and then one of `b`. Returns whether the client is notified of the first.
async fn is_notified(client: &Client, changes: &mut Changes) -> bool {
    for tool in ["a__change", "b__change"] {
        assert_eq!(text(client, tool).await, "changed");
    }
    let mut is_notified = false;
    loop {
        match in_time(changes.try_next()).await.expect("a subscription") {
            Some(Change::Resource(uri)) if uri == "b+file:///shared" => return is_notified,
            Some(Change::Resource(uri)) => is_notified |= uri == "a+file:///shared",
            other => panic!("{other:?}"),
        }
    }
}

/// A subscription ends if new rules forbid it, and resumes when rules permit it again.
#[tokio::test]
async fn subscriptions_have_the_new_rules() {
    for_all_eras(|front, behind| async move {
        let config = |of_all: &[&str], of_server: &[&str]| {
            let mut config = Config::default();
            for name in ["a", "b"] {
                config.servers.insert(name.to_owned(), process(name, behind, &[]));
            }
            let rules = |denied: &[&str]| serde_json::from_value(json!({ "deny": denied })).expect("rules");
            config.resources = rules(of_all);
            config.servers.get_mut("a").expect("a server").resources = rules(of_server);
            config
        };
        let gateway = gateway(config(&[], &[]));
        let client = connect(&gateway, client(front)).await;
        tool_names(&client).await;
        let uris = ["a+file:///shared", "b+file:///shared"].map(str::to_owned);
        let filter = SubscriptionFilter::new().with_resource_subscriptions(uris);
        let mut changes = in_time(client.changes(filter)).await.expect("a subscription");
        assert!(is_notified(&client, &mut changes).await);
        for (of_all, of_server, is_permitted) in [
            (&["x:*"][..], &[][..], true),
            (&[], &["file:///shared"], false),
            (&[], &["x:*"], true),
            (&["a+file:*"], &[], false),
            (&[], &[], true),
        ] {
            gateway.reload(config(of_all, of_server), Path::new("")).expect("a valid configuration");
            let changed = async {
                // The gateway subscribes again in the background, and earlier notifications may still arrive.
                while is_notified(&client, &mut changes).await != is_permitted {}
            };
            in_time(changed).await;
            assert_eq!(is_notified(&client, &mut changes).await, is_permitted, "{of_all:?} {of_server:?}");
        }
    })
    .await;
}

/// The positions of servers change with each reload, but calls always reach the server that they name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_and_subscriptions_survive_many_reloads() {
    for_all_eras(|front, behind| async move {
        let config = |servers: &[&str]| {
            let mut config = Config::default();
            for name in servers {
                config.servers.insert((*name).to_owned(), process(name, behind, &["small"]));
            }
            config.servers.insert("s".to_owned(), process("s", behind, &[]));
            config
        };
        let gateway = gateway(config(&["t"]));
        let client = connect(&gateway, client(front)).await;
        tool_names(&client).await;
        let note = "s+file:///shared".to_owned();
        let filter =
            SubscriptionFilter::new().with_tools_list_changed(true).with_resource_subscriptions([note.clone()]);
        let mut changes = in_time(client.changes(filter)).await.expect("a subscription");
        let calling = client.clone();
        let calls = tokio::spawn(async move {
            for _ in 0..20 {
                for name in ["s", "t"] {
                    assert_eq!(text(&calling, &format!("{name}__greet")).await, format!("hello from {name}"));
                }
            }
        });
        let sets = [&["a", "t"][..], &["t"], &["b", "t", "z"], &["a", "b", "t"]];
        for servers in sets.iter().cycle().take(16) {
            gateway.reload(config(servers), Path::new("")).expect("a valid configuration");
            tokio::task::yield_now().await;
        }
        in_time(calls).await.expect("every call succeeds");
        assert_eq!(text(&client, "change").await, "changed");
        let changed = async {
            while in_time(changes.try_next()).await.expect("a subscription") != Some(Change::Resource(note.clone())) {}
        };
        in_time(changed).await;
    })
    .await;
}

/// Once a second server is added, requests of the first one name it, even if the client has already used it.
#[tokio::test]
async fn requests_name_the_server_after_a_second_one_is_added() {
    for (front, behind) in [(Revision::V2025_11_25, Revision::LATEST), (Revision::LATEST, Revision::V2025_11_25)] {
        let (sender, mut asked) = tokio::sync::mpsc::unbounded_channel();
        let client = client(front).on_elicitation(move |_, params| {
            let _ = sender.send(format!("{params:?}"));
            async { Ok(ElicitResult::new(ElicitResultAction::Accept)) }
        });
        let config = two_servers(behind);
        let mut one = config.clone();
        one.servers.retain(|name, _| name == "a");
        let gateway = gateway(one);
        let client = connect(&gateway, client).await;
        for is_named in [false, true] {
            text(&client, "elicit").await;
            let message = in_time(asked.recv()).await.expect("a question");
            assert_eq!(message.contains("[server `a`] name?"), is_named, "{message}");
            gateway.reload(config.clone(), Path::new("")).expect("a valid configuration");
        }
    }
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
