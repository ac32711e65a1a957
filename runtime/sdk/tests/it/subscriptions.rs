//! Subscriptions: the acknowledgment, the notifications and the end, for servers and clients.

use std::sync::Arc;
use std::time::Duration;

use mcpgen_bridge::{Downstream, Greeting, OnChange, Relay, RelayOptions};
use mcpgen_sdk::client::Changes;
use mcpgen_sdk::client::handshake::ConnectOptions;
use mcpgen_sdk::jsonrpc::errors;
use mcpgen_sdk::peer::CallError;
use mcpgen_sdk::protocol::RouterExt;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::protocol::config::ServerConfig;
use mcpgen_sdk::server::subscriptions::Subscriptions;
use mcpgen_sdk::transport::lines;
use mcpgen_sdk::{Client, Limits, LocalInfo, Router, Server, connect, serve};
use mcpgen_types::Revision;
use mcpgen_types::v2026_07_28::{SubscriptionFilter, SubscriptionsListenRequest};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::support::{self, RawPeer};

fn local_info() -> LocalInfo {
    LocalInfo::new("server", "1")
        .capability("tools", json!({ "listChanged": true }))
        .capability("resources", json!({ "subscribe": true, "listChanged": false }))
        .capability("prompts", json!({ "listChanged": true }))
}

fn server(limits: Limits) -> (RawPeer, Subscriptions) {
    let subscriptions = Subscriptions::of(&local_info());
    let handlers = Router::new().request::<SubscriptionsListenRequest>(subscriptions.handler());
    let protocol =
        Arc::new(ServerConfig::from(local_info()).protocol(&handlers.handled(mcpgen_sdk::protocol::Role::Server)));
    let (remote, _) = RawPeer::connect(|pipe| support::run(handlers, protocol, limits, pipe));
    (remote, subscriptions)
}

fn listen(id: impl Into<Value>, filter: Value) -> String {
    let params = json!({
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
        "notifications": filter,
    });
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": "subscriptions/listen", "params": params }).to_string()
}

fn subscription_id(message: &Value) -> &Value {
    &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

/// A client that exits closes both of its pipes, even while it is subscribed.
#[tokio::test]
async fn a_client_that_leaves_is_not_an_error() {
    let (mut here, there) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(there);
    let server = Server::builder("server", "1").tool("any", || async {}).build();
    let serving = tokio::spawn(serve(server, (lines::receive(reader, 1 << 20), lines::send(writer))));
    let request = listen(1, json!({ "toolsListChanged": true }));
    here.write_all(format!("{request}\n").as_bytes()).await.expect("the server reads");
    let mut acknowledged = String::new();
    BufReader::new(&mut here).read_line(&mut acknowledged).await.expect("a line");
    assert!(acknowledged.contains("subscriptions/acknowledged"), "{acknowledged}");
    drop(here);
    serving.await.expect("no panic").expect("an orderly end");
}

#[tokio::test]
async fn acknowledges_the_supported_filter_first() {
    let (mut remote, subscriptions) = server(Limits::default());
    let filter = json!({
        "toolsListChanged": true, "promptsListChanged": false, "resourcesListChanged": true,
        "resourceSubscriptions": ["file:///a", "file:///b"],
    });
    let acknowledged = remote.request(&listen("s", filter)).await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(subscription_id(&acknowledged), "s");
    let expected = json!({ "toolsListChanged": true, "resourceSubscriptions": ["file:///a", "file:///b"] });
    assert_eq!(
        acknowledged["params"]["notifications"], expected,
        "only changes that the server supports and the client requested"
    );

    // The client receives only notifications that it requested.
    subscriptions.changed(&Change::Prompts);
    subscriptions.changed(&Change::Resources);
    subscriptions.changed(&Change::Resource("file:///c".to_owned()));
    subscriptions.changed(&Change::Resource("file:///b".to_owned()));
    let notification = remote.receive().await;
    assert_eq!(
        (&notification["method"], subscription_id(&notification)),
        (&json!("notifications/resources/updated"), &json!("s"))
    );
    assert_eq!(notification["params"]["uri"], "file:///b");
    subscriptions.changed(&Change::Tools);
    let notification = remote.receive().await;
    assert_eq!(
        (&notification["method"], subscription_id(&notification)),
        (&json!("notifications/tools/list_changed"), &json!("s"))
    );
}

#[tokio::test]
async fn notifications_carry_their_subscription_id() {
    let (mut remote, subscriptions) = server(Limits::default());
    remote.request(&listen(1, json!({ "toolsListChanged": true }))).await;
    remote.request(&listen("1", json!({ "toolsListChanged": true, "promptsListChanged": true }))).await;
    subscriptions.changed(&Change::Tools);
    let mut ids = [subscription_id(&remote.receive().await).clone(), subscription_id(&remote.receive().await).clone()];
    ids.sort_by_key(Value::is_string);
    assert_eq!(ids, [json!(1), json!("1")]);
    subscriptions.changed(&Change::Prompts);
    assert_eq!(subscription_id(&remote.receive().await), "1");

    // The client cancels a subscription, for which it then receives no messages and no response.
    remote.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}"#).await;
    while subscriptions.count() > 1 {
        tokio::task::yield_now().await;
    }
    subscriptions.changed(&Change::Prompts);
    subscriptions.changed(&Change::Tools);
    assert_eq!(subscription_id(&remote.receive().await), 1);
    // The server ends the other subscription.
    subscriptions.changed(&Change::Tools);
    subscriptions.close();
    assert_eq!(remote.receive().await["method"], "notifications/tools/list_changed", "changes before the end are sent");
    let end = remote.receive().await;
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!(1), &json!("complete")));
    assert_eq!(end["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    assert_eq!(end["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "server");
    assert_eq!(subscriptions.count(), 0);
}

