//! Subscriptions: the acknowledgment, the notifications and the end, for servers and clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcpgen_sdk::client::handshake::ConnectOptions;
use mcpgen_sdk::client::subscription::{Subscription, follow};
use mcpgen_sdk::jsonrpc::errors;
use mcpgen_sdk::peer::CallError;
use mcpgen_sdk::protocol::RouterExt;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::protocol::config::ServerConfig;
use mcpgen_sdk::server::subscriptions::Subscriptions;
use mcpgen_sdk::transport::{self, lines};
use mcpgen_sdk::{Client, Limits, LocalInfo, Router, connect, serve};
use mcpgen_types::Revision;
use mcpgen_types::v2026_07_28::{SubscriptionFilter, SubscriptionsListenRequest};
use serde_json::{Value, json};

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

    // The client cancels a subscription, which then has no more messages and no response.
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
    // The client accepts such notifications.
    let (mut remote, client) = client().await;
    let filter = SubscriptionFilter::new().with_resource_subscriptions(vec!["file:///notes/".to_owned()]);
    let mut notes = subscribed(&mut remote, &client, filter).await;
    let id = mcpgen_types::to_value(notes.id().expect("open")).expect("JSON");
    remote.send(&notification_of("resources/updated", &id, json!({ "uri": "file:///notes/today" }))).await;
    assert_eq!(notes.next().await.expect("open"), Some(Change::Resource("file:///notes/today".to_owned())));
}

#[tokio::test]
async fn subscriptions_use_their_own_limit_and_do_not_time_out() {
    let limits = Limits {
        in_flight: 1,
        queued_requests: 0,
        long_lived: 2,
        handler_timeout: Some(Duration::from_millis(20)),
        ..Limits::default()
    };
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
    let (mut remote, subscriptions) = server(Limits { outbox_bytes: 300, ..Limits::default() });
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
    let options = ConnectOptions {
        known_revision: Some(Revision::V2026_07_28),
        check_known_revision: false,
        ..LocalInfo::new("client", "1").into()
    };
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

async fn subscribed(remote: &mut RawPeer, client: &Client, filter: SubscriptionFilter) -> Subscription {
    let response = async {
        let request = remote.receive().await;
        assert_eq!(request["method"], "subscriptions/listen");
        let filter = json!({ "notifications": request["params"]["notifications"] });
        remote.send(&notification_of("subscriptions/acknowledged", &request["id"], filter)).await;
    };
    tokio::join!(client.listen(filter), response).0.expect("subscribed")
}

fn filter() -> SubscriptionFilter {
    SubscriptionFilter::new().with_tools_list_changed(true).with_resource_subscriptions(vec!["a".to_owned()])
}

#[tokio::test]
async fn a_client_routes_notifications_by_subscription() {
    let (mut remote, client) = client().await;
    let mut tools = subscribed(&mut remote, &client, filter()).await;
    let mut prompts = subscribed(&mut remote, &client, SubscriptionFilter::new().with_prompts_list_changed(true)).await;
    assert_eq!(tools.acknowledged(), &filter());
    let id = |subscription: &Subscription| mcpgen_types::to_value(subscription.id().expect("open")).expect("JSON");
    let (of_tools, of_prompts) = (id(&tools), id(&prompts));
    remote.send(&notification_of("prompts/list_changed", &of_prompts, json!({}))).await;
    // The client did not request this change in this subscription.
    remote.send(&notification_of("prompts/list_changed", &of_tools, json!({}))).await;
    remote.send(&notification_of("resources/updated", &of_tools, json!({ "uri": "b" }))).await;
    remote.send(&notification_of("resources/updated", &of_tools, json!({ "uri": "a" }))).await;
    assert_eq!(prompts.next().await.expect("open"), Some(Change::Prompts));
    assert_eq!(tools.next().await.expect("open"), Some(Change::Resource("a".to_owned())));

    // The server ends a subscription with a result or with a cancellation.
    remote.send(&notification_of("tools/list_changed", &of_tools, json!({}))).await;
    let end = json!({ "resultType": "complete", "_meta": { "io.modelcontextprotocol/subscriptionId": of_tools } });
    remote.send(&json!({ "jsonrpc": "2.0", "id": of_tools, "result": end }).to_string()).await;
    assert_eq!(tools.next().await.expect("a change before the end"), Some(Change::Tools));
    assert_eq!(tools.next().await.expect("closed without an error"), None);
    assert_eq!((tools.next().await.expect("the end"), tools.id()), (None, None));
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": of_prompts } });
    remote.send(&cancelled.to_string()).await;
    assert_eq!(prompts.next().await.expect("closed without an error"), None);

    // The client ends a subscription by dropping it.
    let other = subscribed(&mut remote, &client, filter()).await;
    let of_other = id(&other);
    drop(other);
    let cancelled = remote.receive().await;
    assert_eq!(
        (&cancelled["method"], &cancelled["params"]["requestId"]),
        (&json!("notifications/cancelled"), &of_other)
    );
    assert!(cancelled["params"].get("_meta").is_none_or(Value::is_object));

    // The end of the connection ends the subscription.
    let mut last = subscribed(&mut remote, &client, filter()).await;
    drop(remote);
    assert!(matches!(last.next().await, Err(CallError::Closed(_))));
}

#[tokio::test]
async fn a_server_can_cancel_only_subscriptions() {
    let (mut remote, client) = client().await;
    let call = tokio::spawn(client.peer.raw_request("tools/list", None).send());
    let id = remote.receive().await["id"].clone();
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    remote.send(&cancelled.to_string()).await;
    remote.send(&json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string()).await;
    call.await.expect("no panic").expect("a result");
}

#[tokio::test(start_paused = true)]
async fn listen_fails_without_an_acknowledgment() {
    let (mut remote, client) = client().await;
    let opened = tokio::join!(client.listen(filter()), remote.receive()).0;
    assert!(matches!(opened, Err(CallError::Timeout(_))), "{opened:?}");
    assert_eq!(remote.receive().await["method"], "notifications/cancelled");
    let reject = async {
        let id = remote.receive().await["id"].clone();
        let error = json!({ "code": -32601, "message": "unknown" });
        remote.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()).await;
    };
    let opened = tokio::join!(client.listen(filter()), reject).0;
    assert!(matches!(opened, Err(CallError::ErrorResponse(_))), "{opened:?}");
}

