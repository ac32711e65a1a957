//! Hearing of changes: acknowledged first, only what was asked for, and an end from either side.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcpgen_runtime::client::handshake::ConnectOptions;
use mcpgen_runtime::client::subscription::{Subscription, follow};
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::peer::CallError;
use mcpgen_runtime::protocol::change::Change;
use mcpgen_runtime::protocol::config::ServerConfig;
use mcpgen_runtime::server::subscriptions::Subscriptions;
use mcpgen_runtime::transport::{self, lines};
use mcpgen_runtime::{Client, Limits, LocalInfo, Router, connect, serve};
use mcpgen_types::Revision;
use mcpgen_types::v2026_07_28::{SubscriptionFilter, SubscriptionsListenRequest};
use serde_json::{Value, json};
use support::Wire;

fn ours() -> LocalInfo {
    LocalInfo::new("server", "1")
        .capability("tools", json!({ "listChanged": true }))
        .capability("resources", json!({ "subscribe": true, "listChanged": false }))
        .capability("prompts", json!({ "listChanged": true }))
}

fn server(limits: Limits) -> (Wire, Subscriptions) {
    let subscriptions = Subscriptions::of(&ours());
    let handlers = Router::new().request::<SubscriptionsListenRequest>(subscriptions.handler());
    let protocol =
        Arc::new(ServerConfig::from(ours()).protocol(&handlers.handled(mcpgen_runtime::protocol::Role::Server)));
    let (wire, _) = Wire::to(|pipe| support::run(handlers, protocol, limits, pipe));
    (wire, subscriptions)
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

fn belongs_to(message: &Value) -> &Value {
    &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

#[tokio::test]
async fn the_acknowledgment_comes_first_and_says_what_is_told() {
    let (mut wire, subscriptions) = server(Limits::default());
    let asked = json!({
        "toolsListChanged": true, "promptsListChanged": false, "resourcesListChanged": true,
        "resourceSubscriptions": ["file:///a", "file:///b"],
    });
    let acknowledged = wire.ask(&listen("s", asked)).await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(belongs_to(&acknowledged), "s");
    let expected = json!({ "toolsListChanged": true, "resourceSubscriptions": ["file:///a", "file:///b"] });
    assert_eq!(acknowledged["params"]["notifications"], expected, "not what is not offered, nor what is not asked for");

    // Nobody hears of what was not asked for.
    subscriptions.changed(&Change::Prompts);
    subscriptions.changed(&Change::Resources);
    subscriptions.changed(&Change::Resource("file:///c".to_owned()));
    subscriptions.changed(&Change::Resource("file:///b".to_owned()));
    let told = wire.hear().await;
    assert_eq!((&told["method"], belongs_to(&told)), (&json!("notifications/resources/updated"), &json!("s")));
    assert_eq!(told["params"]["uri"], "file:///b");
    subscriptions.changed(&Change::Tools);
    let told = wire.hear().await;
    assert_eq!((&told["method"], belongs_to(&told)), (&json!("notifications/tools/list_changed"), &json!("s")));
}

#[tokio::test]
async fn several_subscriptions_are_told_apart() {
    let (mut wire, subscriptions) = server(Limits::default());
    wire.ask(&listen(1, json!({ "toolsListChanged": true }))).await;
    wire.ask(&listen("1", json!({ "toolsListChanged": true, "promptsListChanged": true }))).await;
    subscriptions.changed(&Change::Tools);
    let mut told = [belongs_to(&wire.hear().await).clone(), belongs_to(&wire.hear().await).clone()];
    told.sort_by_key(Value::is_string);
    assert_eq!(told, [json!(1), json!("1")]);
    subscriptions.changed(&Change::Prompts);
    assert_eq!(belongs_to(&wire.hear().await), "1");

    // The client ends one of them: nothing more is said of it, not even an answer.
    wire.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}"#).await;
    while subscriptions.count() > 1 {
        tokio::task::yield_now().await;
    }
    subscriptions.changed(&Change::Prompts);
    subscriptions.changed(&Change::Tools);
    assert_eq!(belongs_to(&wire.hear().await), 1);
    // The server ends the other one.
    subscriptions.changed(&Change::Tools);
    subscriptions.close();
    assert_eq!(wire.hear().await["method"], "notifications/tools/list_changed", "what has changed before");
    let end = wire.hear().await;
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!(1), &json!("complete")));
    assert_eq!(end["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    assert_eq!(end["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "server");
    assert_eq!(subscriptions.count(), 0);
}