#[tokio::test]
async fn notifies_of_changed_sub_resources() {
    let (mut remote, subscriptions) = server(Limits::default());
    remote.request(&listen(1, json!({ "resourceSubscriptions": ["file:///notes/"] }))).await;
    subscriptions.changed(&Change::Resource("file:///note".to_owned()));
    subscriptions.changed(&Change::Resource("file:///notes/today".to_owned()));
    assert_eq!(remote.receive().await["params"]["uri"], "file:///notes/today");
    // The client accepts notifications of changed sub-resources.
    let (mut remote, client) = client().await;
    let filter = SubscriptionFilter::new().with_resource_subscriptions(vec!["file:///notes/".to_owned()]);
    let (mut notes, id) = subscribed(&mut remote, &client, filter).await;
    remote.send(&notification_of("resources/updated", &id, json!({ "uri": "file:///notes/today" }))).await;
    assert_eq!(notes.try_next().await.expect("open"), Some(Change::Resource("file:///notes/today".to_owned())));
}

#[tokio::test]
async fn subscriptions_use_their_own_limit_and_do_not_time_out() {
    let limits = Limits::default()
        .with_in_flight(1)
        .with_queued_requests(0)
        .with_long_lived(2)
        .with_handler_timeout(Some(Duration::from_millis(20)));
    let subscriptions = Subscriptions::of(&local_info());
    let handlers = Router::new()
        .request::<SubscriptionsListenRequest>(subscriptions.handler())
        .custom_request("custom/now", |_, _: Value| async { Ok::<_, mcpgen_types::ErrorObject>(json!({})) });
    let protocol =
        Arc::new(ServerConfig::from(local_info()).protocol(&handlers.handled(mcpgen_sdk::protocol::Role::Server)));
    let (mut remote, _) = RawPeer::connect(|pipe| support::run(handlers, protocol, limits, pipe));
    for id in 1..=2 {
        remote.request(&listen(id, json!({ "toolsListChanged": true }))).await;
    }
    assert_eq!(
        remote.request(&listen(3, json!({}))).await["error"]["code"],
        errors::BUSY,
        "the limit is two subscriptions"
    );
    tokio::time::sleep(Duration::from_millis(40)).await;
    let now = listen(4, json!({})).replace("subscriptions/listen", "custom/now");
    assert_eq!(remote.request(&now).await["result"]["resultType"], "complete");
    subscriptions.changed(&Change::Tools);
    assert!(remote.receive().await["method"].is_string(), "the subscription is still open");
}

#[tokio::test]
async fn subscriptions_end_with_the_connection() {
    let (mut remote, subscriptions) = server(Limits::default());
    remote.request(&listen(1, json!({ "toolsListChanged": true }))).await;
    let start = std::time::Instant::now();
    remote.close_output().await;
    assert_eq!(remote.receive().await["id"], 1, "the result of the subscription");
    assert!(remote.is_closed().await);
    assert!(start.elapsed() < Duration::from_secs(5), "the connection does not wait for subscriptions");
    assert_eq!(subscriptions.count(), 0);
}