#[tokio::test(start_paused = true)]
async fn follow_subscribes_again_on_a_new_connection() {
    let subscriptions = Subscriptions::of(&local_info());
    let connections = Arc::new(AtomicUsize::new(0));
    let (count, all) = (Arc::clone(&connections), subscriptions.clone());
    let peers = Arc::new(std::sync::Mutex::new(Vec::new()));
    let all_peers = Arc::clone(&peers);
    let connect_again = move || {
        let (subscriptions, nth, all_peers) =
            (all.clone(), count.fetch_add(1, Ordering::SeqCst), Arc::clone(&all_peers));
        async move {
            // The second attempt fails.
            if nth == 1 {
                return Err("no server".to_owned());
            }
            let (here, there) = transport::duplex();
            let handlers = Router::new().request::<SubscriptionsListenRequest>(subscriptions.handler());
            tokio::spawn(serve((local_info(), handlers), there));
            let local_info = LocalInfo::new("client", "1");
            let client = connect(local_info, Router::new(), Router::new(), here.0, here.1, Limits::default()).await;
            let peer = client.map_err(|error| error.to_string())?.into_peer();
            all_peers.lock().expect("no panic").push(peer.clone());
            Ok(peer)
        }
    };
    let mut following = follow(connect_again, filter());
    let changed = subscriptions.clone();
    tokio::spawn(async move {
        while changed.count() == 0 {
            tokio::task::yield_now().await;
        }
        changed.changed(&Change::Tools);
    });
    assert_eq!(following.next().await, Change::Tools);
    // After a lost connection, all requested entries may have changed.
    peers.lock().expect("no panic")[0].disconnect();
    let missed = [following.next().await, following.next().await];
    assert!(missed.contains(&Change::Tools) && missed.contains(&Change::Resource("a".to_owned())), "{missed:?}");
    assert_eq!(connections.load(Ordering::SeqCst), 3);
    subscriptions.changed(&Change::Resource("a".to_owned()));
    assert_eq!(following.next().await, Change::Resource("a".to_owned()));

    // If the server ends every subscription immediately, the client waits between attempts and closes its connections.
    subscriptions.close();
    let start = tokio::time::Instant::now();
    for _ in 0..6 {
        following.next().await;
    }
    assert!(start.elapsed() > Duration::from_millis(500), "the pause must grow");
    // `next` is cancel safe.
    for _ in 0..20 {
        let _ = tokio::time::timeout(Duration::from_millis(1), following.next()).await;
    }
    let peers = peers.lock().expect("no panic");
    let open = peers.iter().filter(|peer| !peer.is_closed()).count();
    assert!(open <= 1, "{open} of {} connections are open", peers.len());
}