#[tokio::test]
async fn parts_of_a_resource_are_told_too() {
    let (mut wire, subscriptions) = server(Limits::default());
    wire.ask(&listen(1, json!({ "resourceSubscriptions": ["file:///notes/"] }))).await;
    subscriptions.changed(&Change::Resource("file:///note".to_owned()));
    subscriptions.changed(&Change::Resource("file:///notes/today".to_owned()));
    assert_eq!(wire.hear().await["params"]["uri"], "file:///notes/today");
    // And heard.
    let (mut wire, client) = client().await;
    let filter = SubscriptionFilter::new().with_resource_subscriptions(vec!["file:///notes/".to_owned()]);
    let mut notes = subscribed(&mut wire, &client, filter).await;
    let id = mcpgen_types::to_value(notes.id().expect("open")).expect("JSON");
    wire.say(&notice("resources/updated", &id, json!({ "uri": "file:///notes/today" }))).await;
    assert_eq!(notes.next().await.expect("open"), Some(Change::Resource("file:///notes/today".to_owned())));
}

#[tokio::test]
async fn what_lasts_takes_nobodys_room_and_time() {
    let limits =
        Limits { in_flight: 1, waiting: 0, lasting: 2, handler: Some(Duration::from_millis(20)), ..Limits::default() };
    let subscriptions = Subscriptions::of(&ours());
    let handlers = Router::new()
        .request::<SubscriptionsListenRequest>(subscriptions.handler())
        .custom_request("custom/now", |_, _: Value| async { Ok::<_, mcpgen_types::ErrorObject>(json!({})) });
    let protocol =
        Arc::new(ServerConfig::from(ours()).protocol(&handlers.handled(mcpgen_runtime::protocol::Role::Server)));
    let (mut wire, _) = Wire::to(|pipe| support::run(handlers, protocol, limits, pipe));
    for id in 1..=2 {
        wire.ask(&listen(id, json!({ "toolsListChanged": true }))).await;
    }
    assert_eq!(wire.ask(&listen(3, json!({}))).await["error"]["code"], errors::BUSY, "no more than two");
    tokio::time::sleep(Duration::from_millis(40)).await;
    let now = listen(4, json!({})).replace("subscriptions/listen", "custom/now");
    assert_eq!(wire.ask(&now).await["result"]["resultType"], "complete");
    subscriptions.changed(&Change::Tools);
    assert!(wire.hear().await["method"].is_string(), "still there");
}

#[tokio::test]
async fn a_connection_that_ends_ends_its_subscriptions_at_once() {
    let (mut wire, subscriptions) = server(Limits::default());
    wire.ask(&listen(1, json!({ "toolsListChanged": true }))).await;
    let begun = std::time::Instant::now();
    wire.close_output().await;
    assert_eq!(wire.hear().await["id"], 1, "the end of it");
    assert!(wire.is_over().await);
    assert!(begun.elapsed() < Duration::from_secs(5), "nobody waits for what has no end");
    assert_eq!(subscriptions.count(), 0);
}

#[tokio::test]
async fn who_does_not_listen_is_not_told_twice() {
    let (mut wire, subscriptions) = server(Limits { outbox: 300, ..Limits::default() });
    wire.ask(&listen(1, json!({ "toolsListChanged": true, "resourceSubscriptions": ["a", "b"] }))).await;
    for _ in 0..10_000 {
        subscriptions.changed(&Change::Tools);
        subscriptions.changed(&Change::Resource("a".to_owned()));
        tokio::task::yield_now().await;
    }
    subscriptions.close();
    let mut told = 0;
    while wire.hear().await["method"].is_string() {
        told += 1;
    }
    assert!((2..500).contains(&told), "{told}");
}