#[tokio::test]
async fn coalesces_changes_for_a_client_that_does_not_read() {
    let (mut remote, subscriptions) = server(Limits::default().with_outbox_bytes(300));
    remote.request(&listen(1, json!({ "toolsListChanged": true, "resourceSubscriptions": ["a", "b"] }))).await;
    for _ in 0..10_000 {
        subscriptions.changed(&Change::Tools);
        subscriptions.changed(&Change::Resource("a".to_owned()));
        tokio::task::yield_now().await;
    }
    subscriptions.close();
    let mut received = 0;
    while remote.receive().await["method"].is_string() {
        received += 1;
    }
    assert!((2..500).contains(&received), "{received}");
}

/// Connects a client to a server that the test drives.
async fn client() -> (RawPeer, Client) {
    let (here, there) = tokio::io::duplex(1 << 16);
    let options = ConnectOptions::from(LocalInfo::new("client", "1"))
        .with_known_revision(Some(Revision::V2026_07_28))
        .with_check_known_revision(false);
    let (reader, writer) = tokio::io::split(there);
    let (incoming, outgoing) = (lines::receive(reader, 1 << 20), lines::send(writer));
    let handlers = Router::new().notification::<mcpgen_types::v2026_07_28::ToolListChangedNotification>(|_, _| async {
        panic!("notifications of a subscription must not reach the handlers");
    });
    let client = connect(options, handlers.clone(), handlers, incoming, outgoing, Limits::default()).await;
    (RawPeer::new(here), client.expect("no handshake is needed"))
}

fn notification_of(method: &str, id: &Value, mut params: Value) -> String {
    params["_meta"] = json!({ "io.modelcontextprotocol/subscriptionId": id });
    json!({ "jsonrpc": "2.0", "method": format!("notifications/{method}"), "params": params }).to_string()
}

/// Acknowledges a subscription, and returns its ID.
async fn acknowledge(remote: &mut RawPeer) -> Value {
    let request = remote.receive().await;
    assert_eq!(request["method"], "subscriptions/listen");
    let filter = json!({ "notifications": request["params"]["notifications"] });
    remote.send(&notification_of("subscriptions/acknowledged", &request["id"], filter)).await;
    request["id"].clone()
}

async fn subscribed(remote: &mut RawPeer, client: &Client, filter: SubscriptionFilter) -> (Changes, Value) {
    let (changes, id) = tokio::join!(client.changes(filter), acknowledge(remote));
    (changes.expect("subscribed"), id)
}

fn filter() -> SubscriptionFilter {
    SubscriptionFilter::new().with_tools_list_changed(true).with_resource_subscriptions(vec!["a".to_owned()])
}

#[tokio::test]
async fn a_client_routes_notifications_by_subscription() {
    let (mut remote, client) = client().await;
    let (mut tools, of_tools) = subscribed(&mut remote, &client, filter()).await;
    let prompts = SubscriptionFilter::new().with_prompts_list_changed(true);
    let (mut prompts, of_prompts) = subscribed(&mut remote, &client, prompts).await;
    assert_eq!(tools.acknowledged(), &filter());
    remote.send(&notification_of("prompts/list_changed", &of_prompts, json!({}))).await;
    // The client did not request this change in this subscription.
    remote.send(&notification_of("prompts/list_changed", &of_tools, json!({}))).await;
    remote.send(&notification_of("resources/updated", &of_tools, json!({ "uri": "b" }))).await;
    remote.send(&notification_of("resources/updated", &of_tools, json!({ "uri": "a" }))).await;
    assert_eq!(prompts.try_next().await.expect("open"), Some(Change::Prompts));
    assert_eq!(tools.try_next().await.expect("open"), Some(Change::Resource("a".to_owned())));

    // The client ends a subscription by dropping it.
    drop(prompts);
    let cancelled = remote.receive().await;
    assert_eq!(
        (&cancelled["method"], &cancelled["params"]["requestId"]),
        (&json!("notifications/cancelled"), &of_prompts)
    );
    assert!(cancelled["params"].get("_meta").is_none_or(Value::is_object));

    // The end of the connection ends the subscription.
    drop(remote);
    assert_eq!(tools.try_next().await.expect("no error"), None);
    assert_eq!(tools.try_next().await.expect("no error"), None);
}

fn result(id: &Value) -> String {
    let result = json!({ "resultType": "complete", "_meta": { "io.modelcontextprotocol/subscriptionId": id } });
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

fn cancellation(id: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }).to_string()
}

fn error(id: &Value, code: i64) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "no" } }).to_string()
}

/// The end of one subscription to a resource does not end another one that is just beginning.
#[tokio::test]
async fn a_legacy_client_unsubscribes_only_from_what_nobody_wants() {
    let (here, there) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(there);
    let builder = Client::builder("client", "1").revisions([Revision::V2025_11_25]);
    let mut remote = RawPeer::new(here);
    let shake = async {
        let id = remote.receive().await["id"].clone();
        let result = json!({
            "protocolVersion": "2025-11-25", "serverInfo": { "name": "s", "version": "1" },
            "capabilities": { "resources": { "subscribe": true } },
        });
        remote.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()).await;
        assert_eq!(remote.receive().await["method"], "notifications/initialized");
    };
    let (client, ()) = tokio::join!(builder.connect(lines::receive(reader, 1 << 20), lines::send(writer)), shake);
    let client = client.expect("a server");
    let filter = || SubscriptionFilter::new().with_resource_subscriptions(["file:///a".to_owned()]);
    let respond = async |remote: &mut RawPeer| {
        let request = remote.receive().await;
        assert_eq!(request["method"], "resources/subscribe");
        request["id"].clone()
    };
    let accept = |id: Value| json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string();
    let (first, ()) = tokio::join!(client.changes(filter()), async {
        let id = respond(&mut remote).await;
        remote.send(&accept(id)).await;
    });
    let first = first.expect("subscribed");
    let (second, ()) = tokio::join!(client.changes(filter()), async {
        let id = respond(&mut remote).await;
        drop(first);
        remote.send(&accept(id)).await;
    });
    let _second = second.expect("subscribed");
    let _ping = tokio::spawn(client.peer().raw_request("ping", None).send());
    assert_eq!(remote.receive().await["method"], "ping", "nothing else was sent");
}

/// However a subscription ends, the client subscribes again and reports what it may have missed.
#[tokio::test(start_paused = true)]
async fn a_client_renews_its_subscriptions() {
    for end in [result, cancellation, |id: &Value| error(id, -32603)] {
        let (mut remote, client) = client().await;
        let (mut changes, id) = subscribed(&mut remote, &client, filter()).await;
        remote.send(&notification_of("tools/list_changed", &id, json!({}))).await;
        remote.send(&end(&id)).await;
        assert_eq!(changes.try_next().await.expect("a change before the end"), Some(Change::Tools));
        // The first attempt fails.
        let renewed = async {
            let id = remote.receive().await["id"].clone();
            remote.send(&error(&id, -32603)).await;
            let id = acknowledge(&mut remote).await;
            remote.send(&notification_of("resources/updated", &id, json!({ "uri": "a" }))).await;
        };
        let (missed, ()) = tokio::join!(async { [changes.try_next().await, changes.try_next().await] }, renewed);
        let missed = missed.map(|change| change.expect("renewed").expect("open"));
        assert!(missed.contains(&Change::Tools) && missed.contains(&Change::Resource("a".to_owned())), "{missed:?}");
        assert_eq!(changes.try_next().await.expect("open"), Some(Change::Resource("a".to_owned())));
    }
}

/// The client gives up at once if the server rejects the subscription, and eventually if every attempt fails.
#[tokio::test(start_paused = true)]
async fn a_client_gives_up_a_subscription_with_an_error() {
    for (code, expected) in [(-32601, 1), (-32602, 1), (-32603, 10)] {
        let (mut remote, client) = client().await;
        let (mut changes, id) = subscribed(&mut remote, &client, filter()).await;
        remote.send(&result(&id)).await;
        let refuse = async {
            for attempt in 1.. {
                let id = remote.receive().await["id"].clone();
                remote.send(&error(&id, code)).await;
                if attempt == expected {
                    break;
                }
            }
        };
        let start = tokio::time::Instant::now();
        let (ended, ()) = tokio::join!(changes.try_next(), refuse);
        assert!(matches!(ended, Err(CallError::ErrorResponse(error)) if error.code.0 == code), "{code}");
        assert_eq!(start.elapsed() > Duration::from_secs(60), expected > 1, "{code}: {:?}", start.elapsed());
        assert_eq!(changes.try_next().await.expect("returned once"), None);
    }
}