/// A client whose server is driven by hand.
async fn client() -> (Wire, Client) {
    let (here, there) = tokio::io::duplex(1 << 16);
    let options = ConnectOptions {
        known_revision: Some(Revision::V2026_07_28),
        check_known_revision: false,
        ..LocalInfo::new("client", "1").into()
    };
    let (reader, writer) = tokio::io::split(there);
    let (incoming, outgoing) = (lines::receive(reader, 1 << 20), lines::send(writer));
    let handlers = Router::new().notification::<mcpgen_types::v2026_07_28::ToolListChangedNotification>(|_, _| async {
        panic!("what belongs to a subscription goes there");
    });
    let client = connect(options, handlers.clone(), handlers, incoming, outgoing, Limits::default()).await;
    (Wire::of(here), client.expect("nobody is asked"))
}

fn notice(method: &str, id: &Value, mut params: Value) -> String {
    params["_meta"] = json!({ "io.modelcontextprotocol/subscriptionId": id });
    json!({ "jsonrpc": "2.0", "method": format!("notifications/{method}"), "params": params }).to_string()
}

async fn subscribed(wire: &mut Wire, client: &Client, filter: SubscriptionFilter) -> Subscription {
    let answer = async {
        let request = wire.hear().await;
        assert_eq!(request["method"], "subscriptions/listen");
        let filter = json!({ "notifications": request["params"]["notifications"] });
        wire.say(&notice("subscriptions/acknowledged", &request["id"], filter)).await;
    };
    tokio::join!(client.listen(filter), answer).0.expect("subscribed")
}

fn filter() -> SubscriptionFilter {
    SubscriptionFilter::new().with_tools_list_changed(true).with_resource_subscriptions(vec!["a".to_owned()])
}

#[tokio::test]
async fn a_client_tells_its_subscriptions_apart() {
    let (mut wire, client) = client().await;
    let mut tools = subscribed(&mut wire, &client, filter()).await;
    let mut prompts = subscribed(&mut wire, &client, SubscriptionFilter::new().with_prompts_list_changed(true)).await;
    assert_eq!(tools.acknowledged(), &filter());
    let id = |subscription: &Subscription| mcpgen_types::to_value(subscription.id().expect("open")).expect("JSON");
    let (of_tools, of_prompts) = (id(&tools), id(&prompts));
    wire.say(&notice("prompts/list_changed", &of_prompts, json!({}))).await;
    // Not asked for there.
    wire.say(&notice("prompts/list_changed", &of_tools, json!({}))).await;
    wire.say(&notice("resources/updated", &of_tools, json!({ "uri": "b" }))).await;
    wire.say(&notice("resources/updated", &of_tools, json!({ "uri": "a" }))).await;
    assert_eq!(prompts.next().await.expect("open"), Some(Change::Prompts));
    assert_eq!(tools.next().await.expect("open"), Some(Change::Resource("a".to_owned())));

    // The server ends one of them, with an answer or without.
    wire.say(&notice("tools/list_changed", &of_tools, json!({}))).await;
    let end = json!({ "resultType": "complete", "_meta": { "io.modelcontextprotocol/subscriptionId": of_tools } });
    wire.say(&json!({ "jsonrpc": "2.0", "id": of_tools, "result": end }).to_string()).await;
    assert_eq!(tools.next().await.expect("told before the end"), Some(Change::Tools));
    assert_eq!(tools.next().await.expect("a clean end"), None);
    assert_eq!((tools.next().await.expect("still"), tools.id()), (None, None));
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": of_prompts } });
    wire.say(&cancelled.to_string()).await;
    assert_eq!(prompts.next().await.expect("a clean end"), None);

    // Or the client, by letting it go.
    let other = subscribed(&mut wire, &client, filter()).await;
    let of_other = id(&other);
    drop(other);
    let said = wire.hear().await;
    assert_eq!((&said["method"], &said["params"]["requestId"]), (&json!("notifications/cancelled"), &of_other));
    assert!(said["params"].get("_meta").is_none_or(Value::is_object));

    // Or the end of the connection.
    let mut last = subscribed(&mut wire, &client, filter()).await;
    drop(wire);
    assert!(matches!(last.next().await, Err(CallError::Closed(_))));
}