/// The bridge keeps trying after its client has given up. With `patiently`, it has never been subscribed.
#[tokio::test(start_paused = true)]
async fn a_bridge_subscribes_for_as_long_as_the_connection_lasts() {
    for patiently in [false, true] {
        let (here, there) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(there);
        let (sender, mut changed) = tokio::sync::mpsc::unbounded_channel();
        let on_change: OnChange = Arc::new(move |change| {
            let _ = sender.send(change);
            Box::pin(std::future::ready(()))
        });
        let downstream = Downstream::new(&LocalInfo::new("bridge", "1"), Greeting::default());
        let options = RelayOptions::default().with_on_change(on_change);
        let relay = Relay::connect(downstream, options, Limits::default(), |builder| {
            let builder = builder.options(|options| {
                options.known_revision = Some(Revision::V2026_07_28);
                options.check_known_revision = false;
            });
            builder.connect(lines::receive(reader, 1 << 20), lines::send(writer))
        });
        let relay = relay.await.expect("no handshake is needed");
        let mut remote = RawPeer::new(here);
        let refuse = async |remote: &mut RawPeer, code| {
            let id = remote.receive().await["id"].clone();
            remote.send(&error(&id, code)).await;
        };
        let subscribe = async {
            match patiently {
                true => relay.watch_patiently("a", Revision::LATEST).await,
                false => relay.watch("a", Revision::LATEST).await,
            }
        };
        let (watch, ()) = tokio::join!(subscribe, async {
            match patiently {
                // No acknowledgment.
                true => assert_eq!(remote.receive().await["method"], "subscriptions/listen"),
                false => {
                    let id = acknowledge(&mut remote).await;
                    remote.send(&result(&id)).await;
                }
            }
        });
        let _watch = watch.expect("it will be subscribed");
        if patiently {
            assert_eq!(remote.receive().await["method"], "notifications/cancelled");
        }
        refuse(&mut remote, -32602).await;
        refuse(&mut remote, -32602).await;
        let id = acknowledge(&mut remote).await;
        remote.send(&notification_of("resources/updated", &id, json!({ "uri": "a/b" }))).await;
        for uri in ["a", "a/b"] {
            assert_eq!(changed.recv().await, Some(Change::Resource(uri.to_owned())), "{patiently}");
        }
    }
}

/// A server that ends each subscription at once is not asked again and again without a pause.
#[tokio::test(start_paused = true)]
async fn a_client_waits_longer_between_short_subscriptions() {
    let (mut remote, client) = client().await;
    let (mut changes, id) = subscribed(&mut remote, &client, filter()).await;
    remote.send(&result(&id)).await;
    let start = tokio::time::Instant::now();
    let ends = async {
        for _ in 0..5 {
            let id = acknowledge(&mut remote).await;
            remote.send(&result(&id)).await;
        }
    };
    let changed = async {
        for _ in 0..10 {
            // `try_next` is cancel safe.
            while tokio::time::timeout(Duration::from_millis(1), changes.try_next()).await.is_err() {}
        }
    };
    tokio::join!(ends, changed);
    assert!(start.elapsed() > Duration::from_secs(3), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_server_can_cancel_only_subscriptions() {
    let (mut remote, client) = client().await;
    let call = tokio::spawn(client.peer().raw_request("tools/list", None).send());
    let id = remote.receive().await["id"].clone();
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    remote.send(&cancelled.to_string()).await;
    remote.send(&json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string()).await;
    call.await.expect("no panic").expect("a result");
}

#[tokio::test(start_paused = true)]
async fn listen_fails_without_an_acknowledgment() {
    let (mut remote, client) = client().await;
    let opened = tokio::join!(client.changes(filter()), remote.receive()).0;
    assert!(matches!(opened, Err(CallError::Timeout { .. })), "{opened:?}");
    assert_eq!(remote.receive().await["method"], "notifications/cancelled");
    let reject = async {
        let id = remote.receive().await["id"].clone();
        let error = json!({ "code": -32601, "message": "unknown" });
        remote.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()).await;
    };
    let opened = tokio::join!(client.changes(filter()), reject).0;
    assert!(matches!(opened, Err(CallError::ErrorResponse(_))), "{opened:?}");
}