#[tokio::test]
async fn a_server_can_end_nothing_else() {
    let (mut wire, client) = client().await;
    let call = tokio::spawn(client.peer.raw_request("tools/list", None).send());
    let id = wire.hear().await["id"].clone();
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    wire.say(&cancelled.to_string()).await;
    wire.say(&json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string()).await;
    call.await.expect("done").expect("the answer, all the same");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_acknowledged_is_given_up() {
    let (mut wire, client) = client().await;
    let opened = tokio::join!(client.listen(filter()), wire.hear()).0;
    assert!(matches!(opened, Err(CallError::Timeout(_))), "{opened:?}");
    assert_eq!(wire.hear().await["method"], "notifications/cancelled");
    let refused = async {
        let id = wire.hear().await["id"].clone();
        let error = json!({ "code": -32601, "message": "unknown" });
        wire.say(&json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()).await;
    };
    let opened = tokio::join!(client.listen(filter()), refused).0;
    assert!(matches!(opened, Err(CallError::ErrorResponse(_))), "{opened:?}");
}

#[tokio::test(start_paused = true)]
async fn subscriptions_are_made_again_on_a_new_connection() {
    let subscriptions = Subscriptions::of(&ours());
    let connections = Arc::new(AtomicUsize::new(0));
    let (count, all) = (Arc::clone(&connections), subscriptions.clone());
    let peers = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = Arc::clone(&peers);
    let connect_again = move || {
        let (subscriptions, nth, kept) = (all.clone(), count.fetch_add(1, Ordering::SeqCst), Arc::clone(&kept));
        async move {
            // The second time nobody is there.
            if nth == 1 {
                return Err("no server".to_owned());
            }
            let (here, there) = transport::duplex();
            let handlers = Router::new().request::<SubscriptionsListenRequest>(subscriptions.handler());
            tokio::spawn(serve((ours(), handlers), there));
            let ours = LocalInfo::new("client", "1");
            let client = connect(ours, Router::new(), Router::new(), here.0, here.1, Limits::default()).await;
            let peer = client.map_err(|error| error.to_string())?.into_peer();
            kept.lock().expect("kept").push(peer.clone());
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
    // The connection ends; whatever was asked for may have changed meanwhile.
    peers.lock().expect("kept")[0].disconnect();
    let missed = [following.next().await, following.next().await];
    assert!(missed.contains(&Change::Tools) && missed.contains(&Change::Resource("a".to_owned())), "{missed:?}");
    assert_eq!(connections.load(Ordering::SeqCst), 3);
    subscriptions.changed(&Change::Resource("a".to_owned()));
    assert_eq!(following.next().await, Change::Resource("a".to_owned()));

    // A server that ends every subscription at once is not asked without a pause, and its connections are closed.
    subscriptions.close();
    let begun = tokio::time::Instant::now();
    for _ in 0..6 {
        following.next().await;
    }
    assert!(begun.elapsed() > Duration::from_millis(500), "longer each time");
    // Being dropped meanwhile loses nothing.
    for _ in 0..20 {
        let _ = tokio::time::timeout(Duration::from_millis(1), following.next()).await;
    }
    let peers = peers.lock().expect("kept");
    let open = peers.iter().filter(|peer| !peer.is_closed()).count();
    assert!(open <= 1, "{open} of {} connections are open", peers.len());
}
